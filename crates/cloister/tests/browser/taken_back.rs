//! What a task changed, on its card: shown, taken back, brought back, kept.

use cloister_testkit::{Page, Reply};
use serde_json::json;

use crate::tasks::jobs;
use crate::world::{World, answered, connected, picture, say};

fn steps(title: &str) -> Vec<Reply> {
    let command = match title {
        "first" => "printf 'one\\n<b>two</b>\\n' > notes.txt; echo gone > old.txt",
        "second" => {
            "printf 'one\\n<i>2</i>\\n' > notes.txt; mv old.txt z.txt; head -c 3000 /dev/zero > blob.bin"
        }
        _ => "echo half > half.txt",
    };
    let mut steps = vec![Reply::tool_call("bash", json!({"command": command}))];
    if title == "failing" {
        steps.push(Reply::tool_call("bash", json!({"command": "sleep 600"})));
    } else {
        steps.push(Reply::text("done"));
    }
    steps
}

fn file(world: &World, name: &str) -> Option<String> {
    std::fs::read_to_string(world.stack.data().join("workspaces/w1/chats/C1/files").join(name)).ok()
}

async fn task_is_done(page: &Page, id: &str) {
    page.wait_for(
        &format!("document.querySelector('#task-{id}[data-state=done] .changes')"),
        "the end of the task",
    )
    .await
    .unwrap();
}

async fn first_and_second(world: &World, page: &Page) {
    say(page, "job:first").await;
    task_is_done(page, "T1").await;
    answered(page, "It has begun.").await;
    say(page, "job:second").await;
    task_is_done(page, "T2").await;
    assert_eq!(file(world, "notes.txt").as_deref(), Some("one\n<i>2</i>\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_task_changed_is_shown_and_taken_back_with_a_button() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    first_and_second(&world, &page).await;
    page.click("#task-T2 .changes > summary").await.unwrap();
    page.wait_for_text("#task-T2 .wrote", "blob.bin").await.unwrap();
    for (path, change) in [("blob.bin", "added"), ("notes.txt", "changed"), ("old.txt", "removed")]
    {
        page.wait_for_text(&format!("#task-T2 .wrote [data-change={change}]"), path).await.unwrap();
    }
    page.wait_for_text("#task-T2 .fact", "2.9 kB").await.unwrap();
    page.click("#task-T2 [data-change=changed] summary").await.unwrap();
    page.wait_for_text("#task-T2 .diff .ins", "+<i>2</i>").await.unwrap();
    picture(&page, "task-changes").await;
    let complaints = page.axe().await.unwrap();
    assert!(complaints.is_empty(), "{complaints:?}");

    // What the second task changed too stays, and is named.
    page.click("#task-T1 [data-way=undo]").await.unwrap();
    page.wait_for_text("#task-T1 .wrote", "changed by somebody since").await.unwrap();
    assert_eq!(file(&world, "notes.txt").as_deref(), Some("one\n<i>2</i>\n"));

    // In the other order all of it goes, in another tab as well, and comes back after a reload.
    let other = world.browser.page().await.unwrap();
    other.open(&world.url("/chats/C1")).await.unwrap();
    connected(&other).await;
    page.click("#task-T2 [data-way=undo]").await.unwrap();
    page.wait_for_text("#task-T2 .wrote", "taken back").await.unwrap();
    assert_eq!(file(&world, "notes.txt").as_deref(), Some("one\n<b>two</b>\n"));
    assert_eq!(file(&world, "blob.bin"), None);
    let back = "document.querySelector('#task-T2 [data-way=redo]')";
    other.wait_for(back, "the other button").await.unwrap();
    page.reload().await.unwrap();
    connected(&page).await;
    page.click("#task-T2 [data-way=redo]").await.unwrap();
    other
        .wait_for("document.querySelector('#task-T2 [data-way=undo]')", "the button")
        .await
        .unwrap();
    assert_eq!(file(&world, "notes.txt").as_deref(), Some("one\n<i>2</i>\n"));
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cancelled_task_did_is_kept_with_a_button() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    say(&page, "job:failing").await;
    page.wait_for_text("#task-T1 > .note", "sleep 600").await.unwrap();
    page.click("#task-T1 .changes > summary").await.unwrap();
    page.wait_for_text("#task-T1 .wrote", "half.txt").await.unwrap();
    assert_eq!(file(&world, "half.txt"), None);
    page.click("#cancel-all").await.unwrap();
    page.click("#task-T1 [data-way=keep]").await.unwrap();
    page.wait_for("document.querySelector('#task-T1 [data-way=undo]')", "the button")
        .await
        .unwrap();
    assert_eq!(file(&world, "half.txt").as_deref(), Some("half\n"));
}

/// Its forms do the same without script; a form that is sent twice does it once.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_taken_back_without_script() {
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    first_and_second(&world, &page).await;
    page.call("Emulation.setScriptExecutionDisabled", json!({"value": true})).await.unwrap();
    page.open(&world.url("/chats/C1")).await.unwrap();
    page.click("#task-T2 [data-way=undo]").await.unwrap();
    page.wait_for("location.pathname === '/chats/C1/tasks/T2/files'", "the page").await.unwrap();
    page.wait_for_text(".wrote", "taken back").await.unwrap();
    assert_eq!(file(&world, "notes.txt").as_deref(), Some("one\n<b>two</b>\n"));
    page.call("Emulation.setScriptExecutionDisabled", json!({"value": false})).await.unwrap();
    let again = "fetch('/chats/C1/tasks/T2/undo', {method: 'POST'}).then(r => r.status)";
    assert_eq!(page.eval(again).await.unwrap(), 200);
    assert_eq!(file(&world, "notes.txt").as_deref(), Some("one\n<b>two</b>\n"), "once");
    let complaints = page.axe().await.unwrap();
    assert!(complaints.is_empty(), "{complaints:?}");
    page.click("[data-way=redo]").await.unwrap();
    page.wait_for("document.querySelector('[data-way=undo]')", "the other button").await.unwrap();
    assert_eq!(file(&world, "notes.txt").as_deref(), Some("one\n<i>2</i>\n"));
}
