use super::*;

fn entry(text: &str, plural: Option<&str>, forms: &[&str]) -> Entry {
    Entry {
        text: text.to_owned(),
        plural: plural.map(str::to_owned),
        forms: forms.iter().map(|form| (*form).to_owned()).collect(),
    }
}

#[test]
fn what_is_written_is_read_again() {
    let entries = [
        entry("a \"quoted\" \\ text", None, &["ein \"Text\""]),
        entry("two\nlines\n", None, &["zwei\nZeilen\n"]),
        entry("{n} file", Some("{n} files"), &["{n} файл", "{n} файла", "{n} файлов"]),
        entry("not yet", None, &[""]),
    ];
    let file = write("# head\nmsgid \"\"\nmsgstr \"\"\n\"Language: ru\\n\"\n\n", &entries);
    assert_eq!(read(&file), (entries.to_vec(), Vec::new()), "{file}");
}

#[test]
fn lines_of_another_form_are_named() {
    let (entries, flaws) =
        read("msgid \"a\"\nmsgstr \"b\" c\nmsgstr[9] \"x\"\nwhat\nmsgid \"d\"\nmsgstr \"e\"\n");
    assert_eq!(flaws.iter().map(|flaw| flaw.line).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(entries.last(), Some(&entry("d", None, &["e"])));
}
