use super::*;

#[test]
fn patterns_match_as_people_expect() {
    let yes = [
        ("*.rs", "main.rs"),
        ("src/*.rs", "src/main.rs"),
        ("**/*.rs", "main.rs"),
        ("**/*.rs", "a/b/main.rs"),
        ("a/**", "a/b/c"),
        ("a/**/c", "a/c"),
        ("file?.txt", "file1.txt"),
        ("file[0-9].txt", "file7.txt"),
        ("file[!0-9].txt", "filex.txt"),
        ("*.{rs,toml}", "Cargo.toml"),
        ("{a,b}/{c,d}", "b/c"),
        ("./x", "x"),
        ("a[b", "a[b"),
        ("*é*", "caféx"),
    ];
    for (pattern, path) in yes {
        assert!(Pattern::new(pattern).matches(path), "{pattern} should match {path}");
    }
    let no = [
        ("*.rs", "src/main.rs"),
        ("file[0-9].txt", "filex.txt"),
        ("a", "ab"),
        ("*.{rs,toml}", "x.md"),
        ("?", ""),
    ];
    for (pattern, path) in no {
        assert!(!Pattern::new(pattern).matches(path), "{pattern} should not match {path}");
    }
}
