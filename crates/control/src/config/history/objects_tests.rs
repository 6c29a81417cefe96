use super::*;

#[test]
fn objects_have_the_names_that_git_gives_them() {
    assert_eq!(
        encode(ObjectKind::Blob, b"hello\n").0.to_string(),
        "ce013625030ba8dba906f756967f9e9ca394464a"
    );
    assert_eq!(
        encode(ObjectKind::Tree, b"").0.to_string(),
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    );
}

#[test]
fn what_is_stored_comes_back_and_what_was_changed_does_not() {
    for length in [0, 1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 7] {
        let bytes: Vec<u8> = (0..length).map(|at| u8::try_from(at % 251).unwrap()).collect();
        let (id, whole) = encode(ObjectKind::Blob, &bytes);
        let kept = stored(&whole);
        let back = unstored(&kept).unwrap();
        assert_eq!(decode(id, &back), Some((ObjectKind::Blob, bytes)));
        let mut broken = kept.clone();
        *broken.last_mut().unwrap() ^= 1;
        assert_eq!(unstored(&broken), None);
        assert_eq!(unstored(&kept[..kept.len() - 1]), None);
        let mut other = back;
        *other.last_mut().unwrap() ^= 1;
        assert_eq!(decode(id, &other), None);
    }
    assert_eq!(unstored(&[0x78, 0x9c, 3, 0, 0, 0, 0, 1]), None, "compressed by somebody else");
}

#[test]
fn folders_are_sorted_as_git_sorts_them() {
    let (file, _) = encode(ObjectKind::Blob, b"x");
    let folder = Folder::from([
        ("a.b".to_owned(), Node::File(file)),
        ("a".to_owned(), Node::Folder(file)),
        ("a-b".to_owned(), Node::File(file)),
    ]);
    let body = tree_body(&folder);
    let names: Vec<_> = body
        .split(|byte| *byte == 0)
        .filter_map(|part| std::str::from_utf8(part.rsplit(|b| *b == b' ').next()?).ok())
        .collect();
    assert_eq!(&names[..1], ["a-b"]);
    assert_eq!(parse_tree(&body), Some(folder));
    assert_eq!(parse_tree(&body[..body.len() - 1]), None);
}

#[test]
fn an_author_can_not_forge_a_line_of_a_commit() {
    let (tree, _) = encode(ObjectKind::Tree, b"");
    let commit = Commit {
        tree,
        parent: None,
        author: "eve <root@x> 0 +0000\nparent 0000".to_owned(),
        at: 7,
        why: "because".to_owned(),
    };
    let back = Commit::parse(&commit.body()).unwrap();
    assert_eq!((back.parent, back.at, back.why.as_str()), (None, 7, "because"));
    assert!(!back.author.contains(['<', '\n']), "{}", back.author);
}
