use super::*;

fn lines(lines: &[&str]) -> Vec<u8> {
    let mut body = Vec::new();
    for line in lines {
        match *line {
            "flush" => body.extend(b"0000"),
            "delimiter" => body.extend(b"0001"),
            text => body.extend(format!("{:04x}{text}\n", text.len() + 5).bytes()),
        }
    }
    body
}

#[test]
fn a_clone_asks_in_lines_of_a_fixed_form() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    let list = lines(&[
        "command=ls-refs",
        "agent=git/2.43.0",
        "object-format=sha1",
        "delimiter",
        "peel",
        "symrefs",
        "ref-prefix HEAD",
        "flush",
    ]);
    assert!(asks_only(&list));
    let fetch = lines(&[
        "command=fetch",
        "delimiter",
        "thin-pack",
        "ofs-delta",
        &format!("want {id}"),
        "done",
        "flush",
    ]);
    assert!(asks_only(&fetch));
}

/// G4: "reading a repository" is no way to send what the task has read.
#[test]
fn what_only_looks_like_git_is_not_taken_for_it() {
    let id = "0123456789abcdef0123456789abcdef01234567";
    let many: Vec<String> = (0..100).map(|n| format!("want {n:040x}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let bodies = [
        b"the person's files".to_vec(),
        lines(&["command=fetch", "the person's files"]),
        lines(&["ref-prefix refs/heads/the-secret"]),
        lines(&["agent=git/the-secret"]),
        lines(&[&format!("want {id} the-secret")]),
        lines(&many),
        b"0005".to_vec(),
        b"ffffx".to_vec(),
        b"0003".to_vec(),
        [lines(&["command=fetch"]), b"tail".to_vec()].concat(),
    ];
    for body in bodies {
        assert!(!asks_only(&body), "{}", String::from_utf8_lossy(&body));
    }
}
