//! Answers as they are written, and what can be done with messages.

use cloister_testkit::{Matcher, ModelServer, ModelServerBuilder, Page, Reply};

use crate::world::{World, answered, connected, picture, say};

const LONG: &str = "## Plan\n\nFirst **this**, then `that`:\n\n- one\n- two\n\n```python\ndef f(n):  # doubles\n    return \"<b>\" + str(2 * n)\n```\n\nThe end.";

fn coordinator(says: &str, reply: Reply) -> ModelServerBuilder {
    ModelServer::builder()
        .when(Matcher::coordinator().and(Matcher::last_user_contains(says)), reply)
}

/// What the page would have put into the clipboard.
async fn watch_clipboard(page: &Page) {
    page.eval(
        "Object.defineProperty(navigator, 'clipboard', {value: {writeText: async (t) => { window.copied = t; }}}); 0",
    )
    .await
    .unwrap();
}

/// Markdown while it streams, after a reload in its middle, and in a tab that comes late.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_formatted_while_it_streams_and_goes_on_after_a_reload() {
    let (reply, steps) = Reply::text(LONG).chunks(8).stepped();
    let world = World::with(coordinator("plan", reply)).await;
    let page = world.login().await;
    say(&page, "plan please").await;
    steps.allow(5);
    page.wait_for("document.querySelector('.working .text h2')?.innerText === 'Plan'", "a heading")
        .await
        .unwrap();
    page.wait_for("document.querySelector('.working .text strong')", "bold").await.unwrap();
    picture(&page, "live-markdown").await;
    let other = world.browser.page().await.unwrap();
    other.open(&world.url("/chats/C1")).await.unwrap();
    page.reload().await.unwrap();
    for tab in [&page, &other] {
        connected(tab).await;
        tab.wait_for("document.querySelector('.working .text h2')?.innerText === 'Plan'", "again")
            .await
            .unwrap();
        assert_eq!(tab.count(".working").await.unwrap(), 1);
    }
    steps.allow(100);
    for tab in [&page, &other] {
        answered(tab, "The end.").await;
        assert_eq!(tab.count(".agent .rich h2").await.unwrap(), 1);
        assert_eq!(tab.count(".agent .rich li").await.unwrap(), 2);
        assert_eq!(tab.count(".working").await.unwrap(), 0);
    }
    assert_eq!(page.count(".code .hl-k").await.unwrap(), 2, "def and return");
    assert_eq!(page.text(".code .hl-s").await.unwrap(), "\"<b>\"");
    watch_clipboard(&page).await;
    page.click(".code .act").await.unwrap();
    page.wait_for("window.copied?.startsWith('def f(n):')", "the code").await.unwrap();
    picture(&page, "code").await;
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

/// X12: what streams is text: it runs nothing and loads nothing on its way either.
#[tokio::test(flavor = "multi_thread")]
async fn what_streams_is_only_text() {
    let hostile = "# <img src=x onerror=window.pwned=1>\n\n<script>window.pwned=2</script> [x](javascript:1) ![i](http://127.0.0.1:9/leak)\n\n| <b>a</b> | b |\n|---|---|\n| <svg onload=1> | d |\n\n```<b>\n</code><img src=x>\n```\npay\u{202e}lap last words";
    let (reply, steps) = Reply::text(hostile).chunks(6).stepped();
    let world = World::with(coordinator("stream", reply)).await;
    let page = world.login().await;
    say(&page, "stream").await;
    steps.allow(5);
    page.wait_for("document.querySelector('.working .text td')", "a table").await.unwrap();
    let active = ".working .text :is(img, script, svg, a, b, iframe)";
    assert_eq!(page.count(active).await.unwrap(), 0);
    steps.allow(100);
    answered(&page, "last words").await;
    assert_eq!(page.eval("window.pwned ?? null").await.unwrap(), serde_json::Value::Null);
    assert!(!page.requested().iter().any(|url| url.contains("leak")));
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_copied_edited_quoted_and_asked_again() {
    let world =
        World::with(coordinator("weather", Reply::text("It is **dry**.\n\nBring water."))).await;
    let page = world.login().await;
    say(&page, "the weather?").await;
    answered(&page, "It is dry.").await;
    watch_clipboard(&page).await;
    page.click("[aria-label='Copy this answer']").await.unwrap();
    page.wait_for("window.copied === 'It is **dry**.\\n\\nBring water.'", "Markdown")
        .await
        .unwrap();
    page.click("[aria-label='Quote this answer']").await.unwrap();
    let written = "document.querySelector('#text').value";
    let quoted = page.eval(written).await.unwrap();
    assert!(quoted.as_str().unwrap().starts_with("> It is dry.\n"), "{quoted}");
    page.click("[aria-label='Edit your message and send it again']").await.unwrap();
    assert_eq!(page.eval(written).await.unwrap(), "the weather?");
    page.type_text(" In weather week 2").await.unwrap();
    page.press("Enter", false).await.unwrap();
    page.wait_for_text(".person .text", "the weather? In weather week 2").await.unwrap();
    page.wait_for("document.querySelectorAll('.agent .rich').length === 2", "two answers")
        .await
        .unwrap();
    // What was asked and answered before is folded, here as after a reload, and not what the model is shown.
    page.click("#log > .agent [aria-label='Regenerate this answer']").await.unwrap();
    page.wait_for("document.querySelectorAll('.agent .rich').length === 3", "three answers")
        .await
        .unwrap();
    for _ in 0..2 {
        let seen = "['#log > .person', '#log > .agent', '.earlier', '.earlier > .person', '.earlier > .agent'] \
             .map(these => document.querySelectorAll(these).length).join()";
        assert_eq!(page.eval(seen).await.unwrap(), "1,1,1,2,2");
        assert_eq!(
            page.text("#log > .person .text").await.unwrap(),
            "the weather? In weather week 2"
        );
        let hidden = "!document.querySelector('.earlier .text').checkVisibility()";
        assert_eq!(page.eval(hidden).await.unwrap(), true);
        page.reload().await.unwrap();
        connected(&page).await;
    }
    let told = world.model.requests().pop().unwrap();
    assert_eq!(told.messages().len(), 2, "{:?}", told.messages());
    picture(&page, "acts").await;
    page.click(".earlier > summary").await.unwrap();
    page.wait_for_text(".earlier .person .text", "the weather?").await.unwrap();
    picture(&page, "earlier").await;
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

/// An older message that is edited takes the place of all that came after it; who changes their mind leaves it as it was.
#[tokio::test(flavor = "multi_thread")]
async fn an_edited_message_takes_the_place_of_what_came_after_it() {
    let world = World::start().await;
    let page = world.login().await;
    let other = world.browser.page().await.unwrap();
    for words in ["alpha", "beta", "gamma"] {
        say(&page, words).await;
        answered(&page, &format!("echo: {words}")).await;
    }
    other.open(&world.url("/chats/C1")).await.unwrap();
    connected(&other).await;
    let edit = "(() => { const all = [...document.querySelectorAll(\"[aria-label='Edit your message and send it again']\")]; all[1].click(); return 0; })()";
    page.eval(edit).await.unwrap();
    page.type_text(" changed").await.unwrap();
    page.press("Escape", false).await.unwrap();
    assert_eq!(page.eval("document.querySelector('#text').value").await.unwrap(), "");
    assert_eq!(page.count(".editing, .earlier").await.unwrap(), 0);
    page.eval(edit).await.unwrap();
    page.type_text(" changed").await.unwrap();
    page.press("Enter", false).await.unwrap();
    for tab in [&page, &other] {
        answered(tab, "echo: beta changed").await;
        tab.wait_for(
            "[...document.querySelectorAll('#log > .person .text')].map(one => one.innerText).join() === 'alpha,beta changed'",
            "what is said now",
        )
        .await
        .unwrap();
        assert_eq!(tab.count(".earlier > .person").await.unwrap(), 2);
        assert!(tab.troubles().is_empty(), "{:?}", tab.troubles());
    }
    let told = world.model.requests().pop().unwrap().body.to_string();
    assert!(told.contains("alpha") && !told.contains("gamma"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_answer_keeps_its_words() {
    let (reply, steps) =
        Reply::text("Some words that stay, and many more to come").chunks(4).stepped();
    let world = World::with(coordinator("talk", reply)).await;
    let page = world.login().await;
    say(&page, "talk").await;
    steps.allow(2);
    page.wait_for_text(".working .text", "Some words").await.unwrap();
    page.click("#stop").await.unwrap();
    page.wait_for_text(".agent .stopped", "Stopped").await.unwrap();
    page.reload().await.unwrap();
    page.wait_for_text(".agent .rich", "Some words").await.unwrap();
    page.wait_for_text(".agent .stopped", "Stopped").await.unwrap();
    assert_eq!(page.count(".agent.failed").await.unwrap(), 0);
}

/// What was being written is not lost when an older message is edited, nor are that message's files.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_keeps_the_draft_and_the_files() {
    let world = World::start().await;
    let page = world.login().await;
    let drop = "(() => { const d = new DataTransfer(); d.items.add(new File(['abc'], 'note.txt', {type: 'text/plain'})); \
         for (const kind of ['dragover', 'drop']) document.body.dispatchEvent(\
         new DragEvent(kind, {dataTransfer: d, bubbles: true, cancelable: true})); })()";
    page.eval(drop).await.unwrap();
    page.wait_for("document.querySelector('#uploads .ok')", "the upload").await.unwrap();
    say(&page, "read this").await;
    answered(&page, "read this").await;
    page.click("#text").await.unwrap();
    page.type_text("a thought").await.unwrap();
    page.click("[aria-label='Edit your message and send it again']").await.unwrap();
    let value = "document.querySelector('#text').value";
    assert_eq!(page.eval(value).await.unwrap(), "read this");
    assert!(page.text("#uploads").await.unwrap().contains("note.txt"));
    page.type_text(" again").await.unwrap();
    page.press("Enter", false).await.unwrap();
    page.wait_for_text(".person:last-of-type, .person", "read this again").await.unwrap();
    assert_eq!(page.eval(value).await.unwrap(), "a thought");
    answered(&page, "read this again").await;
    assert_eq!(page.count(".person a.file").await.unwrap(), 2);
    // Asking again works also where the question is not on the page.
    page.eval("document.querySelectorAll('.person').forEach(e => e.remove()); 0").await.unwrap();
    page.click("#log > .agent [aria-label='Regenerate this answer']").await.unwrap();
    page.wait_for("document.querySelectorAll('.person').length === 1", "it again").await.unwrap();
    assert_eq!(page.text("#log > .person .text").await.unwrap(), "read this again");
}
