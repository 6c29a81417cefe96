use cloister_policy::gate::{Reading, visible};
use cloister_policy::{is_hidden, legible};
use cloister_testkit::Fuzz;

const TEXTS: &[&str] = &[
    "rm -rf build && echo done",
    "line one\nline two\n\n\n\n\n\n\n\n\n\n\nand far below",
    "          many blanks               and more",
    "⟨U+202E⟩ and ⟨12 spaces⟩ of its own",
    "pаypal with a Cyrillic letter, ｆｕｌｌ width, naïve, 漢字, עברית",
    "photo\u{202e}gpj.exe pay\u{200b}pal \u{1b}[31mred",
    "👩‍💻 ❤️ 🇩🇪 e\u{301}",
];

const WORDS: &[&str] = &[
    "⟨",
    "⟩",
    "⟨U+",
    "⟨9 spaces⟩",
    "⟨9 line ends⟩",
    " ",
    "         ",
    "\n\n\n\n\n\n\n\n\n",
    "\u{200b}",
    "\u{202e}",
    "\u{2066}",
    "\u{e0041}",
    "\u{feff}",
    "\u{ad}",
    "\u{301}",
    "\u{3164}",
    "\u{fe0f}",
    "\u{200d}",
    "а",
    "ａ",
    "𝐚",
    "\t",
    "\r",
];

/// Reads what was shown back: what can be read back can't be two things.
fn read_back(shown: &str) -> Option<String> {
    let mut text = String::new();
    let mut rest = shown;
    while let Some(at) = rest.find('⟨') {
        text.push_str(rest.get(..at)?);
        let (mark, after) = rest.get(at + '⟨'.len_utf8()..)?.split_once('⟩')?;
        rest = after;
        if let Some(count) = mark.strip_suffix(" spaces") {
            text.push_str(&" ".repeat(count.parse().ok()?));
        } else if let Some(count) = mark.strip_suffix(" line ends") {
            text.push_str(&"\n".repeat(count.parse().ok()?));
        } else {
            let number = mark.strip_prefix("U+")?.split(' ').next()?;
            text.push(char::from_u32(u32::from_str_radix(number, 16).ok()?)?);
        }
    }
    text.push_str(rest);
    Some(text)
}

/// E62: what a person decides by hides nothing, and two things never look the same.
fn decided_by(text: &str) -> Result<usize, String> {
    for reading in [Reading::Machine, Reading::Prose] {
        let shown = visible(text, reading);
        if shown.chars().any(is_hidden) || shown.contains(['\t', '\u{a0}']) {
            return Err(format!("{shown:?} hides something"));
        }
        if read_back(&shown).as_deref() != Some(text) {
            return Err(format!("{shown:?} is read back as {:?}", read_back(&shown)));
        }
    }
    Ok(visible(text, Reading::Prose).matches('⟨').count().min(20))
}

#[test]
fn fuzz_visible() {
    Fuzz::new("visible").seeds(TEXTS).words(WORDS).run_text(decided_by).unwrap();
}

/// E70: what a person reads hides nothing, and is not changed twice.
fn read(text: &str) -> Result<usize, String> {
    let shown = legible(text);
    if let Some(hidden) = shown.chars().find(|c| is_hidden(*c)) {
        return Err(format!("{shown:?} hides {hidden:?}"));
    }
    if legible(&shown) != shown {
        return Err(format!("{shown:?} is shown in another way the second time"));
    }
    Ok(shown.matches('⟨').count().min(20))
}

#[test]
fn fuzz_legible() {
    Fuzz::new("legible").seeds(TEXTS).words(WORDS).run_text(read).unwrap();
}
