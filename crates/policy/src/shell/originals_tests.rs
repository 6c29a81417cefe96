use super::*;

fn deletes(files: &[&str]) -> Originals {
    Originals::Deletes(files.iter().map(|file| (*file).to_owned()).collect())
}

#[test]
fn deleting_named_files_and_nothing_else_is_exact() {
    for (command, files) in [
        ("rm incoming/a.csv", &["incoming/a.csv"][..]),
        ("rm -f ./incoming/a.csv /chat/incoming/b.csv", &["incoming/a.csv", "incoming/b.csv"]),
        ("/bin/rm -v -- 'incoming/my photo (1).jpeg'", &["incoming/my photo (1).jpeg"]),
        ("rm incoming//deep/./a", &["incoming/deep/a"]),
    ] {
        assert_eq!(originals(command), deletes(files), "{command}");
    }
}

#[test]
fn whatever_else_it_does_makes_it_a_change() {
    for command in [
        "rm incoming/a.csv && ls",
        "rm incoming/a.csv; rm -rf build",
        "rm -r incoming",
        "rm -rf incoming/folder",
        "rm incoming/",
        "rm build/x incoming/a.csv",
        "rm incoming/a.csv > log",
        "X=1 rm incoming/a.csv",
        "mv incoming/a.csv b.csv",
        "echo x > incoming/a.csv",
        "cp b.csv incoming/a.csv",
        "tee incoming/a.csv",
        "bash -c 'rm incoming/a.csv'",
    ] {
        assert_eq!(originals(command), Originals::Changes, "{command}");
    }
}

#[test]
fn what_only_reads_them_is_no_change() {
    for command in [
        "cat incoming/a.csv",
        "cp incoming/a.csv work/",
        "rm -rf build",
        "rm incoming-notes.txt",
        "python3 incoming/check.py",
        "wc -l < incoming/a.csv > counted",
    ] {
        assert_eq!(originals(command), Originals::Untouched, "{command}");
    }
}
