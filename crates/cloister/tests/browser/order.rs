//! A conversation has one order: what a page shows as it happens is what it shows when it is loaded anew.

use cloister_testkit::{ModelServer, ModelServerBuilder, Page, Received, Reply};
use serde_json::json;

use crate::world::{World, answered, connected, say};

/// The entries from the top, each in a few words.
const ENTRIES: &str = "[...document.querySelectorAll('#log > .entry')].map(entry => \
    entry.matches('.task') ? 'task ' + entry.dataset.task : \
    entry.matches('.ask') ? 'question' : \
    entry.matches('.person') ? 'said ' + entry.querySelector('.text').innerText : \
    entry.querySelector('a.file') ? 'file' : \
    entry.dataset.answer ? 'answer ' + entry.querySelector('.text').innerText.trim().split('\\n')[0].slice(0, 12) : \
    'notice').join('|')";

async fn shown(page: &Page) -> String {
    page.eval(ENTRIES).await.unwrap().as_str().unwrap().to_owned()
}

/// What the page shows, which has to be the same when it is loaded anew.
async fn shown_twice(page: &Page) -> String {
    let settled =
        "!document.querySelector('.working, .pending') && document.querySelector('#tasks').hidden";
    page.wait_for(settled, "the end of everything").await.unwrap();
    let live = shown(page).await;
    page.reload().await.unwrap();
    connected(page).await;
    assert_eq!(shown(page).await, live, "loaded anew, and live");
    live
}

/// A person who says `job` gets a task; the coordinator then gives this answer, and the task works with these.
fn job(answer: Reply, steps: Vec<Reply>) -> ModelServerBuilder {
    ModelServer::builder().rule(move |received: &Received| {
        let asked = received.last_user_text();
        if asked.starts_with("[task report]") {
            return Some(Reply::text("It is reported."));
        }
        if received.tool_names().contains(&"delegate") {
            if !asked.contains("job") {
                return None;
            }
            let risky = asked.contains("risky");
            let arguments = json!({"title": "work", "instructions": "work", "risky": risky});
            return Some(match received.tool_results().is_empty() {
                true => Reply::tool_call("delegate", arguments),
                false => answer.clone(),
            });
        }
        let taken = received.messages().iter().filter(|message| message["role"] == "assistant");
        Some(steps.get(taken.count()).cloned().unwrap_or_else(|| Reply::text("done")))
    })
}

/// U1: a question of a task that is asked while the answer that began it is still being written.
#[tokio::test(flavor = "multi_thread")]
async fn a_question_stands_below_the_answer_that_began_its_task() {
    let (answer, steps) = Reply::text("It has begun.").chunks(3).stepped();
    let plan = Reply::tool_call("propose_plan", json!({"plan": "1. look"}));
    let world = World::with(job(answer, vec![plan])).await;
    let page = world.login().await;
    say(&page, "job risky").await;
    steps.allow(1);
    page.wait_for("document.querySelector('.ask form')", "a question").await.unwrap();
    steps.allow(100);
    answered(&page, "It has begun.").await;
    page.click(".ask [value=allow]").await.unwrap();
    answered(&page, "It is reported.").await;
    let shown = shown_twice(&page).await;
    assert_eq!(shown, "said job risky|answer It has begun|task T1|question|answer It is report");
    // What nobody asked for can't be asked for again; the answer can.
    let again = "[...document.querySelectorAll('.agent[data-answer]')].map(entry => entry.innerText.includes('Regenerate')).join()";
    assert_eq!(page.eval(again).await.unwrap(), "true,false");
}

/// U1: a second message while the first is being answered.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_stands_below_its_message_though_another_came_meanwhile() {
    let (answer, steps) = Reply::text("One two three four five six").chunks(6).stepped();
    let model = ModelServer::builder()
        .rule(move |received| (received.last_user_text() == "first").then(|| answer.clone()));
    let world = World::with(model).await;
    let page = world.login().await;
    say(&page, "first").await;
    steps.allow(2);
    page.wait_for_text(".working .text", "One").await.unwrap();
    say(&page, "second").await;
    page.wait_for("document.querySelectorAll('.person[data-turn]').length === 2", "it to be taken")
        .await
        .unwrap();
    steps.allow(100);
    answered(&page, "second").await;
    let shown = shown_twice(&page).await;
    let order = ["said first|", "|answer One", "|said second|", "|answer echo: secon"];
    let places: Vec<Option<usize>> = order.iter().map(|piece| shown.find(piece)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{shown}");
}

/// U1: a file that is sent in the middle of an answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_stands_below_the_answer_that_it_came_with() {
    let (answer, steps) = Reply::text("Here it is.").chunks(3).stepped();
    let model = ModelServer::builder().rule(move |received| {
        (received.last_user_text() == "send").then(|| match received.tool_results().is_empty() {
            true => Reply::tool_call("send_file", json!({"path": "note.txt"})),
            false => answer.clone(),
        })
    });
    let world = World::with(model).await;
    let page = world.login().await;
    say(&page, "hello").await;
    answered(&page, "echo: hello").await;
    let files = world.stack.data().join("workspaces/w1/chats/C1/files");
    std::fs::create_dir_all(&files).unwrap();
    std::fs::write(files.join("note.txt"), "a note").unwrap();
    say(&page, "send").await;
    page.wait_for_text("a.file", "note.txt").await.unwrap();
    steps.allow(100);
    answered(&page, "Here it is.").await;
    let shown = shown_twice(&page).await;
    assert!(shown.ends_with("|said send|answer Here it is.|file"), "{shown}");
}

/// U1: everything is killed between an answer and the report of a task.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_after_a_crash_stands_where_it_stays() {
    let (working, steps) = Reply::text("worked").chunks(2).stepped();
    let (slow, talk) = Reply::text("Slowly said words").chunks(3).stepped();
    let model = job(Reply::text("It has begun."), vec![working])
        .rule(move |received| (received.last_user_text() == "slow").then(|| slow.clone()));
    let mut world = World::with(model).await;
    let page = world.login().await;
    say(&page, "job").await;
    answered(&page, "It has begun.").await;
    page.wait_for("document.querySelector('.task[data-state=running]')", "a task").await.unwrap();
    say(&page, "slow").await;
    talk.allow(1);
    page.wait_for_text(".working .text", "Slow").await.unwrap();
    world.stack.kill().await.unwrap();
    page.wait_for("document.querySelector('#app').dataset.link === 'lost'", "an outage")
        .await
        .unwrap();
    say(&page, "during").await;
    world.stack.restart().await.unwrap();
    connected(&page).await;
    steps.allow(100);
    talk.allow(100);
    answered(&page, "It is reported.").await;
    answered(&page, "during").await;
    let shown = shown_twice(&page).await;
    assert!(shown.starts_with("said job|answer It has begun|task T1|said slow|"), "{shown}");
}
