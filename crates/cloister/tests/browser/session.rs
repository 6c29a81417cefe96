use serde_json::json;

use crate::world::{World, answered, connected, picture, say, status_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_login_link_works_once_and_its_cookie_is_out_of_reach() {
    let world = World::start().await;
    let stranger = world.browser.stranger().await.unwrap();
    stranger.open(&world.url("/chats/C1")).await.unwrap();
    assert_eq!(stranger.eval("location.pathname").await.unwrap(), "/login");
    assert_eq!(status_of(&stranger, "GET", "/chats/C1/older?inbox=1&outbox=1").await, 401);
    picture(&stranger, "login").await;

    // A preview does not use the link up.
    let path = world.stack.login_url().strip_prefix(&world.stack.url()).unwrap();
    let preview = world.stack.http("HEAD", path, None, Vec::new()).await.unwrap();
    assert_eq!(preview.status, 200);

    let page = world.login().await;
    assert_eq!(page.eval("location.pathname").await.unwrap(), "/chats/C1");
    assert_eq!(page.eval("document.cookie").await.unwrap(), "");
    let cookies = page.cookies().await.unwrap();
    let [cookie] = cookies.as_slice() else { panic!("{cookies:?}") };
    assert_eq!(cookie["httpOnly"], true);
    assert_eq!(cookie["sameSite"], "Lax");
    assert_eq!(cookie["path"], "/");
    // The link does its work for who is in already, and for nobody else.
    page.open(world.stack.login_url()).await.unwrap();
    assert_eq!(page.eval("location.pathname").await.unwrap(), "/chats/C1");
    stranger.open(world.stack.login_url()).await.unwrap();
    stranger.wait_for_text("h1", "This link does not work").await.unwrap();
    picture(&stranger, "spent-link").await;

    // A tab that is logged out by another one can do nothing any more.
    let other = world.browser.page().await.unwrap();
    other.open(&world.url("/")).await.unwrap();
    connected(&other).await;
    other.click(".places button").await.unwrap();
    other.wait_for("location.pathname === '/login'", "the login page").await.unwrap();
    assert!(other.cookies().await.unwrap().is_empty());
    page.wait_for("location.pathname === '/login'", "the login page").await.unwrap();
    assert_eq!(world.model.request_count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_survives_a_preview() {
    let world = World::start().await;
    world.stack.cli_ok(&["user", "add", "bob"]).await.unwrap();
    let link = world.stack.cli_ok(&["login-url", "--user", "bob"]).await.unwrap();
    let link = link.split_whitespace().find(|word| word.starts_with("http")).unwrap();
    let invite = link.replace("/login?", "/invite?");
    let page = world.browser.stranger().await.unwrap();
    for _ in 0..2 {
        page.open(&invite).await.unwrap();
        page.wait_for_text("h1", "bob").await.unwrap();
    }
    picture(&page, "invite").await;
    page.click("button.primary").await.unwrap();
    page.wait_for("location.pathname === '/chats/C1'", "the chat").await.unwrap();
    let late = world.browser.stranger().await.unwrap();
    late.open(&invite).await.unwrap();
    late.wait_for_text("h1", "This link does not work").await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_is_slowed_down() {
    let world = World::start().await;
    let mut seen = Vec::new();
    for n in 0..12 {
        let path = format!("/login?token=guess{n}");
        seen.push(world.stack.http("GET", &path, None, Vec::new()).await.unwrap().status);
    }
    assert_eq!(seen[..10], [401; 10]);
    assert_eq!(seen[10..], [429; 2]);
    let body = json!({"login_token": "guess"}).to_string().into_bytes();
    let api = world.stack.http("POST", "/api/v1/sessions", None, body).await.unwrap();
    assert_eq!(api.status, 429);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_origin_can_change_nothing() {
    let world = World::start().await;
    let own = world.login().await;
    // Another port of this machine is another origin, but the same site: it is sent the cookie.
    let page = world.browser.page().await.unwrap();
    page.open(&format!("http://{}/", world.model.address())).await.unwrap();
    let socket =
        format!("{}/cells/w1/v1/agent_ws/C1/", world.stack.url().replacen("http", "ws", 1));
    let opens = format!(
        "new Promise(r => {{ const s = new WebSocket({socket:?}); s.onopen = () => r('open'); s.onerror = () => r('refused'); }})"
    );
    assert_eq!(page.eval(&opens).await.unwrap(), "refused");
    assert_eq!(own.eval(&opens).await.unwrap(), "open");

    let posts = [
        ("/chats", "title=evil"),
        ("/chats/C1", "id=x1&text=evil"),
        ("/chats/C1/rename", "title=evil"),
        ("/logout", ""),
        ("/cells/w1/v1/chats/C1/files?name=evil.txt", "evil"),
    ];
    for (path, body) in posts {
        page.eval(&format!(
            "fetch({:?}, {{method: 'POST', mode: 'no-cors', credentials: 'include', body: {body:?}, \
             headers: {{'content-type': 'application/x-www-form-urlencoded'}}}}).then(() => 0, () => 0)",
            world.url(path)
        ))
        .await
        .unwrap();
    }
    // A form that is submitted by hand, too.
    page.eval(&format!(
        "(() => {{ const f = document.createElement('form'); f.method = 'post'; f.action = {:?}; \
         f.innerHTML = '<input name=title value=evil>'; document.body.append(f); f.submit(); }})()",
        world.url("/chats")
    ))
    .await
    .unwrap();
    page.wait_for_text("body", "does not come from a page of this server").await.unwrap();

    own.reload().await.unwrap();
    connected(&own).await;
    assert_eq!(own.count(".chats li").await.unwrap(), 1);
    assert!(!own.text("body").await.unwrap().contains("evil"));
    let incoming = world.stack.data().join("workspaces/w1/chats/C1/incoming");
    let files = std::fs::read_dir(incoming).map(Iterator::count).unwrap_or(0);
    assert_eq!(files, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_reaches_what_is_another_users() {
    let world = World::start().await;
    let owner = world.login().await;
    say(&owner, "my secret plan").await;
    answered(&owner, "echo: my secret plan").await;
    owner.click(".sidebar .head button").await.unwrap();
    owner.wait_for("location.pathname === '/chats/C2'", "a second chat").await.unwrap();

    let bob = world.login_as("bob").await;
    assert!(!bob.text("body").await.unwrap().contains("secret"));
    for (method, path, expected) in [
        ("GET", "/chats/C2", 404),
        ("GET", "/chats/C2/older?inbox=99&outbox=99", 404),
        ("GET", "/chats/C1/message/t-m1", 200),
        ("POST", "/chats/C2/rename", 415),
        ("GET", "/cells/w1/v1/artifacts/anything", 403),
        ("POST", "/cells/w1/v1/chats/C1/files?name=x", 403),
        ("GET", "/cells/w1/v1/agent_ws/C1/", 403),
        ("GET", "/people", 403),
        ("GET", "/model", 403),
        ("GET", "/status", 403),
    ] {
        assert_eq!(status_of(&bob, method, path).await, expected, "{method} {path}");
    }
    let places = bob.text(".places").await.unwrap();
    assert!(!places.contains("People") && places.contains("Log out bob"), "{places}");
}

/// A name in any script is shown on the page and told to the agent; the user's own stays their id.
#[tokio::test(flavor = "multi_thread")]
async fn people_are_called_by_a_name_in_any_script() {
    let world = World::start().await;
    let page = world.login().await;
    page.open(&world.url("/start")).await.unwrap();
    page.click("input[name=display_name]").await.unwrap();
    page.type_text("Мария ☼").await.unwrap();
    page.click("button.primary").await.unwrap();
    connected(&page).await;
    page.wait_for_text("#greeting", "Hello, Мария ☼").await.unwrap();
    page.wait_for_text("nav.places", "Log out Мария ☼").await.unwrap();
    say(&page, "hello").await;
    answered(&page, "hello").await;
    let told = "You talk with Мария ☼";
    assert!(world.model.requests().iter().any(|seen| seen.body.to_string().contains(told)));

    let bob = world.login_as("bob").await;
    page.open(&world.url("/people/bob")).await.unwrap();
    page.click("input[name=display_name]").await.unwrap();
    page.type_text("鮑勃").await.unwrap();
    page.press("Enter", false).await.unwrap();
    page.wait_for_text("h1", "鮑勃 (bob)").await.unwrap();
    page.open(&world.url("/people")).await.unwrap();
    assert!(page.text("tbody").await.unwrap().contains("鮑勃"));
    bob.reload().await.unwrap();
    bob.wait_for_text("#greeting", "Hello, 鮑勃").await.unwrap();
}

/// Each role is offered what its calls allow, and nothing that would be refused.
#[tokio::test(flavor = "multi_thread")]
async fn roles_are_offered_what_their_calls_allow() {
    let world = World::start().await;
    let ann = world.login_as("ann").await;
    world.stack.cli_ok(&["role", "give", "ann", "admin", "--scope", "platform"]).await.unwrap();
    ann.open(&world.url("/people")).await.unwrap();
    ann.click("input[name=name]").await.unwrap();
    ann.type_text("zoe").await.unwrap();
    ann.press("Enter", false).await.unwrap();
    ann.wait_for_text("[role=status]", "zoe is added.").await.unwrap();
    // A link for who is there already would let its holder in as them.
    assert_eq!(ann.count("tbody form").await.unwrap(), 0);
    ann.open(&world.url("/people/zoe")).await.unwrap();
    assert_eq!(ann.count("form[action$='/limits']").await.unwrap(), 1);
    assert_eq!(ann.count("form[action$='/remove']").await.unwrap(), 0);
    let roles = ann.text("select[name=role]").await.unwrap();
    assert!(roles.contains("member") && !roles.contains("overlord"), "{roles}");
    ann.open(&world.url("/model")).await.unwrap();
    assert_eq!(ann.text("h1").await.unwrap(), "Model");
    assert_eq!(ann.count("form[action='/model']").await.unwrap(), 0);

    world.stack.cli_ok(&["role", "take", "ann", "admin", "--scope", "platform"]).await.unwrap();
    world.stack.cli_ok(&["role", "give", "ann", "operator", "--scope", "platform"]).await.unwrap();
    ann.open(&world.url("/people")).await.unwrap();
    assert_eq!(ann.count("form[action='/people/invite']").await.unwrap(), 0);
    ann.open(&world.url("/people/zoe")).await.unwrap();
    assert_eq!(ann.count("form[action$='/limits']").await.unwrap(), 1);
    assert_eq!(ann.count("form[action$='/roles']").await.unwrap(), 0);
}
