use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode, header};
use axum::response::Response;
use cloister_control::Actor;
use cloister_store::users::User;
use tower::ServiceExt;

use crate::auth::{new_login_token, new_session_token};
use crate::peer::Peer;
use crate::public_router;
use crate::test_world::World;

/// A browser: its cookies, and the requests that pages make it send.
struct Browser<'a> {
    world: &'a World,
    cookies: Vec<(String, String)>,
}

impl<'a> Browser<'a> {
    fn new(world: &'a World) -> Self {
        Self { world, cookies: Vec::new() }
    }

    async fn logged_in(world: &'a World, user: &User) -> Self {
        let (token, _) =
            new_session_token(world.control(), &Actor::person("test"), user, None).await.unwrap();
        Self { world, cookies: vec![("cloister-8484".to_owned(), token)] }
    }

    fn session(&self) -> Option<&str> {
        let session = self.cookies.iter().find(|(name, _)| name == "cloister-8484");
        session.map(|(_, token)| token.as_str())
    }

    async fn send(&mut self, method: &str, path: &str, site: &str, form: &str) -> Response {
        let cookies: Vec<String> =
            self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "127.0.0.1:8484")
            .header(header::ACCEPT, "text/html")
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(header::COOKIE, cookies.join("; "))
            .header("sec-fetch-site", site)
            .body(Body::from(form.to_owned()))
            .unwrap();
        request.extensions_mut().insert(ConnectInfo(Peer(Some([192, 0, 2, 7].into()))));
        let response = public_router(self.world.state.clone()).oneshot(request).await.unwrap();
        for set in response.headers().get_all(header::SET_COOKIE) {
            let (name, rest) = set.to_str().unwrap().split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        response
    }

    async fn page(&mut self, path: &str, site: &str) -> String {
        let response = self.send("GET", path, site, "").await;
        assert_eq!(response.status(), StatusCode::OK, "{path}");
        let body = axum::body::to_bytes(response.into_body(), 1 << 20).await.unwrap();
        String::from_utf8(body.to_vec()).unwrap()
    }
}

fn field(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("name=\"{name}\" value=\"")).unwrap();
    rest.split('"').next().unwrap().to_owned()
}

/// The link of an attacker, who has an account here too.
async fn link_of(world: &World, user: &User) -> String {
    new_login_token(world.control(), &Actor::person("test"), user).await.unwrap().0
}

/// E75: another site sends the victim's browser to the attacker's own link. Nothing happens but a page that says
/// whose it is, also when the browser is logged in as nobody.
#[tokio::test]
async fn e75_opening_a_link_logs_nobody_in_and_uses_nothing_up() {
    let world = World::new().await;
    world.add("root").await;
    let (ada, mallory) = (world.add("ada").await.user, world.add("mallory").await.user);
    let token = link_of(&world, &mallory).await;
    for path in [format!("/login?token={token}"), format!("/invite?token={token}")] {
        for site in ["cross-site", "same-site", "none", "same-origin"] {
            let before = world.kept();
            let mut stranger = Browser::new(&world);
            let page = stranger.page(&path, site).await;
            assert!(page.contains("Continue as mallory"), "{page}");
            assert_eq!(stranger.session(), None, "{site}");
            let mut victim = Browser::logged_in(&world, &ada).await;
            let own = victim.session().map(str::to_owned);
            let before_victim = world.kept();
            let page = victim.page(&path, site).await;
            assert!(
                page.contains("logged in here as <strong translate=\"no\">ada")
                    && page.contains("Stay ada")
            );
            assert_eq!(victim.session().map(str::to_owned), own, "{site}");
            assert_eq!(before_victim, world.kept(), "{site}");
            assert_ne!(before, world.kept(), "the victim's own session is new");
        }
    }
    let head =
        Browser::new(&world).send("HEAD", &format!("/login?token={token}"), "none", "").await;
    assert_eq!(head.status(), StatusCode::OK);
    let owner =
        world.store().users().login_owner(&cloister_store::tokens::token_hash(&token)).await;
    assert!(owner.unwrap().is_some(), "the link is still good");
}

/// The button works in the browser that was shown the page, for the person it named, and nowhere else.
#[tokio::test]
async fn only_the_page_that_was_shown_logs_in() {
    let world = World::new().await;
    world.add("root").await;
    let (ada, mallory) = (world.add("ada").await.user, world.add("mallory").await.user);
    let token = link_of(&world, &mallory).await;
    let path = format!("/login?token={token}");

    // The attacker reads the page at home, and has a form on it sent from the victim's browser.
    let mut attacker = Browser::new(&world);
    let proof = field(&attacker.page(&path, "none").await, "shown");
    let form = format!("token={token}&shown={proof}");
    for (site, mut victim) in [
        ("cross-site", Browser::new(&world)),
        ("same-site", Browser::new(&world)),
        ("same-origin", Browser::new(&world)),
        ("same-origin", Browser::logged_in(&world, &ada).await),
    ] {
        let before = victim.session().map(str::to_owned);
        let refused = victim.send("POST", "/login", site, &form).await;
        assert_eq!(refused.status(), StatusCode::FORBIDDEN, "{site}");
        assert_eq!(victim.session().map(str::to_owned), before, "{site}");
    }

    // A page that was shown to nobody is not good once somebody is logged in.
    let mut browser = Browser::new(&world);
    let early = field(&browser.page(&path, "none").await, "shown");
    let (session, _) =
        new_session_token(world.control(), &Actor::person("test"), &ada, None).await.unwrap();
    browser.cookies.push(("cloister-8484".to_owned(), session.clone()));
    let form = format!("token={token}&shown={early}");
    let refused = browser.send("POST", "/login", "same-origin", &form).await;
    assert_eq!(refused.status(), StatusCode::FORBIDDEN);
    let said = browser.page(&path, "none").await;
    assert!(said.contains("Switch to mallory"), "{said}");
    let form = format!("token={token}&shown={}", field(&said, "shown"));
    let entered = browser.send("POST", "/login", "same-origin", &form).await;
    assert_eq!(entered.status(), StatusCode::SEE_OTHER);
    assert_ne!(browser.session(), Some(session.as_str()), "a session of its own");
    let ended =
        world.store().users().session_owner(&cloister_store::tokens::token_hash(&session)).await;
    assert!(ended.unwrap().is_none(), "ada's is over");
    // Whoever is in already just goes on.
    let again = browser.send("GET", &path, "none", "").await;
    assert_eq!(again.headers().get(header::LOCATION).unwrap(), "/");
}

/// Whoever tries links that do not work, from however many addresses and from this one too, keeps nobody out whose link
/// works: only what fails is told to wait.
#[tokio::test]
async fn wrong_links_lock_out_nobody_whose_link_works() {
    let world = World::new().await;
    let ada = world.add("ada").await.user;
    for n in 0..400_u32 {
        let network =
            std::net::Ipv6Addr::from_bits((0x2001_0db8_u128 << 96) | (u128::from(n / 10) << 64));
        world.state.logins.failed(Some(network.into()));
    }
    let mut browser = Browser::new(&world);
    let mut last = StatusCode::OK;
    for n in 0..20 {
        last = browser.send("GET", &format!("/login?token=wrong-{n}"), "none", "").await.status();
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS, "guessing is slowed down");
    let long = "x".repeat(5_000);
    let refused = browser.send("GET", &format!("/login?token={long}"), "none", "").await.status();
    assert_eq!(refused, StatusCode::TOO_MANY_REQUESTS);

    let token = link_of(&world, &ada).await;
    let page = browser.page(&format!("/login?token={token}"), "none").await;
    let form = format!("token={token}&shown={}", field(&page, "shown"));
    let entered = browser.send("POST", "/login", "same-origin", &form).await;
    assert_eq!(entered.status(), StatusCode::SEE_OTHER);
    assert!(browser.session().is_some());
}

/// The same for programs, with a login token and with the operator's.
#[tokio::test]
async fn wrong_tokens_lock_out_no_program_whose_token_works() {
    let world = World::new().await;
    let ada = world.add("ada").await.user;
    let open = async |body: String| {
        let mut request = Request::builder()
            .method("POST")
            .uri("/api/v1/sessions")
            .header(header::HOST, "127.0.0.1:8484")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body))
            .unwrap();
        request.extensions_mut().insert(ConnectInfo(Peer(Some([192, 0, 2, 7].into()))));
        public_router(world.state.clone()).oneshot(request).await.unwrap().status()
    };
    let mut last = StatusCode::OK;
    for n in 0..20 {
        last = open(format!(r#"{{"login_token":"wrong-{n}"}}"#)).await;
    }
    assert_eq!(last, StatusCode::TOO_MANY_REQUESTS);
    let token = link_of(&world, &ada).await;
    assert_eq!(open(format!(r#"{{"login_token":"{token}"}}"#)).await, StatusCode::OK);
}
