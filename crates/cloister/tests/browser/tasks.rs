use cloister_protocol::{AgentFrame, Update};
use cloister_store::Store;
use cloister_testkit::{Matcher, ModelServer, ModelServerBuilder, Received, Reply};
use serde_json::json;

use crate::world::{World, answered, connected, picture, say};

/// A person who says `job:NAME` gets a task of that name, which takes these steps.
pub(crate) fn jobs(steps: fn(&str) -> Vec<Reply>) -> ModelServerBuilder {
    ModelServer::builder().rule(move |received| {
        let tools = received.tool_names();
        let asked = received.last_user_text();
        if asked.starts_with("[task report]") {
            return None;
        }
        if tools.contains(&"delegate") {
            return delegated(received);
        }
        let title = asked.lines().next().and_then(|line| line.strip_prefix("Task: "))?;
        let taken = received.messages().iter().filter(|message| message["role"] == "assistant");
        let done = || Reply::text(format!("done: {}", received.tool_results().join("\n")));
        Some(steps(title).get(taken.count()).cloned().unwrap_or_else(done))
    })
}

fn delegated(received: &Received) -> Option<Reply> {
    let asked = received.last_user_text();
    let names: Vec<&str> =
        asked.split_whitespace().filter_map(|word| word.strip_prefix("job:")).collect();
    if names.is_empty() {
        return None;
    }
    if !received.tool_results().is_empty() {
        return Some(Reply::text("It has begun."));
    }
    Some(names.iter().fold(Reply::default(), |reply, name| {
        let arguments = json!({"title": name, "instructions": "work", "risky": *name == "risky"});
        reply.and_tool_call("delegate", arguments)
    }))
}

fn steps(title: &str) -> Vec<Reply> {
    let todos = json!({"todos": [
        {"text": "look around", "state": "done"},
        {"text": "<b>wait</b>", "state": "doing"},
        {"text": "tell", "state": "open"},
    ]});
    match title {
        "risky" => vec![
            Reply::tool_call("propose_plan", json!({"plan": "1. delete **everything**"})),
            Reply::tool_call("bash", json!({"command": "echo gone"})),
        ],
        _ => vec![
            Reply::tool_call("write_todos", todos),
            Reply::tool_call("bash", json!({"command": "sleep 600"})),
        ],
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_shown_as_they_go_and_can_be_cancelled() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    say(&page, "job:alpha job:beta job:gamma").await;
    answered(&page, "It has begun.").await;
    page.wait_for(
        "document.querySelectorAll('.task[data-state=running]').length === 3",
        "three tasks",
    )
    .await
    .unwrap();
    page.wait_for_text(".task .todos .doing", "<b>wait</b>").await.unwrap();
    // What runs stands in the conversation, below the answer that began it.
    page.wait_for_text("#log .agent ~ .task > .note", "sleep 600").await.unwrap();
    picture(&page, "tasks").await;
    page.reload().await.unwrap();
    connected(&page).await;
    assert_eq!(page.count(".task").await.unwrap(), 3);
    page.wait_for_text("#log .agent ~ .task > .note", "sleep 600").await.unwrap();
    page.wait_for_text(".task .todos .doing", "<b>wait</b>").await.unwrap();
    assert_eq!(page.count("#tasks li").await.unwrap(), 3);

    page.click(".task [aria-label='Cancel: beta']").await.unwrap();
    page.wait_for("document.querySelectorAll('#tasks li').length === 2", "two tasks")
        .await
        .unwrap();
    assert!(!page.text("#tasks").await.unwrap().contains("beta"));
    page.wait_for_text(".task[data-state=cancelled] .head", "Try again").await.unwrap();
    page.click("#cancel-all").await.unwrap();
    page.wait_for("document.querySelector('#tasks').hidden", "no task").await.unwrap();
    assert_eq!(page.count(".task[data-state=cancelled]").await.unwrap(), 3, "the cards stay");
}

/// A8: who looks at a step sees what its command prints while it runs: as text, with nothing hidden in it.
#[tokio::test(flavor = "multi_thread")]
async fn a_running_step_shows_what_it_prints() {
    let world = World::with(jobs(|_| {
        let prints =
            "printf 'one\\n<img src=x onerror=window.pwned=1>\\342\\200\\256two\\n'; sleep 600";
        vec![Reply::tool_call("bash", json!({"command": prints}))]
    }))
    .await;
    let page = world.login().await;
    say(&page, "job:prints").await;
    page.wait_for("document.querySelector('.task[data-state=running]')", "a task").await.unwrap();
    page.click(".task .steps > summary").await.unwrap();
    let shown = ".step[data-status=running] .output";
    page.wait_for_text(shown, "<img src=x onerror=window.pwned=1>⟨U+202E⟩two").await.unwrap();
    assert_eq!(page.count(".step img").await.unwrap(), 0);
    picture(&page, "task-live").await;
    page.click("#cancel-all").await.unwrap();
    page.wait_for("document.querySelector('.task[data-state=cancelled]')", "its end")
        .await
        .unwrap();
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

/// A8: a card says what ran and what came back, live and afterwards, and what came of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_card_shows_the_steps_of_its_task_and_its_result() {
    let world = World::with(jobs(|_| {
        let echo = "echo '<b>first</b>' && printf 'and %s' second";
        vec![Reply::tool_call("bash", json!({"command": echo}))]
    }))
    .await;
    let page = world.login().await;
    say(&page, "job:words").await;
    page.wait_for("document.querySelector('.task[data-state=done]')", "the end").await.unwrap();
    page.click(".task .steps > summary").await.unwrap();
    let step = ".step[data-status=ok] summary code";
    page.wait_for_text(step, "echo '<b>first</b>'").await.unwrap();
    page.click(".step summary").await.unwrap();
    page.wait_for_text(".step .output", "<b>first</b>").await.unwrap();
    picture(&page, "task-steps").await;
    page.click(".task .result summary").await.unwrap();
    page.wait_for_text(".task .result", "done:").await.unwrap();

    // Afterwards its steps come when they are wanted; without a script they are a page.
    page.reload().await.unwrap();
    connected(&page).await;
    assert_eq!(page.count(".step").await.unwrap(), 0);
    page.click(".task .steps > summary").await.unwrap();
    page.wait_for_text(step, "echo '<b>first</b>'").await.unwrap();
    page.open(&world.url("/chats/C1/tasks/T1")).await.unwrap();
    page.wait_for_text("h1", "Task T1: words").await.unwrap();
    assert_eq!(page.count(".step").await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_is_answered_with_a_button() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    say(&page, "job:risky").await;
    // To the letter: what is decided on is no Markdown.
    page.wait_for_text(".ask .exact", "1. delete **everything**").await.unwrap();
    picture(&page, "question").await;
    page.reload().await.unwrap();
    connected(&page).await;
    page.click(".ask [value=allow]").await.unwrap();
    page.wait_for_text(".ask", "owner allowed it once.").await.unwrap();
    answered(&page, "gone").await;
    page.reload().await.unwrap();
    page.wait_for_text(".ask", "owner allowed it once.").await.unwrap();
    assert_eq!(page.count(".ask button").await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_host_is_allowed_with_one_click() {
    let world = World::start().await;
    let page = world.login().await;
    let store = Store::open(&world.stack.data().join("cloister.db")).await.unwrap();
    let blocked = AgentFrame::Update(Update::Blocked {
        task: None,
        host: "example.com".to_owned(),
        reason: "it is not on your list".to_owned(),
        allow: Some("/allow example.com".to_owned()),
    });
    let place = ("w1".parse().unwrap(), "C1".parse().unwrap());
    store.outbox().notify(place, "test", &blocked).await.unwrap();
    page.reload().await.unwrap();
    connected(&page).await;
    page.wait_for_text(".blocked", "example.com was not reached: it is not on your list")
        .await
        .unwrap();
    picture(&page, "blocked").await;
    page.click(".blocked button").await.unwrap();
    page.wait_for("!document.querySelector('.blocked button')", "the button to go").await.unwrap();
    page.wait_for_text(".person .text", "/allow example.com").await.unwrap();
    page.wait_for("document.querySelector('.agent .rich')", "an answer").await.unwrap();
    page.reload().await.unwrap();
    assert_eq!(page.count(".blocked button").await.unwrap(), 0);
}

/// A task that was kept from a host goes on with one more click when the host is allowed.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_goes_on_when_its_host_is_allowed() {
    let world = World::with(jobs(|_| vec![])).await;
    let page = world.login().await;
    say(&page, "job:visit").await;
    page.wait_for("document.querySelector('.task[data-state=done]')", "the end").await.unwrap();
    let store = Store::open(&world.stack.data().join("cloister.db")).await.unwrap();
    let blocked = AgentFrame::Update(Update::Blocked {
        task: Some("T1".parse().unwrap()),
        host: "example.com".to_owned(),
        reason: "it is not on your list".to_owned(),
        allow: Some("/allow example.com".to_owned()),
    });
    let place = ("w1".parse().unwrap(), "C1".parse().unwrap());
    store.outbox().notify(place, "test", &blocked).await.unwrap();
    page.reload().await.unwrap();
    connected(&page).await;
    page.click(".blocked [data-allow]").await.unwrap();
    page.wait_for_text(".blocked button", "Go on with the task").await.unwrap();
    page.wait_for_text(".agent .rich", "example.com").await.unwrap();
    // Also for who comes back later.
    page.reload().await.unwrap();
    connected(&page).await;
    page.click(".blocked [data-say]").await.unwrap();
    page.wait_for_text(".person .text", "example.com is allowed now. Go on with T1 (visit).")
        .await
        .unwrap();
    // Once: pressed again it would begin another task.
    assert_eq!(page.count(".blocked button").await.unwrap(), 0);
    page.wait_for("!document.querySelector('.pending, .working')", "its answer").await.unwrap();
    page.reload().await.unwrap();
    assert_eq!(page.count(".blocked button").await.unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_can_be_stopped() {
    let (slow, steps) = Reply::text("never to be heard of").chunks(4).stepped();
    let world = World::start().await;
    let page = world.login().await;
    // For this message alone: it may be stopped before the model is asked at all.
    world.model.when(Matcher::last_user_contains("talk"), slow);
    say(&page, "talk").await;
    steps.allow(1);
    // At once, while its cell is still being launched.
    page.click("#stop").await.unwrap();
    page.wait_for("!document.querySelector('.working')", "the end of the turn").await.unwrap();
    say(&page, "next").await;
    answered(&page, "echo: next").await;
}

/// Lets a test take the page's connection away and give it back.
const TAKEN_AWAY: &str = "(() => {
    const Real = WebSocket;
    window.sockets = [];
    window.WebSocket = class extends Real {
        constructor(url) { super(window.cut ? url.replace(/agent_ws.*/, 'nothing') : url); window.sockets.push(this); }
    };
})()";

/// What changed while a page was not connected, and has no row of its own, is shown when it is again.
#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_was_away_shows_how_tasks_and_questions_stand() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    let script = json!({"source": TAKEN_AWAY});
    page.call("Page.addScriptToEvaluateOnNewDocument", script).await.unwrap();
    page.reload().await.unwrap();
    connected(&page).await;
    say(&page, "job:alpha job:risky").await;
    page.wait_for_text(".task .todos .doing", "<b>wait</b>").await.unwrap();
    page.wait_for("document.querySelector('.ask form')", "a question").await.unwrap();
    let one_runs = "document.querySelectorAll('.task[data-state=running]').length === 1";
    page.wait_for(one_runs, "a task that waits for the answer").await.unwrap();

    page.eval("window.cut = true, window.sockets.at(-1).close()").await.unwrap();
    page.wait_for("document.querySelector('#app').dataset.link === 'lost'", "no connection")
        .await
        .unwrap();
    let elsewhere = world.browser.page().await.unwrap();
    elsewhere.open(&world.url("/chats/C1")).await.unwrap();
    connected(&elsewhere).await;
    elsewhere.click(".ask button[value=deny_and_stop]").await.unwrap();
    elsewhere.wait_for("!document.querySelector('.ask form')", "the answer").await.unwrap();
    elsewhere.click("#cancel-all").await.unwrap();
    elsewhere.wait_for("document.querySelector('#tasks').hidden", "no task").await.unwrap();
    assert_eq!(page.count(".task[data-state=running]").await.unwrap(), 1);

    page.eval("window.cut = false, document.dispatchEvent(new Event('visibilitychange'))")
        .await
        .unwrap();
    connected(&page).await;
    page.wait_for("document.querySelector('#tasks').hidden", "no task").await.unwrap();
    assert_eq!(page.count(".task[data-state=cancelled]").await.unwrap(), 2);
    assert_eq!(page.count(".ask form").await.unwrap(), 0);
    page.wait_for_text(".ask .answers", "owner denied it").await.unwrap();
    page.wait_for("!document.title.startsWith('(')", "no question in the title").await.unwrap();
}
