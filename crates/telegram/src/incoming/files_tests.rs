use super::*;

/// X10: a path on the server's own disk, or one that leads elsewhere, is not fetched.
#[test]
fn only_what_lies_below_the_address_is_fetched() {
    for path in [
        "photos/file_1.jpg",
        "documents/file 2 (1).pdf",
        "voice/file_3.oga",
        "documents/отчёт.pdf",
        "documents/a&b?c#d%2e.txt",
        "documents/it's: a file.pdf",
    ] {
        assert_eq!(Lies::of(path), Lies::BelowTheAddress, "{path}");
    }
    for path in ["/var/lib/telegram-bot-api/x", "C:\\bot\\x", "c:/bot/x", "\\\\host\\x"] {
        assert_eq!(Lies::of(path), Lies::OnItsDisk, "{path}");
    }
    for path in ["", "a//b", "../secret", "a/../b", "a/./b", "http://x/y", "a/", "a\nb"] {
        assert_eq!(Lies::of(path), Lies::Nowhere, "{path:?}");
    }
}

#[test]
fn who_sends_too_much_is_told_whose_limit_it_is() {
    let words = |limits: Limits, size: Option<u64>| match limits.too_large("a.zip", size) {
        NotFetched::Never(words) => words,
        NotFetched::Passing { .. } | NotFetched::Plane(_) => panic!("it is never taken"),
    };
    let public = Limits { most: 50 << 20, public: true };
    assert!(public.check("a.zip", 20 << 20).is_ok());
    assert!(public.check("a.zip", 21 << 20).is_err());
    let said = words(public, Some(21 << 20));
    assert!(said.contains("20 MB that Telegram hands to bots"), "{said}");
    let said = words(public, Some(60 << 20));
    assert!(said.contains("50 MB that I take"), "{said}");
    let local = Limits { most: 50 << 20, public: false };
    assert!(local.check("a.zip", 40 << 20).is_ok(), "a server of one's own has no limit of 20 MB");
    let small = Limits { most: 5 << 20, public: true };
    assert!(words(small, Some(6 << 20)).contains("5 MB that I take"));
}
