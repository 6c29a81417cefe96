use super::*;

fn diff(from: &str, to: &str) -> String {
    unified("f", Some(from.as_bytes()), Some(to.as_bytes()))
}

#[test]
fn a_changed_line_is_shown_with_what_is_around_it() {
    let from = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    let text = diff(from, &from.replace('5', "five"));
    assert_eq!(text, "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n");
}

#[test]
fn what_is_new_gone_or_equal() {
    assert_eq!(diff("a\n", "a\n"), "");
    assert_eq!(unified("f", None, Some(b"a\n")), "--- /dev/null\n+++ b/f\n@@ -0,0 +1,1 @@\n+a\n");
    assert_eq!(unified("f", Some(b"a\n"), None), "--- a/f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n");
    assert!(unified("f", Some(&[0xff]), None).ends_with("(not text)\n"));
}

#[test]
fn differences_far_apart_are_shown_apart() {
    let from: String = (0..40).map(|n| format!("{n}\n")).collect();
    let text = diff(&from, &from.replace("3\n4", "3\nnew\n4").replace("35\n", ""));
    assert_eq!(text.matches("@@ -").count(), 2, "{text}");
    assert!(text.contains("+new") && text.contains("-35"), "{text}");
}
