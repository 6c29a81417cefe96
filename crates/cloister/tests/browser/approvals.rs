//! Questions of real tasks, answered on real pages.

use cloister_testkit::{Page, Reply};
use serde_json::json;

use crate::tasks::jobs;
use crate::world::{World, answered, connected, picture, say};

fn bash(command: &str) -> Reply {
    Reply::tool_call("bash", json!({"command": command}))
}

/// A folder is made and deleted, twice. Deleting is asked about.
fn steps(title: &str) -> Vec<Reply> {
    match title {
        "hostile" => vec![bash(
            "rm -r '<img src=x onerror=window.pwned=1>\u{202e}old' '**bold**' '![i](http://evil.example/leak)' '</pre><form>'",
        )],
        "once" => vec![bash("mkdir -p old"), bash("rm -r old")],
        _ => vec![bash("mkdir -p old"), bash("rm -r old"), bash("mkdir -p old"), bash("rm -r old")],
    }
}

/// Whether the folder is there, in the chat's files or where a task still works.
fn is_there(world: &World) -> bool {
    let data = world.stack.data();
    let tasks = std::fs::read_dir(data.join("layers/w1")).into_iter().flatten().flatten();
    let mut layers = tasks.map(|task| task.path().join("1/upper/old"));
    data.join("workspaces/w1/chats/C1/files/old").exists() || layers.any(|old| old.exists())
}

async fn question(page: &Page) {
    page.wait_for_text(".ask:not(.settled) h2", "run rm -r old?").await.unwrap();
    let exact = "document.querySelector('.ask:not(.settled) .exact').textContent";
    let exact = page.eval(exact).await.unwrap();
    assert!(exact.as_str().unwrap().contains("command: rm -r old"), "{exact}");
}

/// G2: the card says what, how bad and why; an answer for the task covers the task and no more.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_for_the_task() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    say(&page, "job:twice").await;
    question(&page).await;
    let card = page.text(".ask").await.unwrap();
    assert!(card.contains("May T1 run rm -r old?") && card.contains("destructive"), "{card}");
    assert!(card.contains("it deletes or overwrites what you have"), "why, in sight: {card}");
    let folded = page.eval("!document.querySelector('.ask .what').open").await.unwrap();
    assert_eq!(folded, true, "the line says all");
    let exact = page.eval("document.querySelector('.ask').textContent").await.unwrap();
    assert_eq!(exact.as_str().unwrap().to_lowercase().matches("digest").count(), 1, "{exact}");
    // Who looks elsewhere sees that something waits.
    assert_eq!(page.text("#waiting .count").await.unwrap(), "1");
    let title = page.eval("document.title").await.unwrap();
    assert!(title.as_str().unwrap().starts_with("(1) "), "{title}");
    let buttons = page
        .eval("[...document.querySelectorAll('.ask button')].map(b => b.innerText).join('|')")
        .await
        .unwrap();
    assert_eq!(buttons, "Allow once|For this task|Always in this chat|Deny|Deny and stop");
    picture(&page, "approval").await;
    assert!(is_there(&world), "nothing is deleted before it is allowed");
    page.click(".ask [value=allow_for_task]").await.unwrap();
    page.wait_for_text(".ask", "owner allowed it for this task.").await.unwrap();
    assert_eq!(page.count(".ask.settled").await.unwrap(), 1, "what is answered is one line");
    assert_eq!(page.eval("document.querySelector('#waiting').hidden").await.unwrap(), true);
    let title = page.eval("document.title").await.unwrap();
    assert!(!title.as_str().unwrap().starts_with('('), "{title}");
    answered(&page, "done:").await;
    assert_eq!(page.count(".ask").await.unwrap(), 1, "the same was not asked again");
    assert!(!is_there(&world));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_denied_and_the_task_stopped_by_keyboard() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    say(&page, "job:twice").await;
    question(&page).await;
    page.eval("document.querySelector('.ask [value=deny_and_stop]').focus()").await.unwrap();
    page.press("Enter", false).await.unwrap();
    page.wait_for_text(".ask", "owner denied it and stopped the task.").await.unwrap();
    page.wait_for("document.querySelector('#tasks').hidden", "no task").await.unwrap();
    assert!(is_there(&world));
    page.reload().await.unwrap();
    connected(&page).await;
    page.wait_for_text(".ask", "owner denied it and stopped the task.").await.unwrap();
    assert_eq!(page.count(".ask button").await.unwrap(), 0);
}

/// G1, G2: always means this and until revoked. The pages of approvals and grants need no script.
#[tokio::test(flavor = "multi_thread")]
async fn a_grant_for_always_is_explained_and_revoked() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    say(&page, "job:once").await;
    question(&page).await;
    page.click(".ask [value=allow_always]").await.unwrap();
    answered(&page, "done:").await;
    say(&page, "job:once").await;
    page.wait_for("document.querySelectorAll('.agent .rich').length >= 4", "the second report")
        .await
        .unwrap();
    assert_eq!(page.count(".ask").await.unwrap(), 1, "it is not asked again");

    page.open(&world.url("/grants")).await.unwrap();
    let grant = page.text("[data-grant]").await.unwrap();
    assert!(
        grant.contains("always in chat C1, until revoked") && grant.contains("run rm -r old"),
        "{grant}"
    );
    assert!(grant.contains("Given by owner"), "{grant}");
    picture(&page, "grants").await;
    page.click("[data-grant] button").await.unwrap();
    page.wait_for_text("main", "There are none.").await.unwrap();

    page.open(&world.url("/chats/C1")).await.unwrap();
    connected(&page).await;
    say(&page, "job:once").await;
    page.wait_for("document.querySelectorAll('.ask form').length === 1", "it is asked again")
        .await
        .unwrap();
    page.open(&world.url("/approvals")).await.unwrap();
    question(&page).await;
    picture(&page, "approvals").await;
    page.click(".ask [value=deny]").await.unwrap();
    page.wait_for_text("main", "Nothing waits for your answer.").await.unwrap();
    assert!(is_there(&world));
}

/// E62: whatever a command says, its question is text, shown whole, with nothing hidden in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_command_is_shown_inert() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    say(&page, "job:hostile").await;
    page.wait_for_text(".ask .effect", "⟨U+202E⟩old").await.unwrap();
    picture(&page, "hostile").await;
    page.eval("for (const one of document.querySelectorAll('details')) one.open = true; 0")
        .await
        .unwrap();
    for place in [".ask .effect", ".ask .exact"] {
        let shown = page.text(place).await.unwrap();
        for piece in [
            "<img src=x onerror=window.pwned=1>",
            "⟨U+202E⟩old",
            "**bold**",
            "![i](http://evil.example/leak)",
            "</pre><form>",
        ] {
            assert!(shown.contains(piece), "{piece} in {shown}");
        }
    }
    let all = page.text("main").await.unwrap();
    assert!(!all.contains('\u{202e}'), "what it says of itself hides nothing either: {all}");
    assert_eq!(page.count(".ask :is(img, a, strong.bold, form form)").await.unwrap(), 0);
    assert_eq!(page.eval("window.pwned ?? null").await.unwrap(), serde_json::Value::Null);
    let origin = world.stack.url();
    let socket = origin.replacen("http", "ws", 1);
    for url in page.requested() {
        let own = url.starts_with(&origin) || url.starts_with(&socket) || url.starts_with("about:");
        assert!(own, "the page asked for {url}");
    }
    page.click(".ask [value=deny_and_stop]").await.unwrap();
    page.wait_for_text(".ask", "denied it").await.unwrap();
}

/// The status that the page's own form would get.
async fn answer(page: &Page, id: &str, answer: &str, digest: &str) -> u64 {
    let post = format!(
        "fetch('/approvals/{id}', {{method: 'POST', redirect: 'manual', \
         body: new URLSearchParams({{answer: '{answer}', digest: '{digest}'}})}}).then(r => r.status)"
    );
    page.eval(&post).await.unwrap().as_u64().unwrap()
}

/// E61, E63: an answer to something else, of somebody else or a second one counts for nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_counts_once_from_the_right_person_for_what_they_saw() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    say(&page, "job:once").await;
    question(&page).await;
    let digest = page.eval("document.querySelector('.ask [name=digest]').value").await.unwrap();
    let digest = digest.as_str().unwrap().to_owned();

    let stranger = world.login_as("mallory").await;
    assert_eq!(answer(&stranger, "A1", "allow", &digest).await, 404);
    assert_eq!(answer(&stranger, "A99", "allow", &digest).await, 404);
    stranger.open(&world.url("/approvals")).await.unwrap();
    stranger.wait_for_text("main", "Nothing waits for your answer.").await.unwrap();

    let changed = digest.replace(|c: char| c.is_ascii_digit(), "f");
    assert_eq!(answer(&page, "A1", "allow", &changed).await, 409);
    assert_eq!(answer(&page, "A1", "allow_everything", &digest).await, 422);
    assert!(is_there(&world));
    assert_eq!(answer(&page, "A1", "deny", &digest).await, 0, "a redirect that is not followed");
    assert_eq!(answer(&page, "A1", "allow", &digest).await, 404);
    page.wait_for_text(".ask", "owner denied it.").await.unwrap();
    assert!(is_there(&world));
}
