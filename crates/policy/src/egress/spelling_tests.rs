use proptest::prelude::*;

use super::*;

#[test]
fn every_spelling_of_a_path_is_one() {
    for (written, one) in [
        ("", "/"),
        ("/", "/"),
        ("/a/b", "/a/b"),
        ("/a/./b", "/a/b"),
        ("/a/../b", "/b"),
        ("/a/%2e%2E/b", "/b"),
        ("/../../x", "/x"),
        ("/a/..", "/"),
        ("/a/.", "/a/"),
        ("/a//b", "/a//b"),
        ("/%61%7e", "/a~"),
        ("/%c3%a9", "/%C3%A9"),
        ("/é", "/%C3%A9"),
        ("/a%2fb", "/a%2Fb"),
        ("/{x}|", "/%7Bx%7D%7C"),
        ("/%zz", "/%25zz"),
        ("/A", "/A"),
    ] {
        assert_eq!(one_path(written), one, "{written}");
    }
    assert_eq!(one_query(""), None);
    assert_eq!(one_query("a=%41&b=[x]"), Some("a=A&b=%5Bx%5D".to_owned()));
}

proptest! {
    #[test]
    fn what_is_in_its_one_spelling_stays(path in "\\PC{0,40}", query in "\\PC{0,40}") {
        let path = one_path(&path);
        prop_assert_eq!(one_path(&path), path.clone());
        prop_assert!(path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic()));
        if let Some(query) = one_query(&query) {
            prop_assert_eq!(one_query(&query), Some(query.clone()));
            prop_assert!(query.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#'));
        }
    }
}
