//! What makes the page pleasant to live with: commands as they are typed, notifications, voice notes, errors in words.

use cloister_testkit::{Matcher, ModelServer, Page, Reply};
use serde_json::json;

use crate::tasks::jobs;
use crate::world::{World, answered, connected, picture, say};

async fn value(page: &Page) -> String {
    page.eval("document.querySelector('#text').value").await.unwrap().as_str().unwrap().to_owned()
}

async fn offered(page: &Page) -> u64 {
    page.count("#commands:not([hidden]) li:not([hidden])").await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_completed_by_keyboard_and_mouse() {
    let world = World::start().await;
    let page = world.login().await;
    page.click("#text").await.unwrap();
    page.type_text("/").await.unwrap();
    page.wait_for("!document.querySelector('#commands').hidden", "the commands").await.unwrap();
    assert!(offered(&page).await > 20);
    picture(&page, "commands").await;
    page.type_text("ca").await.unwrap();
    page.wait_for("document.querySelectorAll('#commands li:not([hidden])').length === 1", "one")
        .await
        .unwrap();
    assert_eq!(
        page.eval("document.querySelector('#text').getAttribute('aria-activedescendant')")
            .await
            .unwrap(),
        "command-cancel"
    );
    page.press("Tab", false).await.unwrap();
    assert_eq!(value(&page).await, "/cancel ");
    assert_eq!(offered(&page).await, 0);
    assert_eq!(page.eval("document.activeElement.id").await.unwrap(), "text");

    // Arrows go round; Escape leaves what is typed; Enter takes what is not typed in full.
    page.eval("const t = document.querySelector('#text'); t.value = ''; t.focus(); 0")
        .await
        .unwrap();
    page.type_text("/app").await.unwrap();
    assert_eq!(offered(&page).await, 2);
    let marked = "document.querySelector('#commands [aria-selected=true]').dataset.name";
    assert_eq!(page.eval(marked).await.unwrap(), "approve");
    page.press("ArrowDown", false).await.unwrap();
    assert_eq!(page.eval(marked).await.unwrap(), "approvals");
    page.press("ArrowDown", false).await.unwrap();
    assert_eq!(page.eval(marked).await.unwrap(), "approve");
    page.press("ArrowUp", false).await.unwrap();
    page.press("Escape", false).await.unwrap();
    assert_eq!((offered(&page).await, value(&page).await.as_str()), (0, "/app"));
    page.type_text("r").await.unwrap();
    page.press("ArrowDown", false).await.unwrap();
    page.press("Enter", false).await.unwrap();
    assert_eq!(value(&page).await, "/approvals");
    page.press("Enter", false).await.unwrap();
    page.wait_for_text(".person .text", "/approvals").await.unwrap();
    // What is typed in full is said at once.
    say(&page, "/help").await;
    answered(&page, "Just write what you want").await;
    page.type_text("/netw").await.unwrap();
    page.click("#commands li:not([hidden])").await.unwrap();
    assert_eq!(value(&page).await, "/network");
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());

    // Nobody is offered what is not for them, on a phone nothing leaves the screen.
    let bob = world.login_as("bob").await;
    assert_eq!(
        bob.count("#commands [data-name=stop], #commands [data-name=release]").await.unwrap(),
        0
    );
    assert_eq!(page.count("#commands [data-name=stop]").await.unwrap(), 1);
    bob.resize(360, 740, true).await.unwrap();
    let closed = "getComputedStyle(document.querySelector('#sidebar')).visibility === 'hidden'";
    bob.wait_for(closed, "the drawer to be closed").await.unwrap();
    bob.click("#text").await.unwrap();
    bob.type_text("/").await.unwrap();
    bob.wait_for("!document.querySelector('#commands').hidden", "the commands").await.unwrap();
    let inside = "(() => { const r = document.querySelector('#commands').getBoundingClientRect(); \
         return r.top >= 0 && r.left >= 0 && r.right <= innerWidth; })()";
    assert_eq!(bob.eval(inside).await.unwrap(), true);
    picture(&bob, "phone-commands").await;
}

/// Notifications: none before somebody asked for them, none while they look, and nothing of what was said in them.
#[tokio::test(flavor = "multi_thread")]
async fn notifications_come_after_consent_to_who_looks_elsewhere() {
    let model = ModelServer::builder().when(
        Matcher::coordinator().and(Matcher::last_user_contains("secret")),
        Reply::text("the secret answer"),
    );
    let world = World::with(model).await;
    let page = world.login().await;
    page.eval(
        "window.shown = []; window.asked = 0; \
         window.Notification = class { constructor(title, o) { window.shown.push(title + ': ' + o.body); } close() {} \
           static permission = 'default'; \
           static async requestPermission() { window.asked += 1; return (this.permission = 'granted'); } }; \
         Object.defineProperty(document, 'hidden', {get: () => window.away ?? false, configurable: true}); 0",
    )
    .await
    .unwrap();
    page.eval("window.away = true; 0").await.unwrap();
    say(&page, "secret one").await;
    answered(&page, "the secret answer").await;
    assert_eq!(page.eval("[window.asked, window.shown.length]").await.unwrap(), json!([0, 0]));
    page.click(".more summary").await.unwrap();
    page.click("#notify").await.unwrap();
    page.wait_for("document.querySelector('#notify').ariaPressed === 'true'", "consent")
        .await
        .unwrap();
    picture(&page, "notify").await;
    page.eval("window.away = false; 0").await.unwrap();
    let answers = |n: u32| format!("document.querySelectorAll('.agent .rich').length === {n}");
    say(&page, "secret two").await;
    page.wait_for(&answers(2), "the second answer").await.unwrap();
    assert_eq!(page.eval("window.shown.length").await.unwrap(), 0);
    page.eval("window.away = true; 0").await.unwrap();
    say(&page, "secret three").await;
    page.wait_for(&answers(3), "the third answer").await.unwrap();
    assert_eq!(page.eval("window.shown").await.unwrap(), json!(["Cloister: There is an answer."]));
    assert_eq!(page.eval("window.asked").await.unwrap(), 1);
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

/// On phones only a worker shows notifications: the page has one from the consent on, and not before.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_shows_notifications_where_pages_may_not() {
    let model = ModelServer::builder().when(
        Matcher::coordinator().and(Matcher::last_user_contains("secret")),
        Reply::text("the secret answer"),
    );
    let world = World::with(model).await;
    let page = world.login().await;
    let grant = json!({"origin": world.stack.url(), "permissions": ["notifications"]});
    page.call("Browser.grantPermissions", grant).await.unwrap();
    let phone = "Object.defineProperty(document, 'hidden', {get: () => true, configurable: true}); \
        window.Notification = class { constructor() { throw new TypeError('Illegal constructor'); } \
          static permission = 'granted'; static async requestPermission() { return 'granted'; } }; 0";
    page.eval(phone).await.unwrap();
    let workers = "navigator.serviceWorker.getRegistrations().then(all => all.length)";
    assert_eq!(page.eval(workers).await.unwrap(), 0);
    page.click(".more summary").await.unwrap();
    page.click("#notify").await.unwrap();
    page.wait_for("document.querySelector('#notify').ariaPressed === 'true'", "consent")
        .await
        .unwrap();
    page.press("Escape", false).await.unwrap();
    say(&page, "secret one").await;
    let shown = "navigator.serviceWorker.ready.then(ready => ready.getNotifications()) \
        .then(all => all.map(one => one.title + ': ' + one.body + ' ' + one.data.page).join())";
    page.eval(&format!("setInterval(async () => {{ window.notes = await {shown}; }}, 100); 0"))
        .await
        .unwrap();
    page.wait_for("window.notes === 'Cloister: There is an answer. /chats/C1'", "a notification")
        .await
        .unwrap();
    assert!(page.troubles().is_empty(), "{:?}", page.troubles());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_voice_note_is_recorded_and_sent_as_a_file() {
    let world = World::start().await;
    let page = world.login().await;
    page.click("#voice").await.unwrap();
    page.wait_for("document.querySelector('#voice').ariaPressed === 'true'", "a recording")
        .await
        .unwrap();
    page.wait_for("new Promise(done => setTimeout(() => done(true), 600))", "a moment")
        .await
        .unwrap();
    picture(&page, "voice").await;
    page.click("#voice").await.unwrap();
    page.wait_for("document.querySelector('#uploads .ok')", "the upload").await.unwrap();
    // It is heard before it is sent.
    page.wait_for("document.querySelector('#uploads audio')?.src.startsWith('blob:')", "the note")
        .await
        .unwrap();
    say(&page, "listen to this").await;
    page.wait_for_text(".person .file", "voice-").await.unwrap();
    answered(&page, "listen to this").await;
    let told =
        world.model.requests().iter().any(|seen| seen.body.to_string().contains("audio/webm"));
    assert!(told, "the agent is told that it is a sound");
    page.reload().await.unwrap();
    connected(&page).await;
    page.wait_for("document.querySelector('.person audio')?.readyState >= 0", "a player")
        .await
        .unwrap();
    let incoming = world.stack.data().join("workspaces/w1/chats/C1/incoming");
    let mut sizes =
        std::fs::read_dir(incoming).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
    assert!(sizes.next().unwrap() > 0);
}

/// It can be installed, and an error is a page with words wherever a person meets one.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_installs_and_errors_are_in_words() {
    let world = World::start().await;
    let page = world.login().await;
    let manifest = page.call("Page.getAppManifest", json!({})).await.unwrap();
    assert_eq!(manifest["errors"], json!([]), "{manifest}");
    let data: serde_json::Value = serde_json::from_str(manifest["data"].as_str().unwrap()).unwrap();
    assert_eq!((&data["start_url"], &data["display"]), (&json!("/"), &json!("standalone")));
    let errors = page.call("Page.getInstallabilityErrors", json!({})).await.unwrap();
    assert_eq!(errors["installabilityErrors"], json!([]), "{errors}");
    // Every icon is there, as large as it says; one of them is for masks, and one for phones of Apple's.
    let icons = data["icons"].as_array().unwrap();
    let sizes: Vec<&str> = icons.iter().filter_map(|icon| icon["sizes"].as_str()).collect();
    assert_eq!(sizes, ["any", "192x192", "512x512", "512x512"]);
    assert_eq!(icons.iter().filter(|icon| icon["purpose"] == "maskable").count(), 1);
    let apple = "document.querySelector('link[rel=apple-touch-icon]').getAttribute('href')";
    let apple = json!({"src": page.eval(apple).await.unwrap(), "sizes": "180x180"});
    for icon in icons.iter().chain([&apple]) {
        let drawn = format!(
            "(async () => {{ const image = new Image(); image.src = {}; await image.decode(); return image.naturalWidth + 'x' + image.naturalHeight; }})()",
            icon["src"]
        );
        let drawn = page.eval(&drawn).await.unwrap();
        assert!(icon["sizes"] == "any" || icon["sizes"] == drawn, "{icon}: {drawn}");
    }

    let bob = world.login_as("bob").await;
    for (path, title) in [
        ("/nowhere", "There is nothing here"),
        ("/chats/C99", "There is nothing here"),
        ("/people", "This is not open to you"),
        ("/cells/w1/v1/artifacts/none", "This is not open to you"),
        ("/chats/nonsense", "That did not work"),
        ("/api/v1/sessions", "There is nothing here"),
    ] {
        bob.open(&world.url(path)).await.unwrap();
        assert_eq!(bob.text("h1").await.unwrap(), title, "{path}");
        let shown = bob.text("body").await.unwrap();
        assert!(!shown.contains("cloister ") && !shown.contains('{'), "{path}: {shown}");
        assert_eq!(bob.count("main a[href='/']").await.unwrap(), 1, "{path}");
        assert_eq!(bob.count("nav.places a[href='/approvals']").await.unwrap(), 1, "{path}");
    }
    picture(&bob, "error").await;
    let nobody = world.browser.stranger().await.unwrap();
    nobody.open(&world.url("/cells/w1/v1/artifacts/none")).await.unwrap();
    assert_eq!(nobody.text("h1").await.unwrap(), "You are not logged in");
}

/// A question in one chat is counted at once on the page of another.
#[tokio::test(flavor = "multi_thread")]
async fn the_badge_counts_questions_of_other_chats_as_they_come() {
    let steps = |_: &str| vec![Reply::tool_call("bash", json!({"command": "rm -r old"}))];
    let world = World::with(jobs(steps)).await;
    let page = world.login().await;
    page.click(".sidebar .head button").await.unwrap();
    page.wait_for("location.pathname === '/chats/C1'", "the empty chat").await.unwrap();
    connected(&page).await;
    say(&page, "job:once").await;
    page.wait_for_text(".ask h2", "rm -r old").await.unwrap();
    let other = world.browser.page().await.unwrap();
    other.resize(1280, 800, false).await.unwrap();
    other.open(&world.url("/")).await.unwrap();
    connected(&other).await;
    other.click(".sidebar .head button").await.unwrap();
    other.wait_for("location.pathname === '/chats/C2'", "a new chat").await.unwrap();
    connected(&other).await;
    assert_eq!(other.text("#waiting .count").await.unwrap(), "1");
    page.click(".ask [value=deny_and_stop]").await.unwrap();
    other.wait_for("document.querySelector('#waiting').hidden", "no question").await.unwrap();
    page.wait_for("document.querySelector('#tasks').hidden", "no task").await.unwrap();
    say(&page, "job:again").await;
    other
        .wait_for("document.querySelector('#waiting .count').innerText === '1'", "one")
        .await
        .unwrap();
    other.wait_for("document.title.startsWith('(1) ')", "the title").await.unwrap();
    assert!(page.troubles().is_empty(), "a task's report has no message: {:?}", page.troubles());
}
