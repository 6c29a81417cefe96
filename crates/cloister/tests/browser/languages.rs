//! X12: the pages speak a person's language, whole: their browser's, or the one they chose.

use cloister_testkit::{Page, Reply};
use serde_json::json;

use crate::tasks::jobs;
use crate::world::{World, connected, log_in, say};

fn steps(title: &str) -> Vec<Reply> {
    let bash = |command: &str| Reply::tool_call("bash", json!({"command": command}));
    match title {
        "clean" => vec![bash("mkdir -p old"), bash("rm -r old")],
        _ => vec![bash("sleep 600")],
    }
}

async fn reads(page: &Page, language: &str) {
    page.call("Network.setExtraHTTPHeaders", json!({"headers": {"Accept-Language": language}}))
        .await
        .unwrap();
}

/// Words of the page in Latin letters that are nobody's own: not marked as what is the same in every language, no code,
/// no name of ours. Labels that only assistive technology reads are words of the page too.
const LATIN: &str = r#"(() => {
    const same = 'code, pre, textarea, script, style, noscript, #announce, [translate=no], time, datalist';
    const names = /\b(Cloister|OpenAI|OpenRouter|Anthropic|Groq|Mistral|Gemini|Google|Ollama|llama\.cpp|vLLM|LM Studio|z\.ai|Z\.AI|Enter|Shift|Tab|URL|MB|kB|GB|UTC|ID|platform|cookie|SOUL\.md|USER\.md|Claude|GLM|member|overlord|workspace|[CTAGw]\d+|owner|bob|a-z|run: rm -r old|clean|long|stop|all|poem\.txt)\b/g;
    const found = [];
    const judge = (text, place) => {
        const rest = text.replace(/https?:\/\/\S+/g, '').replace(/`[^`]*`/g, '').replace(/\/[a-z]\S*/g, '').replace(names, '');
        if (/[a-zA-Z]{2,}/.test(rest)) found.push(place + ': ' + text.trim().slice(0, 120));
    };
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) if (!walk.currentNode.parentElement.closest(same)) judge(walk.currentNode.data, walk.currentNode.parentElement.tagName);
    for (const element of document.querySelectorAll('[aria-label], [placeholder], [title]')) {
        if (element.closest('pre, [translate=no]') && !element.matches('.exact, .output')) continue;
        for (const name of ['aria-label', 'placeholder', 'title']) {
            const value = element.getAttribute(name);
            if (value && !(name === 'title' && element.tagName === 'TIME') && !/^(https?:|sk-|[a-z0-9-]+[\/,]|alice$|owner$|bob$|main)/.test(value)) judge(value, element.tagName + ' ' + name);
        }
    }
    return [document.documentElement.lang, found];
})()"#;

/// The page is in Russian, which has no Latin letters: whatever is left in them was forgotten.
async fn speaks_russian(page: &Page, place: &str, forgotten: &mut Vec<String>) {
    let told = page.eval(LATIN).await.unwrap();
    assert_eq!(told[0], "ru", "{place}");
    let found = told[1].as_array().unwrap();
    forgotten.extend(found.iter().map(|line| format!("{place}: {}", line.as_str().unwrap())));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_shows_a_sentence_that_nobody_translated() {
    let world = World::with(jobs(steps)).await;
    let page = world.browser.page().await.unwrap();
    page.resize(1280, 800, false).await.unwrap();
    reads(&page, "ru-RU,ru;q=0.9,en;q=0.5").await;
    let mut forgotten = Vec::new();
    page.open(&world.url("/login")).await.unwrap();
    speaks_russian(&page, "/login", &mut forgotten).await;
    page.open(world.stack.login_url()).await.unwrap();
    speaks_russian(&page, "a link", &mut forgotten).await;
    page.click("button.primary").await.unwrap();
    connected(&page).await;
    speaks_russian(&page, "an empty chat", &mut forgotten).await;
    say(&page, "job:clean").await;
    page.wait_for_text(".ask h2", "rm -r old").await.unwrap();
    speaks_russian(&page, "a question", &mut forgotten).await;
    page.open(&world.url("/approvals")).await.unwrap();
    speaks_russian(&page, "/approvals", &mut forgotten).await;
    page.open(&world.url("/chats/C1")).await.unwrap();
    connected(&page).await;
    page.click(".ask [value=allow_always]").await.unwrap();
    page.wait_for("document.querySelector('.task[data-state=done]')", "the end").await.unwrap();
    say(&page, "job:long").await;
    page.wait_for("document.querySelector('.task[data-state=running]')", "a task").await.unwrap();
    page.eval("for (const one of document.querySelectorAll('details')) one.open = true; 0")
        .await
        .unwrap();
    page.wait_for("document.querySelectorAll('.task .list').length > 1", "the steps")
        .await
        .unwrap();
    speaks_russian(&page, "tasks", &mut forgotten).await;
    page.reload().await.unwrap();
    connected(&page).await;
    speaks_russian(&page, "a reload", &mut forgotten).await;
    for path in [
        "/grants",
        "/agents",
        "/start",
        "/people",
        "/people/owner",
        "/model",
        "/model/own",
        "/status",
        "/search?q=job",
        "/search?q=nothing",
        "/chats/C1/tasks/T1",
        "/nowhere",
        "/chats/C99",
    ] {
        page.open(&world.url(path)).await.unwrap();
        speaks_russian(&page, path, &mut forgotten).await;
    }
    forgotten.sort();
    forgotten.dedup();
    assert!(forgotten.is_empty(), "{}", forgotten.join("\n"));
    assert!(page.troubles().iter().all(|line| line.contains("404")), "{:?}", page.troubles());
}

/// What was chosen counts for more than what the browser asks for, on pages and in what commands answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_person_chooses_the_language_of_pages_and_commands() {
    let world = World::start().await;
    let page = world.browser.page().await.unwrap();
    page.resize(1280, 800, false).await.unwrap();
    log_in(&page, world.stack.login_url()).await;
    assert_eq!(page.eval("document.documentElement.lang").await.unwrap(), "en");
    page.open(&world.url("/start")).await.unwrap();
    page.eval("document.querySelector('[name=language]').value = 'de'; 0").await.unwrap();
    page.click("form.stack button.primary").await.unwrap();
    connected(&page).await;
    assert_eq!(page.eval("document.documentElement.lang").await.unwrap(), "de");
    page.wait_for_text("#send", "Senden").await.unwrap();
    say(&page, "/status").await;
    page.wait_for_text(".agent .rich", "Es läuft nichts.").await.unwrap();
    // The script says its words in it, too.
    page.wait_for_text(".person .acts", "Bearbeiten").await.unwrap();
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}
