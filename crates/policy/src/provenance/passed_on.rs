//! Where a message goes over into what somebody else wrote, without a mark on each line: a forwarded mail, an answered one,
//! lines out of another chat.
//!
//! Programs say so in one of a few ways: a banner, the head of a mail, a line that says who wrote what follows. The
//! author of what follows chooses neither. From the first of them on everything is somebody else's: where it ends,
//! only its author could say.

use super::own::{Lead, ODD_BREAKS, is_unseen};

/// Banners of mail programs, as they begin.
const BANNERS: &[&str] = &[
    "forwarded message",
    "forwarded mail",
    "original message",
    "original appointment",
    "begin forwarded message",
    "start of forwarded message",
    "weitergeleitete nachricht",
    "weitergeleitete e-mail",
    "weitergeleitete mail",
    "ursprüngliche nachricht",
    "ursprungliche nachricht",
    "ursprüngliche e-mail",
    "originalnachricht",
    "original-nachricht",
    "originale nachricht",
    "anfang der weitergeleiteten",
    "beginn der weitergeleiteten",
    "пересылаемое сообщение",
    "пересылаемое письмо",
    "пересланное сообщение",
    "пересланное письмо",
    "перенаправленное сообщение",
    "переадресованное сообщение",
    "начало пересылаемого",
    "начало пересланного",
    "начало перенаправленного",
    "начало переадресованного",
    "исходное сообщение",
    "исходное письмо",
    "оригинальное сообщение",
    "переслане повідомлення",
    "пересилане повідомлення",
    "перенаправлене повідомлення",
    "оригінальне повідомлення",
    "початок листа, що пересилається",
    "message transféré",
    "message réexpédié",
    "message d'origine",
    "message original",
    "début du message",
    "mensaje reenviado",
    "mensaje original",
    "inicio del mensaje reenviado",
    "messaggio inoltrato",
    "messaggio originale",
    "inizio messaggio inoltrato",
    "inizio del messaggio inoltrato",
    "mensagem encaminhada",
    "mensagem reencaminhada",
    "mensagem original",
    "início da mensagem",
    "doorgestuurd bericht",
    "oorspronkelijk bericht",
    "begin doorgestuurd bericht",
    "przekazana wiadomość",
    "wiadomość przekazana",
    "wiadomość oryginalna",
    "oryginalna wiadomość",
    "treść przekazanej wiadomości",
    "początek przekazywanej wiadomości",
    "转发的邮件",
    "转发邮件",
    "原始邮件",
    "転送されたメッセージ",
    "元のメッセージ",
];

/// What a line begins with that says from whom something was forwarded.
const FORWARDED_BY: &[&str] = &[
    "forwarded from ",
    "forwarded by ",
    "weitergeleitet von ",
    "weitergeleitet aus ",
    "переслано от ",
    "переслано из ",
];

/// A line of the head of a mail.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadLine {
    /// Whom it is from, with their address or without.
    From {
        address: bool,
    },
    /// What stands over other things too.
    Date,
    To,
    /// What stands over mails alone.
    Mail,
    /// What people do not get to see unless they ask for it.
    Raw,
}

const FROM: &[&str] = &[
    "from",
    "sender",
    "von",
    "absender",
    "от",
    "от кого",
    "отправитель",
    "від",
    "від кого",
    "de",
    "expéditeur",
    "remitente",
    "remetente",
    "da",
    "mittente",
    "van",
    "afzender",
    "od",
    "nadawca",
    "发件人",
    "寄件者",
    "差出人",
    "送信者",
];
const DATE: &[&str] = &["date", "datum", "дата", "fecha", "data", "when", "日期", "日付", "时间"];
const TO: &[&str] =
    &["to", "an", "empfänger", "кому", "à", "para", "a", "aan", "do", "收件人", "宛先"];
const MAIL: &[&str] = &[
    "subject",
    "betreff",
    "тема",
    "objet",
    "asunto",
    "assunto",
    "oggetto",
    "onderwerp",
    "temat",
    "主题",
    "主旨",
    "件名",
    "sent",
    "gesendet",
    "gesendet am",
    "отправлено",
    "дата отправки",
    "надіслано",
    "envoyé",
    "enviado",
    "enviado el",
    "enviada em",
    "inviato",
    "verzonden",
    "wysłano",
    "发送时间",
    "送信日時",
    "cc",
    "bcc",
    "kopie",
    "копия",
    "копія",
    "copie à",
    "reply-to",
    "antwort an",
];
const RAW: &[&str] = &[
    "return-path",
    "received",
    "delivered-to",
    "message-id",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "dkim-signature",
    "authentication-results",
    "received-spf",
    "list-unsubscribe",
    "in-reply-to",
    "references",
    "x-mailer",
    "x-original-to",
];
/// So many lines may stand between two of a head, and a head have.
const HEAD_GAP: usize = 2;
const HEAD_LINES: usize = 16;

/// What ends a line that says who wrote what follows, before its colon.
const WROTE: &[&str] = &[
    "wrote",
    "writes",
    "schrieb",
    "schrieb am",
    "geschrieben",
    "пишет",
    "писал",
    "писала",
    "написал",
    "написала",
    "написал(а)",
    "написали",
    "пише",
    "написав",
    "a écrit",
    "escribió",
    "escreveu",
    "ha scritto",
    "schreef",
    "pisze",
    "napisał",
    "napisała",
    "napisał(a)",
    "skrev",
    "kirjoitti",
    "yazdı",
    "写道",
    "書きました",
    "のメール",
];
/// The same, where the name comes behind it.
const WROTE_WHO: &[&str] = &[" schrieb ", " schreef ", " skrev ", " pisze ", " napsal ", " írta "];
/// A person who says what they wrote themselves.
const MYSELF: &[&str] = &["i", "ich", "я", "je", "io", "ik", "ja", "yo", "eu"];

/// The longest name in a line that says who wrote what follows.
const LONGEST_NAME: usize = 60;

/// The first line from which on everything is somebody else's.
pub(super) fn begins(lines: &[&str]) -> Option<usize> {
    let mut heads = Vec::new();
    let mut found = None;
    for (at, line) in lines.iter().enumerate() {
        if line.is_empty() {
            heads.push(None);
            continue;
        }
        let parts: Vec<WrittenLine> = line.split(ODD_BREAKS).map(WrittenLine::of).collect();
        if parts.iter().any(WrittenLine::is_banner) {
            found = Some(at);
        } else if parts.iter().any(WrittenLine::says_who_wrote) {
            found = Some(said_from(lines, at));
        }
        if found.is_some() {
            break;
        }
        heads.push(parts.iter().find_map(WrittenLine::head));
    }
    let head = (0..heads.len()).find(|at| is_head(&heads, *at));
    head.into_iter().chain(found).min()
}

/// Whether the head of a mail begins here: whom it is from, and what only stands over mails or an address; or what
/// people do not see.
fn is_head(heads: &[Option<HeadLine>], at: usize) -> bool {
    if heads.get(at).copied().flatten().is_none() {
        return false;
    }
    let (mut from, mut to_or_date, mut mail, mut raw, mut gap) = (None, false, false, 0, 0);
    for head in heads.iter().skip(at).take(HEAD_LINES) {
        match head {
            None => gap += 1,
            Some(HeadLine::From { address }) => from = Some(from.unwrap_or(false) || *address),
            Some(HeadLine::Date | HeadLine::To) => to_or_date = true,
            Some(HeadLine::Mail) => mail = true,
            Some(HeadLine::Raw) => raw += 1,
        }
        gap = if head.is_some() { 0 } else { gap };
        if gap > HEAD_GAP {
            break;
        }
    }
    let over_mail = mail || raw == 1 || (to_or_date && from == Some(true));
    raw >= 2 || (from.is_some() && over_mail)
}

/// A line that says who wrote what follows can be broken in two or three, and begin with an address.
fn said_from(lines: &[&str], at: usize) -> usize {
    let begins = |above: usize| {
        let told =
            at.checked_sub(above).and_then(|at| lines.get(at)).map(|line| WrittenLine::of(line));
        told.is_some_and(|told| told.says_when() || told.text.contains('@'))
    };
    match (begins(1), begins(2)) {
        (true, true) => at.saturating_sub(2),
        (true, false) => at.saturating_sub(1),
        (false, _) => at,
    }
}

/// A line as programs write it: without what only draws, in small letters.
struct WrittenLine {
    text: String,
    /// Without what is drawn around it.
    bare: String,
    /// How long what is drawn before and behind it is, at least.
    drawn: (usize, usize),
}

impl WrittenLine {
    fn of(line: &str) -> Self {
        let mut text = String::new();
        for word in Lead::of(line).rest.split_whitespace() {
            if !text.is_empty() {
                text.push(' ');
            }
            let seen = word.chars().filter(|c| !is_unseen(*c));
            text.extend(seen.flat_map(char::to_lowercase).map(|c| if c == '’' { '\'' } else { c }));
        }
        // What is marked is somebody else's in any case, and ends with its marks.
        if ['>', '＞'].iter().any(|mark| text.starts_with(*mark)) || text.starts_with("&gt;") {
            text.clear();
        }
        let edge = |c: char| draws(c) || c == ' ' || "|[](){}<>\":.#".contains(c);
        let bare = text.trim_matches(edge).to_owned();
        let drawn = |line: &mut dyn Iterator<Item = char>| {
            line.skip_while(|c| !draws(*c) && edge(*c)).take_while(|c| draws(*c)).count()
        };
        let drawn = (drawn(&mut text.chars()), drawn(&mut text.chars().rev()));
        Self { text, bare, drawn }
    }

    /// The banner of a mail program, in one of many languages; or a title between two rules, in any.
    fn is_banner(&self) -> bool {
        if self.bare.is_empty() {
            return false;
        }
        if (self.drawn.0 >= 4 && self.drawn.1 >= 4) || self.text.contains("[quote") {
            return true;
        }
        if FORWARDED_BY.iter().any(|by| self.bare.starts_with(by)) {
            return true;
        }
        BANNERS.iter().filter_map(|banner| self.bare.strip_prefix(banner)).any(|rest| {
            let ends = !rest.starts_with(char::is_alphanumeric);
            let alone = rest.is_empty() || rest.trim_start().starts_with(':');
            ends && (alone || self.drawn.0 >= 2 || self.text.ends_with(':'))
        })
    }

    fn head(&self) -> Option<HeadLine> {
        let text = self.text.trim_start_matches(|c: char| draws(c) || "|\" ".contains(c));
        let (label, value) = text.split_once([':', '：'])?;
        if label.chars().nth(LONGEST_NAME).is_some() {
            return None;
        }
        let label = label.trim_end_matches(|c: char| draws(c) || "|\" ".contains(c));
        let address = value.contains('@');
        let lines = [
            (FROM, HeadLine::From { address }),
            (DATE, HeadLine::Date),
            (TO, HeadLine::To),
            (MAIL, HeadLine::Mail),
            (RAW, HeadLine::Raw),
        ];
        lines.into_iter().find_map(|(labels, line)| labels.contains(&label).then_some(line))
    }

    /// "On Monday, … wrote:", or the lines that chats copy out: "[12.03.24, 10:11] Eve: …".
    fn says_who_wrote(&self) -> bool {
        let text = self.text.as_str();
        if !text.contains([':', '：', ']']) {
            return false;
        }
        let end = text.trim_end_matches(|c: char| draws(c) || c == ' ');
        if let Some(said) = end.strip_suffix([':', '：']) {
            let said = said.trim_end_matches(|c: char| draws(c) || c == ' ');
            if WROTE.iter().filter_map(|wrote| before_word(said, wrote)).any(is_another) {
                return true;
            }
            let dated = has_date(said) || has_time(said) || said.contains('@');
            if dated && WROTE_WHO.iter().any(|wrote| said.contains(wrote)) {
                return true;
            }
            // `04.03.2024, 10:11, "Eve" <eve@evil.test>:`
            if said.ends_with('>') && said.contains('@') && (has_date(said) || has_time(said)) {
                return true;
            }
        }
        // The same with what was written behind it.
        let address = text.find('@').unwrap_or(text.len());
        let behind = |wrote: &&str| {
            let mut all = text.match_indices(*wrote).filter(|(at, _)| *at > address);
            all.any(|(at, _)| {
                let said = text.get(at + wrote.len()..).unwrap_or_default();
                said.trim_start().starts_with([':', '：'])
            })
        };
        WROTE.iter().any(behind) || is_copied(text)
    }

    /// Whether it begins as a line does that says when somebody wrote.
    fn says_when(&self) -> bool {
        const WHEN: &[&str] = &["on ", "am ", "le ", "el ", "il ", "op ", "em ", "w dniu ", "den "];
        let dated = has_date(&self.text) || has_time(&self.text) || has_digit(&self.text);
        dated && WHEN.iter().any(|when| self.text.starts_with(when))
    }
}

/// What stands before a word at the end of a text.
fn before_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let before = text.strip_suffix(word)?;
    before
        .is_empty()
        .then_some(before)
        .or_else(|| before.ends_with(|c: char| !c.is_alphanumeric()).then(|| before.trim_end()))
}

/// Somebody else than who says it: nobody is called "I" who wrote at a time, or has an address.
fn is_another(who: &str) -> bool {
    let myself = who.split(' ').any(|word| MYSELF.contains(&word));
    !myself || has_digit(who) || who.contains('@')
}

/// A line that was copied out of a chat, with when and by whom it was written.
fn is_copied(text: &str) -> bool {
    let named = |text: &str| {
        text.split_once(':').is_some_and(|(name, _)| {
            let name = name.trim();
            !name.is_empty() && name.chars().nth(LONGEST_NAME).is_none() && !name.contains('/')
        })
    };
    // `[12.03.24, 10:11:12] Eve: …`, `[10:11] Eve: …`
    if let Some((when, said)) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        return has_time(when) && (has_date(when) || named(said));
    }
    // `12/03/2024, 10:11 - Eve: …`
    let numbered = text.starts_with(|c: char| c.is_ascii_digit());
    if let Some((when, said)) = text.split_once(" - ").filter(|_| numbered) {
        let short = when.len() <= LONGEST_NAME;
        return short && has_date(when) && has_time(when) && named(said);
    }
    // `Eve, [12.03.2024 10:11]`
    let stamp = text.strip_suffix(']').and_then(|text| text.rsplit_once(", ["));
    stamp.is_some_and(|(_, when)| has_date(when) && has_time(when))
}

/// `10:11`
fn has_time(text: &str) -> bool {
    between_digits(text, |c| c == ':')
}

/// `12.03.`, `3/4`, `2024-03`
fn has_date(text: &str) -> bool {
    between_digits(text, |c| matches!(c, '.' | '/' | '-'))
}

fn has_digit(text: &str) -> bool {
    text.contains(|c: char| c.is_ascii_digit())
}

fn between_digits(text: &str, mark: impl Fn(char) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.windows(3).any(|window| match window {
        [a, b, c] => a.is_ascii_digit() && mark(char::from(*b)) && c.is_ascii_digit(),
        _ => false,
    })
}

/// What lines are drawn with.
const fn draws(c: char) -> bool {
    matches!(c, '-' | '_' | '=' | '*' | '~' | '+' | '−' | '\u{2010}'..='\u{2015}' | '\u{2500}'..='\u{257f}')
}

#[cfg(test)]
#[path = "passed_on_tests.rs"]
mod tests;
