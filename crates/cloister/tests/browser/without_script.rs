//! The pages in a browser without script: everything that can be read, said and done there.

use cloister_testkit::{Matcher, ModelServer, Page, Reply};
use serde_json::json;

use crate::tasks::jobs;
use crate::world::{World, picture};

async fn without_script(world: &World) -> Page {
    let page = world.login().await;
    page.call("Emulation.setScriptExecutionDisabled", json!({"value": true})).await.unwrap();
    page.open(&world.url("/chats/C1")).await.unwrap();
    page
}

/// Loads the page until it shows something.
async fn reloaded(page: &Page, selector: &str, words: &str) {
    for _ in 0..400 {
        // A page that is on its way after a press is not to be cut off.
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        page.reload().await.unwrap();
        if page.text(selector).await.unwrap_or_default().contains(words) {
            return;
        }
    }
    panic!("no {words:?} in {selector}: {}", page.text("body").await.unwrap());
}

async fn say(page: &Page, words: &str) {
    page.click("#text").await.unwrap();
    page.type_text(words).await.unwrap();
    page.click("#send").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_phone_has_its_chats_and_places() {
    let world = World::start().await;
    let page = without_script(&world).await;
    page.resize(360, 740, true).await.unwrap();
    page.open(&world.url("/chats/C1")).await.unwrap();
    let seen = "getComputedStyle(document.querySelector('#sidebar')).visibility";
    // It slides in: what is still moving is not where a click goes.
    let there = "document.querySelector('#sidebar').getBoundingClientRect().left === 0";
    assert_eq!(page.eval(seen).await.unwrap(), "hidden");
    page.click("#menu").await.unwrap();
    page.wait_for(there, "the chats").await.unwrap();
    picture(&page, "phone-without-script").await;
    page.click("#sidebar .close").await.unwrap();
    page.wait_for(&format!("{seen} === 'hidden'"), "the conversation").await.unwrap();
    page.click("#menu").await.unwrap();
    page.wait_for(there, "the chats again").await.unwrap();
    page.click("#sidebar a[href='/approvals']").await.unwrap();
    page.wait_for("location.pathname === '/approvals'", "another place").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_are_cancelled_and_tried_again() {
    let steps = |_: &str| vec![Reply::tool_call("bash", json!({"command": "sleep 600"}))];
    let world = World::with(jobs(steps)).await;
    let page = without_script(&world).await;
    say(&page, "job:alpha job:beta").await;
    reloaded(&page, "#log", "It has begun.").await;
    page.click(".task [aria-label='Cancel: alpha']").await.unwrap();
    reloaded(&page, ".task[data-state=cancelled]", "alpha").await;
    page.click("#cancel-all").await.unwrap();
    reloaded(&page, ".task[data-state=cancelled] ~ .task[data-state=cancelled]", "beta").await;
    page.click("[aria-label='Try again: alpha']").await.unwrap();
    reloaded(&page, "#log", "/retry T1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_attached() {
    let world = World::start().await;
    let page = without_script(&world).await;
    let file = world.stack.data().join("mine.txt");
    std::fs::write(&file, "what I wrote\r\n--x\r\n").unwrap();
    let document = page.call("DOM.getDocument", json!({})).await.unwrap();
    let root = &document["root"]["nodeId"];
    let input = json!({"nodeId": root, "selector": "noscript input[type=file], input[name=files]"});
    let input = page.call("DOM.querySelector", input).await.unwrap();
    let set = json!({"nodeId": input["nodeId"], "files": [file.to_str().unwrap()]});
    page.call("DOM.setFileInputFiles", set).await.unwrap();
    say(&page, "see the file").await;
    reloaded(&page, ".person .file", "mine.txt").await;
    reloaded(&page, "#log", "echo: see the file").await;
    let kept = world.stack.data().join("workspaces/w1/chats/C1/incoming/mine.txt");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "what I wrote\r\n--x\r\n");
}

/// What failed is tried again in its place, with its files, and no page has anything that axe-core complains about.
#[tokio::test(flavor = "multi_thread")]
async fn failed_answers_are_tried_again() {
    let model = ModelServer::builder()
        .when(Matcher::last_user_contains("fail"), Reply::status(400, "{\"error\":\"no\"}"));
    let world = World::with(model).await;
    let page = without_script(&world).await;
    say(&page, "fail please").await;
    reloaded(&page, ".agent.failed", "Try again").await;
    axe(&page).await;
    page.click(".agent.failed button").await.unwrap();
    reloaded(&page, "#log > .agent.failed", "Try again").await;
    let asked = "[document.querySelectorAll('#log > .person').length, document.querySelectorAll('.earlier > .person').length]";
    assert_eq!(page.eval(asked).await.unwrap(), json!([1, 1]));
    assert_eq!(page.text("#log > .person .text").await.unwrap(), "fail please");
    for path in ["/chats/C1", "/approvals", "/grants", "/agents", "/people", "/model", "/status"] {
        page.open(&world.url(path)).await.unwrap();
        axe(&page).await;
    }
}

/// Judges a page that was loaded without script; to do that takes one.
async fn axe(page: &Page) {
    let without =
        |value: bool| page.call("Emulation.setScriptExecutionDisabled", json!({"value": value}));
    without(false).await.unwrap();
    let complaints = page.axe().await.unwrap();
    without(true).await.unwrap();
    assert!(complaints.is_empty(), "{complaints:?}");
}
