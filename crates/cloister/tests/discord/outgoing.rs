//! What people get to see: long answers, markup, files, and that none of it rings or pretends.

use cloister_testkit::Reply;
use cloister_testkit::discord::Seen;
use serde_json::json;

use crate::world::{World, says, steps};

/// X6: an answer above 2,000 characters becomes several messages, whole and in order; a block of code stays one.
#[tokio::test]
async fn a_long_answer_is_split_and_whole() {
    let paragraph = |n: usize| format!("Paragraph {n}.{}", " Some words of it.".repeat(20));
    let code = format!("```rust\nfn main() {{\n{}}}\n```", "    let a = 1;\n".repeat(30));
    let mut parts: Vec<String> = (0..12).map(paragraph).collect();
    parts.insert(6, code.clone());
    let world = World::builder().model(says("tell me all", &parts.join("\n\n"))).start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, "tell me all");
    ann.wait_for_words(dm, "Paragraph 11.").await;
    ann.ask(dm, "and after that?", "echo: and after that?").await;
    let told: Vec<Seen> = ann
        .heard(dm)
        .into_iter()
        .filter(|seen| seen.content.contains("Some words of it.") || seen.content.contains("```"))
        .collect();
    assert!(told.len() > 1, "{} messages", told.len());
    assert!(told.iter().all(|seen| seen.content.chars().count() <= 2000));
    let whole = told.iter().map(|seen| seen.content.trim()).collect::<Vec<_>>().join("\n\n");
    for number in 0..12 {
        assert_eq!(whole.matches(&format!("Paragraph {number}.")).count(), 1, "{number}");
    }
    let with_code: Vec<&Seen> = told.iter().filter(|seen| seen.content.contains("```")).collect();
    assert_eq!(with_code.len(), 1, "a block of code stays one");
    assert!(with_code[0].content.contains(&code), "{}", with_code[0].content);
    world.assert_clean();
}

/// X6: one block of code that is longer than a message is closed and opened again.
#[tokio::test]
async fn a_block_longer_than_a_message_is_closed_and_opened_again() {
    let code = format!("```python\n{}```", "print('a line of it')\n".repeat(250));
    let world = World::builder().model(says("much code", &code)).start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, "much code");
    ann.wait_for(dm, "the end of it", |seen| {
        seen.content.contains("a line of it") && seen.content.trim_end().ends_with("```")
    })
    .await;
    ann.ask(dm, "and after that?", "echo: and after that?").await;
    let told: Vec<Seen> =
        ann.heard(dm).into_iter().filter(|seen| seen.content.contains("a line of it")).collect();
    let lines: usize = told.iter().map(|seen| seen.content.matches("a line of it").count()).sum();
    assert_eq!(lines, 250, "every line once");
    for seen in &told {
        assert_eq!(seen.content.matches("```").count(), 2, "{}", seen.content);
    }
    world.assert_clean();
}

/// X6: nothing that an agent writes rings anybody, and none of its links is fetched or dressed up.
#[tokio::test]
async fn what_an_agent_writes_rings_nobody() {
    let world = World::builder()
        .model(says("be loud", "@everyone @here <@USER> <@&1> [bank](https://evil.example/) hello"))
        .start()
        .await;
    let club = world.club("member", &["ann", "bob"]).await;
    let (ann, bob) = (&club.people[0], &club.people[1]);
    world.model.enqueue(Reply::text(format!(
        "@everyone {} {} wake up",
        bob.mention(),
        ann.mention()
    )));
    ann.say(club.general, &format!("{} ring them", world.bot.mention()));
    let told = ann.wait_for_words(club.general, "wake up").await;
    assert!(told.rung.is_empty() && !told.rung_everyone, "{told:?}");
    let told = ann.ask(club.general, &format!("{} be loud", world.bot.mention()), "hello").await;
    assert!(told.rung.is_empty() && !told.rung_everyone, "{told:?}");
    assert!(told.content.contains("evil.example"), "where a link leads is seen: {}", told.content);
    world.assert_clean();
}

/// P8, X10: a file of the agent arrives to the byte, under its name.
#[tokio::test]
async fn files_of_the_agent_arrive() {
    let make = "printf 'a,b\\n1,2\\n' > 'my table.csv'; head -c 200000 /dev/urandom > noise.bin; md5sum noise.bin";
    let model = steps(vec![
        Reply::tool_call("bash", json!({ "command": make })),
        Reply::tool_call("send_file", json!({"path": "my table.csv"})),
        Reply::tool_call("send_file", json!({"path": "noise.bin"})),
    ]);
    let world = World::builder().model(model).start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, "run: make files");
    let has = |name: &str| {
        let name = name.to_owned();
        move |seen: &Seen| seen.files.iter().any(|file| file.name == name)
    };
    let table = ann.wait_for(dm, "the table", has("my_table.csv")).await;
    assert_eq!(table.files[0].bytes, b"a,b\n1,2\n");
    let noise = ann.wait_for(dm, "the noise", has("noise.bin")).await;
    assert_eq!(noise.files[0].bytes.len(), 200_000);
    world.assert_clean();
}

/// P8: what is larger than Discord takes is not tried: it is said, with the limit.
#[tokio::test]
async fn a_file_that_is_too_large_is_named() {
    let model = steps(vec![
        Reply::tool_call("bash", json!({"command": "head -c 12000000 /dev/zero > big.bin"})),
        Reply::tool_call("send_file", json!({"path": "big.bin"})),
    ]);
    let world = World::builder().model(model).start().await;
    let (ann, dm) = world.met("ann").await;
    ann.say(dm, "run: make a big file");
    let told = ann.wait_for_words(dm, "big.bin").await;
    assert!(told.files.is_empty() && told.text().contains("larger than"), "{}", told.text());
    world.assert_clean();
}

/// X6: what cannot be shown as it is (tables, headings, pictures) is still read.
#[tokio::test]
async fn markdown_is_what_discord_can_show() {
    let text = "# Title\n\n| a | b |\n|---|---|\n| one | two |\n\n![cat](https://evil.example/x.png)\n\n\
                **bold** `code` ||not hidden||\n\n- [ ] open\n- [x] done";
    let world = World::builder().model(says("show", text)).start().await;
    let (ann, dm) = world.met("ann").await;
    let told = ann.ask(dm, "show", "bold").await;
    let told = ann
        .wait_for(dm, "the end", |seen| seen.id == told.id && seen.content.contains("done"))
        .await;
    let content = &told.content;
    for word in ["Title", "one", "two", "**bold**", "`code`", "open", "done"] {
        assert!(content.contains(word), "{word}: {content}");
    }
    assert!(!content.contains("||not hidden||"), "nothing hides behind a spoiler: {content}");
    assert!(!content.contains("![cat]"), "{content}");
    world.assert_clean();
}

/// X1: the answer to a post is lost: it is sent again under its nonce, and there is one message.
#[tokio::test]
async fn a_post_whose_answer_is_lost_is_one_message() {
    use cloister_testkit::discord::Fault;
    let world = World::builder().config(crate::world::SOON).start().await;
    let (ann, dm) = world.met("ann").await;
    ann.ask(dm, "before", "echo: before").await;
    world.discord.lay_times("POST /channels/:id/messages", Fault::Lost, 2);
    ann.say(dm, "once");
    ann.wait_for_text(dm, "echo: once").await;
    ann.ask(dm, "after", "echo: after").await;
    assert_eq!(world.discord.pending(), 0, "the fault was met");
    let expected = ["echo: before", "echo: once", "echo: after"];
    assert_eq!(crate::world::echoes(&ann, dm), expected);
    world.assert_clean();
}
