//! Finding chats again, and pictures in them.

use cloister_testkit::{ModelServer, Reply};
use serde_json::json;

use crate::world::{World, answered, connected, picture, say};

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_is_named_by_its_first_words_pinned_and_found() {
    let world = World::start().await;
    let page = world.login().await;
    say(&page, "plant <b>beans</b>").await;
    page.wait_for_text(".bar h1", "plant <b>beans</b>").await.unwrap();
    answered(&page, "echo: plant").await;
    page.click(".sidebar .head button").await.unwrap();
    page.wait_for("location.pathname === '/chats/C2'", "a new chat").await.unwrap();
    connected(&page).await;
    page.wait_for_text(".chats a", "plant <b>beans</b>").await.unwrap();
    // One in which nothing was said is the new one.
    page.eval("window.before = true").await.unwrap();
    page.click(".sidebar .head button").await.unwrap();
    page.wait_for("!window.before && document.querySelector('.chats li')", "the page again")
        .await
        .unwrap();
    assert_eq!(page.count(".chats li").await.unwrap(), 2);
    connected(&page).await;
    say(&page, "count the peas").await;
    answered(&page, "echo: count").await;
    let first = "document.querySelector('.chats a').textContent";
    assert_eq!(page.eval(first).await.unwrap(), "count the peas");

    page.open(&world.url("/chats/C1")).await.unwrap();
    connected(&page).await;
    page.click(".more summary").await.unwrap();
    page.click(".pop form[action$=pin] button").await.unwrap();
    page.wait_for_text(".chats li:first-child a", "★ plant <b>beans</b>").await.unwrap();
    connected(&page).await;
    picture(&page, "chats").await;

    page.click("#find").await.unwrap();
    page.type_text("peas").await.unwrap();
    page.wait_for("document.querySelectorAll('.chats li:not([hidden])').length === 1", "one chat")
        .await
        .unwrap();
    page.press("Enter", false).await.unwrap();
    page.wait_for_text(".found", "count the peas").await.unwrap();
    assert_eq!(page.count(".found").await.unwrap(), 2, "what was said, and the answer");
    assert!(page.text(".found a").await.unwrap().contains("count the peas"));
    picture(&page, "search").await;
    assert_eq!(page.text(".found mark").await.unwrap(), "peas");
    // All words count, wherever they stand; and a find leads to where it was said.
    page.open(&world.url("/search?q=peas+COUNT")).await.unwrap();
    assert_eq!(page.count(".found").await.unwrap(), 2);
    assert_eq!(page.count(".found mark").await.unwrap(), 4);
    page.click(".found a").await.unwrap();
    page.wait_for("location.pathname === '/chats/C2'", "its chat").await.unwrap();
    let there = "document.querySelector('.entry:target')?.innerText.includes('peas')";
    page.wait_for(there, "the entry").await.unwrap();
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

/// A dot, as a file that an agent sends.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[tokio::test(flavor = "multi_thread")]
async fn pictures_are_shown_in_place() {
    let model = ModelServer::builder().rule(|received| {
        let taken = received.messages().iter().filter(|message| message["role"] == "assistant");
        if !received.tool_names().contains(&"bash")
            || received.last_user_text().starts_with("[task report]")
        {
            return None;
        }
        let make = format!("echo {DOT} | base64 -d > dot.png");
        Some(match taken.count() {
            0 => Reply::tool_call("bash", json!({"command": make})),
            1 => Reply::tool_call("send_file", json!({"path": "dot.png"})),
            _ => Reply::text("It is sent."),
        })
    });
    let world = World::with(model).await;
    let page = world.login().await;
    say(&page, "run: draw a dot").await;
    let drawn = "document.querySelector('a.file img')?.naturalWidth === 1";
    page.wait_for(drawn, "the picture").await.unwrap();
    page.reload().await.unwrap();
    page.wait_for(drawn, "the picture again").await.unwrap();

    // One's own has a preview before it is sent, and in the message.
    let drop = format!(
        "(async () => {{ const bytes = Uint8Array.from(atob('{DOT}'), c => c.charCodeAt(0)); \
         const d = new DataTransfer(); d.items.add(new File([bytes], 'mine.png', {{type: 'image/png'}})); \
         for (const kind of ['dragover', 'drop']) document.body.dispatchEvent(\
         new DragEvent(kind, {{dataTransfer: d, bubbles: true, cancelable: true}})); }})()"
    );
    connected(&page).await;
    page.eval(&drop).await.unwrap();
    page.wait_for("document.querySelector('#uploads img')?.naturalWidth === 1", "a preview")
        .await
        .unwrap();
    page.wait_for("document.querySelector('#uploads .ok')", "the upload").await.unwrap();
    say(&page, "look at mine").await;
    let in_place = "document.querySelector('.person a.file img')?.naturalWidth === 1";
    page.wait_for(in_place, "it in place").await.unwrap();
    // It is still there afterwards, and in other tabs; and can be opened.
    page.reload().await.unwrap();
    page.wait_for(in_place, "it after a reload").await.unwrap();
    let address = page.eval("document.querySelector('.person a.file').href").await.unwrap();
    let headers = "fetch(document.querySelector('.person a.file').href).then(r => \
        [r.status, r.headers.get('content-type'), r.headers.get('x-content-type-options')])";
    assert_eq!(page.eval(headers).await.unwrap(), json!([200, "image/png", "nosniff"]));
    let bob = world.login_as("bob").await;
    let path = address.as_str().unwrap().trim_start_matches(&world.url("")).to_owned();
    assert_eq!(crate::world::status_of(&bob, "GET", &path).await, 403);
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

/// Whatever a person sent they get back as a file, and nothing of it runs as a page of ours.
#[tokio::test(flavor = "multi_thread")]
async fn own_files_come_back_inert() {
    let world = World::start().await;
    let page = world.login().await;
    let send = "fetch('/cells/w1/v1/chats/C1/files?name=' + encodeURIComponent('evil & co.html'), \
        {method: 'POST', body: '<script>1</script>'}).then(r => r.json()).then(f => f.path)";
    let path = page.eval(send).await.unwrap();
    let name = path.as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let read = |name: &str| {
        format!(
            "fetch('/cells/w1/v1/chats/C1/incoming/' + encodeURIComponent({})).then(r => \
             [r.status, r.headers.get('content-type'), (r.headers.get('content-disposition') ?? '').slice(0, 10)])",
            json!(name)
        )
    };
    let found = page.eval(&read(&name)).await.unwrap();
    assert_eq!(found, json!([200, "application/octet-stream", "attachment"]));
    for wrong in ["none.txt", "../history.db", "../../../SOUL.md"] {
        assert_eq!(page.eval(&read(wrong)).await.unwrap()[0], 404, "{wrong}");
    }
}
