use proptest::prelude::*;

use super::super::Asked;
use super::super::own::own;
use super::super::own::tests::{EVIL, pieces};

/// How the programs that people read mail and chats with show what somebody else wrote, from the first line on that is
/// not the person's.
const SHOWN: &[(&str, &str)] = &[
    ("Gmail, forwarded", "---------- Forwarded message ---------\nFrom: Eve <eve@evil.test>"),
    ("Gmail, German", "---------- Forwarded message ---------\nVon: Eve <eve@evil.test>"),
    ("Gmail, Russian", "---------- Пересланное сообщение ---------\nОт: Eve"),
    ("Gmail, answered", "On Mon, 4 Mar 2024 at 10:11, Eve <eve@evil.test> wrote:"),
    (
        "Gmail, answered, broken",
        "On Mon, 4 Mar 2024 at 10:11, Somebody Whose Name Is Long <eve@evil.test>\nwrote:",
    ),
    (
        "Gmail, answered, broken twice",
        "On Mon, 4 Mar 2024 at 10:11, Somebody\n<eve@evil.test>\nwrote:",
    ),
    ("Gmail, answered, German", "Am Mo., 4. März 2024 um 10:11 Uhr schrieb Eve <eve@evil.test>:"),
    ("Gmail, answered, Russian", "пн, 4 мар. 2024 г. в 10:11, Eve <eve@evil.test>:"),
    ("Gmail, on one line", "On Mon, 4 Mar 2024 at 10:11, Eve wrote <eve@evil.test> wrote: hello"),
    ("Thunderbird", "-------- Forwarded Message --------\nSubject: \tkettles"),
    ("Thunderbird, German", "-------- Weitergeleitete Nachricht --------"),
    ("Thunderbird, Russian", "-------- Перенаправленное сообщение --------"),
    ("Thunderbird, Polish", "-------- Treść przekazanej wiadomości --------"),
    ("Thunderbird, Swedish", "-------- Vidarebefordrat meddelande --------"),
    ("Thunderbird, answered", "On 04/03/2024 10:11, I and Eve wrote:"),
    ("Thunderbird, answered, German", "Am 04.03.24 um 10:11 schrieb Eve:"),
    ("Thunderbird, answered, Russian", "04.03.2024 10:11, Eve пишет:"),
    ("Yahoo", "----- Forwarded Message -----\nFrom: Eve"),
    ("Proton", "------- Original Message -------\nOn Monday Eve wrote"),
    ("Proton, hyphens", "‐‐‐‐‐‐‐ Original Message ‐‐‐‐‐‐‐"),
    ("Outlook", "-----Original Message-----"),
    ("Outlook, German", "-----Ursprüngliche Nachricht-----"),
    (
        "Outlook, rule",
        "________________________________\nFrom: Eve <eve@evil.test>\nSent: Monday\nTo: Ada\nSubject: kettles",
    ),
    ("Outlook, head", "From: Eve\nSent: Monday, March 4, 2024 10:11 AM\nTo: Ada\nSubject: kettles"),
    (
        "Outlook, head, German",
        "Von: Eve\nGesendet: Montag, 4. März 2024 10:11\nAn: Ada\nBetreff: Kessel",
    ),
    ("Outlook, head, bold", "**Von:** Eve\n**Gesendet:** Montag\n**An:** Ada\n**Betreff:** Kessel"),
    ("Outlook, head, stars", "*From:* Eve <eve@evil.test>\n*Date:* Monday\n*To:* Ada"),
    ("Outlook, head, Russian", "От: Eve\nДата: понедельник\nКому: Ada\nТема: чайник"),
    ("Outlook, head, French", "De : Eve\nEnvoyé : lundi\nÀ : Ada\nObjet : bouilloires"),
    ("Outlook, values below", "From:\nEve <eve@evil.test>\nSent:\nMonday\nSubject:\nkettles"),
    ("Outlook, blank lines", "Von: Eve\n\nGesendet: Montag\n\nBetreff: Kessel"),
    ("Apple Mail", "Begin forwarded message:\n\nFrom: Eve <eve@evil.test>"),
    ("Apple Mail, German", "Anfang der weitergeleiteten Nachricht:"),
    ("Apple Mail, Russian", "Начало переадресованного сообщения:"),
    ("Apple Mail, answered", "On 4. Mar 2024, at 10:11, Eve <eve@evil.test> wrote:"),
    ("Apple Mail, answered, French", "Le 4 mars 2024 à 10:11, Eve <eve@evil.test> a écrit\u{a0}:"),
    (
        "GMX",
        "Gesendet: Montag, 4. März 2024 um 10:11 Uhr\nVon: \"Eve\" <eve@evil.test>\nAn: ada@a.test\nBetreff: Kessel",
    ),
    ("Mail.ru", "-------- Пересылаемое сообщение --------\nОт кого: Eve"),
    ("Mail.ru, answered", "Понедельник, 4 марта 2024, 10:11 +03:00 от Eve <eve@evil.test>:"),
    ("Yandex, answered", "04.03.2024, 10:11, \"Eve\" <eve@evil.test>:"),
    ("Russian, either", "Eve написал(а):"),
    ("Lotus", "----- Forwarded by Eve/Evil on 03/04/2024 10:11 AM -----"),
    ("the source of a mail", "Return-Path: <eve@evil.test>\nReceived: from evil.test by a.test"),
    ("Telegram", "Forwarded from Eve"),
    ("Telegram, copied", "Eve, [04.03.2024 10:11]"),
    ("WhatsApp, iOS", "[04.03.24, 10:11:12] Eve: hello"),
    ("WhatsApp, Android", "04/03/2024, 10:11 - Eve: hello"),
    ("Teams", "[10:11] Eve: hello"),
    ("a forum", "[quote=\"Eve\"]hello"),
    ("a forum, in a line", "look at [QUOTE]this"),
    ("drawn otherwise", "==== whatever they call it ===="),
    ("a list", "- **Forwarded message** from Eve:"),
    ("spaces that nobody sees", "\u{200b}----- Original\u{a0}Message -----"),
];

/// The lines that are the person's and say something.
fn words(text: &str) -> Vec<&str> {
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    own(text).lines.into_iter().filter(says).collect()
}

/// G4: mail that somebody pastes counted as their own words, for nearly all programs.
#[test]
fn what_programs_put_over_somebody_elses_words_is_known() {
    for (program, shown) in SHOWN {
        for before in ["", "mine\n", "mine\n\n"] {
            let text = format!("{before}{shown}\n\nhello\n{EVIL}\n\n{EVIL}");
            let said = if before.is_empty() { vec![] } else { vec!["mine"] };
            assert_eq!(words(&text), said, "{program}: {text}");
            assert!(Asked::quotes_others(&text), "{program}: {text}");
        }
    }
}

#[test]
fn what_people_write_themselves_stays_theirs() {
    for text in [
        "From: Berlin",
        "From: Berlin\nTo: Paris\nDate: 3 June",
        "Von: Berlin\nAn: 12:30",
        "De: Madrid\nA: París\nFecha: 3/6",
        "От: Москва\nДата: 3 июня",
        "Write a mail.\nTo: bob@b.test\nSubject: kettles\nHello Bob",
        "Subject: kettles\nTo: bob@b.test\nDate: tomorrow",
        "Here is what I wrote:\nhello",
        "Das schrieb ich ihm:\nhallo",
        "я написал:\nпривет",
        "Send it to Bob <bob@b.test>:\nhello",
        "Make a table:\n| a | b |\n|---|---|\n| 1 | 2 |\n+----+----+",
        "one\n---\ntwo\n***\nthree\n____________",
        "***important*** and __bold__",
        "Meet at 10:11 - Bob: yes",
        "- [10:11] call Bob\n- [12:00] lunch",
        "[x] done: 10:11",
        "Find the original message of Bob and read it",
        "A forwarded message is not my own",
        "git diff\n--- a/x\n+++ b/x",
        "Summarise https://a.test/post: it was written by Eve",
        "a quote: [1] and [quota]",
    ] {
        let lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!(own(text).lines.len(), lines, "{text}");
        assert!(!Asked::quotes_others(text), "{text}");
    }
}

/// Each line of it says of itself that it is somebody else's, and what a person writes below is theirs.
#[test]
fn what_stands_behind_marks_begins_nothing() {
    let text = "> On Mon, 4 Mar 2024 at 10:11, Eve wrote:\n> -----Original Message-----\n> From: Eve\n> Subject: x\n\nmine";
    assert_eq!(own(text).lines, ["mine"]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    /// Whatever its author puts there.
    #[test]
    fn nothing_below_a_banner_is_own(
        below in pieces(),
        at in 0..SHOWN.len(),
    ) {
        let Some((_, banner)) = SHOWN.get(at) else { return Ok(()) };
        let text = format!("mine\n{banner}\n{below}\n{EVIL}");
        prop_assert_eq!(words(&text), ["mine"], "{:?}", text);
        prop_assert!(Asked::quotes_others(&text));
    }
}
