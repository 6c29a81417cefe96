//! The product, a scripted model and a browser.

use std::path::Path;

use cloister_testkit::{
    Browser, ModelServer, ModelServerBuilder, Page, Product, Stack, world_of_product,
};
use serde_json::json;

pub(crate) struct World {
    product: Product,
    pub(crate) browser: Browser,
}

world_of_product!(World);

impl World {
    /// With a model that echoes and acts on `run: COMMAND`.
    pub(crate) async fn start() -> Self {
        Self::with(ModelServer::builder()).await
    }

    pub(crate) async fn with(model: ModelServerBuilder) -> Self {
        let product =
            Product::start(Stack::builder().asks_before_deleting().same_port(), model).await;
        let browser = Browser::start().await.unwrap();
        Self { product, browser }
    }

    /// The owner's first tab, logged in, connected.
    pub(crate) async fn login(&self) -> Page {
        let page = self.browser.page().await.unwrap();
        page.resize(1280, 800, false).await.unwrap();
        log_in(&page, self.stack.login_url()).await;
        page
    }

    /// Another person's tab, logged in.
    pub(crate) async fn login_as(&self, user: &str) -> Page {
        self.stack.cli_ok(&["user", "add", user]).await.unwrap();
        let link = self.stack.cli_ok(&["login-url", "--user", user]).await.unwrap();
        let link = link.split_whitespace().find(|word| word.starts_with("http")).unwrap();
        let page = self.browser.stranger().await.unwrap();
        log_in(&page, link).await;
        page
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.stack.url())
    }
}

/// Opens a login link, presses its button, and waits for the chat.
pub(crate) async fn log_in(page: &Page, link: &str) {
    page.open(link).await.unwrap();
    page.click("button.primary").await.unwrap();
    connected(page).await;
}

pub(crate) async fn connected(page: &Page) {
    page.wait_for("document.querySelector('#app')?.dataset.link === 'open'", "a connection")
        .await
        .unwrap();
}

/// Writes a message and sends it with the keyboard.
pub(crate) async fn say(page: &Page, text: &str) {
    page.click("#text").await.unwrap();
    page.wait_for("document.activeElement?.id === 'text'", "the field to be written into")
        .await
        .unwrap();
    page.type_text(text).await.unwrap();
    page.press("Enter", false).await.unwrap();
}

/// Waits for an answer with these words.
pub(crate) async fn answered(page: &Page, words: &str) {
    page.wait_for_text(".agent .rich", words).await.unwrap();
}

/// Keeps a picture where `CLOISTER_SHOTS` says, if it says.
#[expect(clippy::disallowed_methods, reason = "where pictures go is up to who runs the tests")]
pub(crate) async fn picture(page: &Page, name: &str) {
    if let Some(dir) = std::env::var_os("CLOISTER_SHOTS") {
        page.picture(&Path::new(&dir).join(format!("{name}.png"))).await.unwrap();
    }
}

/// The status that the page's own `fetch` gets.
pub(crate) async fn status_of(page: &Page, method: &str, path: &str) -> u64 {
    let fetch = format!(
        "fetch({}, {{method: {}, redirect: 'manual'}}).then(r => r.status)",
        json!(path),
        json!(method)
    );
    page.eval(&fetch).await.unwrap().as_u64().unwrap()
}
