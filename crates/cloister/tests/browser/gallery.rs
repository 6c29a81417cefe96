//! Every page at three widths, light and dark: judged by axe-core, and kept as a picture in `target/screenshots`, for
//! people to look at.

use std::path::{Path, PathBuf};

use cloister_testkit::{Page, Reply};
use serde_json::json;

use crate::tasks::jobs;
use crate::world::{World, answered, connected, say};

const RICH: &str = "Here is what I found.\n\n## Beans\n\nPlant them in **May**, about `5 cm` deep; [more](https://example.com/beans).\n\n\
    | bed | plants | water |\n|---|---:|---|\n| south | 24 | daily |\n| north | 12 | every third day |\n\n\
    ```python\n# how much water\nfor bed in beds:\n    print(bed.name, bed.area * 4.5)\n```\n\n\
    $$\\frac{a + b}{2} \\le \\sqrt{\\frac{a^2 + b^2}{2}}$$\n\n1. dig\n2. sow\n   - twice\n\n> Beans like company.";

fn steps(title: &str) -> Vec<Reply> {
    let bash = |command: &str| Reply::tool_call("bash", json!({"command": command}));
    match title {
        "clean" => vec![bash("mkdir -p old"), bash("rm -r old")],
        "sweep" => vec![bash("rm -r plots")],
        "plot" => vec![
            Reply::tool_call(
                "write_file",
                json!({"path": "plan.md", "content": "# Beds\n\n- south\n"}),
            ),
            Reply::tool_call(
                "edit_file",
                json!({"path": "plan.md", "old": "- south", "new": "- south\n- north"}),
            ),
            bash("wc -l plan.md"),
        ],
        _ => vec![
            Reply::tool_call(
                "write_todos",
                json!({"todos": [
                    {"text": "measure the beds", "state": "done"},
                    {"text": "count the seeds", "state": "doing"},
                    {"text": "write the plan", "state": "open"},
                ]}),
            ),
            bash("sleep 600"),
        ],
    }
}

async fn world() -> World {
    World::with(jobs(steps).rule(|received| {
        let asked = received.last_user_text();
        let told = asked.starts_with("[task report]");
        let report = || Reply::text("That is done: its steps and files are on its card.");
        told.then(report).or_else(|| asked.contains("beans").then(|| Reply::text(RICH)))
    }))
    .await
}

/// A conversation with something of everything in it.
async fn conversation(world: &World) -> Page {
    let page = world.login().await;
    say(&page, "When do I plant beans, and how?").await;
    answered(&page, "Beans like company").await;
    say(&page, "job:plot").await;
    page.wait_for("document.querySelector('.task[data-state=done]')", "a task's end")
        .await
        .unwrap();
    say(&page, "job:clean").await;
    page.wait_for_text(".ask h2", "rm -r old").await.unwrap();
    page.click(".ask [value=allow_always]").await.unwrap();
    page.wait_for("document.querySelectorAll('.task[data-state=done]').length === 2", "two ends")
        .await
        .unwrap();
    say(&page, "job:clean and job:seeds").await;
    page.wait_for_text(".task .todos .doing", "count the seeds").await.unwrap();
    // One question waits.
    say(&page, "job:sweep").await;
    page.wait_for_text(".ask:not(.settled) h2", "rm -r plots").await.unwrap();
    page
}

/// Where pictures are kept.
fn album() -> PathBuf {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/screenshots");
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// Judges and keeps what a tab shows, light and dark.
async fn look(page: &Page, name: &str, width: u32, complaints: &mut Vec<String>) {
    for scheme in ["light", "dark"] {
        page.prefer_scheme(scheme).await.unwrap();
        let found = page.axe().await.unwrap();
        complaints.extend(found.into_iter().map(|line| format!("{name} {width} {scheme}: {line}")));
        page.picture(&album().join(format!("{name}-{width}-{scheme}.png"))).await.unwrap();
    }
    page.prefer_scheme("light").await.unwrap();
    if page
        .eval("document.querySelector('#app') && document.scrollingElement.scrollTop")
        .await
        .unwrap()
        .as_f64()
        .unwrap_or(0.0)
        != 0.0
    {
        complaints.push(format!("{name} {width}: the page as a whole is scrolled"));
    }
    let wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    if page.eval(wide).await.unwrap() != 0 {
        complaints.push(format!("{name} {width}: it scrolls sideways"));
    }
}

async fn every_page_at(width: u32, height: u32, phone: bool) {
    let world = world().await;
    let page = conversation(&world).await;
    let mut complaints = Vec::new();
    page.resize(width, height, phone).await.unwrap();
    look(&page, "chat", width, &mut complaints).await;
    page.eval("document.querySelector('#main').scrollTop = 0; 0").await.unwrap();
    look(&page, "chat-top", width, &mut complaints).await;
    page.eval(
        "for (const one of document.querySelectorAll('.task details, .what')) one.open = true; 0",
    )
    .await
    .unwrap();
    page.wait_for("document.querySelectorAll('.task .list').length > 1", "the steps")
        .await
        .unwrap();
    page.eval("for (const one of document.querySelectorAll('.task details')) one.open = true; document.querySelector('.task').scrollIntoView(); 0")
        .await
        .unwrap();
    look(&page, "chat-steps", width, &mut complaints).await;
    page.click(".more summary").await.unwrap();
    look(&page, "chat-menu", width, &mut complaints).await;
    page.press("Escape", false).await.unwrap();
    if phone {
        page.click("#menu").await.unwrap();
        let open = "document.querySelector('#sidebar').getBoundingClientRect().x === 0";
        page.wait_for(open, "the drawer").await.unwrap();
        look(&page, "chat-drawer", width, &mut complaints).await;
        page.press("Escape", false).await.unwrap();
    }
    for (name, path) in [
        ("approvals", "/approvals"),
        ("grants", "/grants"),
        ("agents", "/agents"),
        ("start", "/start"),
        ("people", "/people"),
        ("person", "/people/owner"),
        ("model", "/model"),
        ("own-models", "/model/own"),
        ("status", "/status"),
        ("search", "/search?q=beans"),
        ("task", "/chats/C1/tasks/T1"),
        ("nowhere", "/nowhere"),
    ] {
        page.open(&world.url(path)).await.unwrap();
        look(&page, name, width, &mut complaints).await;
    }
    page.open(&world.url("/")).await.unwrap();
    connected(&page).await;
    page.eval("document.querySelector('.sidebar .head form').submit(); 0").await.unwrap();
    page.wait_for("location.pathname === '/chats/C2'", "a new chat").await.unwrap();
    connected(&page).await;
    look(&page, "empty", width, &mut complaints).await;
    let stranger = world.browser.stranger().await.unwrap();
    stranger.resize(width, height, phone).await.unwrap();
    stranger.open(&world.url("/login")).await.unwrap();
    look(&stranger, "login", width, &mut complaints).await;
    let link = world.stack.cli_ok(&["login-url"]).await.unwrap();
    let link = link.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    stranger.open(link).await.unwrap();
    look(&stranger, "login-link", width, &mut complaints).await;
    complaints.sort();
    complaints.dedup();
    assert!(complaints.is_empty(), "{} complaints:\n{}", complaints.len(), complaints.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_clean_on_a_phone() {
    every_page_at(375, 740, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_clean_on_a_tablet() {
    every_page_at(800, 1000, false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_clean_on_a_desk() {
    every_page_at(1280, 800, false).await;
}
