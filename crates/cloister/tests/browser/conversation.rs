use cloister_testkit::{Matcher, ModelServer, Reply};

use crate::world::{World, answered, connected, picture, say};

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_streams_and_another_tab_sees_it_too() {
    let (reply, steps) = Reply::text("One **two** three four five").chunks(5).stepped();
    let model = ModelServer::builder()
        .when(Matcher::coordinator().and(Matcher::last_user_contains("stream")), reply);
    let world = World::with(model).await;
    let page = world.login().await;
    let other = world.browser.page().await.unwrap();
    other.open(&world.url("/")).await.unwrap();
    connected(&other).await;

    say(&page, "please stream <b>this</b>").await;
    page.wait_for("!document.querySelector('#stop').hidden", "a Stop button").await.unwrap();
    steps.allow(2);
    page.wait_for_text(".working .text", "One").await.unwrap();
    picture(&page, "streaming").await;
    steps.allow(100);
    for tab in [&page, &other] {
        answered(tab, "One two three four five").await;
        tab.wait_for("document.querySelector('.agent .rich strong')?.innerText === 'two'", "bold")
            .await
            .unwrap();
        tab.wait_for_text(".person .text", "please stream <b>this</b>").await.unwrap();
        assert_eq!(tab.count(".person").await.unwrap(), 1);
        assert_eq!(tab.count(".agent").await.unwrap(), 1);
        assert_eq!(tab.count(".working, .pending").await.unwrap(), 0);
        assert!(tab.eval("document.querySelector('#stop').hidden").await.unwrap() == true);
    }
    page.reload().await.unwrap();
    answered(&page, "One two three four five").await;
    assert_eq!(page.count(".person").await.unwrap(), 1);
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_during_an_outage_is_answered_once() {
    let mut world = World::start().await;
    let page = world.login().await;
    say(&page, "before").await;
    answered(&page, "echo: before").await;

    world.stack.kill().await.unwrap();
    page.wait_for("document.querySelector('#link').textContent !== ''", "a visible outage")
        .await
        .unwrap();
    say(&page, "during the outage").await;
    page.wait_for_text(".person.pending", "during the outage").await.unwrap();
    picture(&page, "outage").await;
    // Even a page that is loaded anew keeps it; the page itself can't be had during the outage.
    world.stack.restart().await.unwrap();
    answered(&page, "echo: during the outage").await;
    assert_eq!(page.text("#link").await.unwrap(), "");
    assert_eq!(page.count(".pending").await.unwrap(), 0);

    say(&page, "after").await;
    answered(&page, "echo: after").await;
    let mut counts = Vec::new();
    for _ in 0..2 {
        counts.push((page.count(".person").await.unwrap(), page.count(".agent").await.unwrap()));
        page.reload().await.unwrap();
        answered(&page, "echo: after").await;
    }
    assert_eq!(counts, [(3, 3), (3, 3)]);
    let asked = world.model.requests();
    let times = |text: &str| asked.iter().filter(|r| r.last_user_text().contains(text)).count();
    assert_eq!(times("during the outage"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_came_while_nobody_listened_is_there_after_reconnecting() {
    let mut world = World::start().await;
    let page = world.login().await;
    say(&page, "first").await;
    answered(&page, "echo: first").await;
    world.stack.kill().await.unwrap();
    page.wait_for("document.querySelector('#link').textContent !== ''", "an outage").await.unwrap();
    // Another client of the same person is faster than the page.
    page.eval("window.__WebSocket = WebSocket; window.WebSocket = function () { throw 1 }; 0")
        .await
        .unwrap();
    world.stack.restart().await.unwrap();
    let session = world.stack.session("owner").await.unwrap();
    let mut elsewhere = world.stack.client(&session, "C1".parse().unwrap());
    elsewhere.ask("from elsewhere").await.unwrap();
    page.eval("window.WebSocket = window.__WebSocket; dispatchEvent(new Event('online')); 0")
        .await
        .unwrap();
    answered(&page, "echo: from elsewhere").await;
    page.wait_for_text(".person .text", "from elsewhere").await.unwrap();
    assert_eq!(page.count(".person").await.unwrap(), 2);
    assert_eq!(page.count(".agent").await.unwrap(), 2);
}

/// While everything is stopped nobody works on anything, and the page says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_message_during_a_stop_says_what_it_waits_for() {
    let world = World::start().await;
    let page = world.login().await;
    say(&page, "before").await;
    answered(&page, "echo: before").await;
    world.stack.cli_ok(&["stop", "--all"]).await.unwrap();
    say(&page, "during the stop").await;
    page.wait_for_text(".working .hint", "Everything is stopped.").await.unwrap();
    page.reload().await.unwrap();
    connected(&page).await;
    page.wait_for_text(".working .hint", "Everything is stopped.").await.unwrap();
    world.stack.cli_ok(&["release"]).await.unwrap();
    answered(&page, "echo: during the stop").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chats_are_made_named_put_away_and_read_back() {
    let world = World::start().await;
    let session = world.stack.session("owner").await.unwrap();
    let mut client = world.stack.client(&session, "C1".parse().unwrap());
    for n in 0..35 {
        client.ask(&format!("/help {n}")).await.unwrap();
    }
    let page = world.login().await;
    assert_eq!(page.count(".entry").await.unwrap(), 50);
    page.eval("document.querySelector('#main').scrollTop = 0").await.unwrap();
    page.click("[data-older]").await.unwrap();
    page.wait_for("document.querySelectorAll('.entry').length === 70", "older messages")
        .await
        .unwrap();
    assert_eq!(page.count("[data-older]").await.unwrap(), 0);
    let first = page.eval("document.querySelector('.person .text').innerText").await.unwrap();
    assert_eq!(first, "/help 0");

    page.click(".sidebar .head button").await.unwrap();
    page.wait_for("location.pathname === '/chats/C2'", "a new chat").await.unwrap();
    connected(&page).await;
    // An empty chat offers something to try.
    assert_eq!(page.count("#greeting .examples button").await.unwrap(), 3);
    picture(&page, "empty").await;
    page.click(".more summary").await.unwrap();
    page.eval("document.querySelector('.pop input[name=title]').select()").await.unwrap();
    page.type_text("Holiday <plans>").await.unwrap();
    page.press("Enter", false).await.unwrap();
    page.wait_for_text(".bar h1", "Holiday <plans>").await.unwrap();
    page.wait_for_text(".chats [aria-current]", "Holiday <plans>").await.unwrap();
    connected(&page).await;
    page.click(".more summary").await.unwrap();
    page.click(".pop form[action$=archive] button").await.unwrap();
    page.wait_for("location.pathname === '/chats/C1'", "the other chat").await.unwrap();
    page.click(".chats summary").await.unwrap();
    page.wait_for_text(".chats details a", "Holiday <plans>").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_without_script_can_still_write() {
    let world = World::start().await;
    let page = world.login().await;
    let off = serde_json::json!({"value": true});
    page.call("Emulation.setScriptExecutionDisabled", off).await.unwrap();
    page.open(&world.url("/chats/C1")).await.unwrap();
    page.click("#text").await.unwrap();
    page.type_text("no script here").await.unwrap();
    page.click("#send").await.unwrap();
    page.wait_for_text(".person .text", "no script here").await.unwrap();
    for _ in 0..400 {
        page.reload().await.unwrap();
        if page.text(".agent .rich").await.unwrap().contains("echo: no script here") {
            return;
        }
    }
    panic!("no answer: {}", page.text("body").await.unwrap());
}
