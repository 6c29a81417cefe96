//! One tab.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::BrowserError;
use super::cdp::Connection;

const PATIENCE: Duration = Duration::from_secs(40);
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// A tab, as a person and their assistive technology meet it.
pub struct Page {
    connection: Connection,
    session: String,
}

impl Page {
    pub(super) async fn new(connection: Connection, session: String) -> Result<Self, BrowserError> {
        let page = Self { connection, session };
        for domain in ["Page", "Runtime", "Network", "Log", "DOM"] {
            page.call(&format!("{domain}.enable"), json!({})).await?;
        }
        Ok(page)
    }

    /// A command of the DevTools protocol.
    pub async fn call(&self, method: &str, params: Value) -> Result<Value, BrowserError> {
        self.connection.call(Some(&self.session), method, params).await
    }

    /// Opens an address and waits until the page is there.
    pub async fn open(&self, url: &str) -> Result<(), BrowserError> {
        self.eval("window.__before = true; 0").await?;
        self.call("Page.navigate", json!({"url": url})).await?;
        self.wait_for(
            "!window.__before && document.readyState === 'complete'",
            &format!("{url} to load"),
        )
        .await
    }

    pub async fn reload(&self) -> Result<(), BrowserError> {
        self.eval("window.__before = true; 0").await?;
        self.call("Page.reload", json!({})).await?;
        self.wait_for("!window.__before && document.readyState === 'complete'", "a reload").await
    }

    /// The value of an expression in the page.
    pub async fn eval(&self, expression: &str) -> Result<Value, BrowserError> {
        let params = json!({
            "expression": expression,
            "awaitPromise": true,
            "returnByValue": true,
            "userGesture": true,
        });
        let answer = self.call("Runtime.evaluate", params).await?;
        if let Some(thrown) = answer.get("exceptionDetails") {
            return Err(BrowserError::Threw(thrown.to_string()));
        }
        Ok(answer.pointer("/result/value").cloned().unwrap_or_default())
    }

    /// Waits until an expression is true.
    pub async fn wait_for(&self, expression: &str, what: &str) -> Result<(), BrowserError> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            // While a page is being replaced it can't be asked.
            let seen = self.eval(&format!("Boolean({expression})")).await;
            if matches!(seen, Ok(Value::Bool(true))) {
                return Ok(());
            }
            if Instant::now() > give_up {
                let shown = match seen {
                    Err(error) => error.to_string(),
                    Ok(_) => self.text("body").await.unwrap_or_default(),
                };
                return Err(BrowserError::NotSeen { what: what.to_owned(), shown });
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until these words can be seen in the first element that fits.
    pub async fn wait_for_text(&self, selector: &str, words: &str) -> Result<(), BrowserError> {
        let (selector, text) = (json!(selector), json!(words));
        let seen = format!(
            "[...document.querySelectorAll({selector})].some(e => e.innerText.includes({text}))"
        );
        self.wait_for(&seen, &format!("{words:?} in {selector}")).await
    }

    /// What a person reads in an element.
    pub async fn text(&self, selector: &str) -> Result<String, BrowserError> {
        let read = format!("document.querySelector({})?.innerText ?? ''", json!(selector));
        Ok(self.eval(&read).await?.as_str().unwrap_or_default().to_owned())
    }

    pub async fn count(&self, selector: &str) -> Result<u64, BrowserError> {
        let count = format!("document.querySelectorAll({}).length", json!(selector));
        Ok(self.eval(&count).await?.as_u64().unwrap_or(0))
    }

    /// Clicks where a person would: in the middle of the element, with the mouse.
    pub async fn click(&self, selector: &str) -> Result<(), BrowserError> {
        // Where it stands, once it stood there before too and is what a pointer meets there: a page that is still
        // being laid out moves things away from under it.
        let place = format!(
            "(() => {{ const e = document.querySelector({}); if (!e) return null; \
             e.scrollIntoView({{block: 'nearest'}}); const r = e.getBoundingClientRect(); \
             if (!r.width) return null; const at = [r.x + r.width / 2, r.y + r.height / 2]; \
             const before = e.stoodAt; e.stoodAt = at; const met = document.elementFromPoint(...at); \
             return before && before[0] === at[0] && before[1] === at[1] && met && (e.contains(met) || met.contains(e)) \
             ? at : null; }})()",
            json!(selector)
        );
        let (x, y) = self.place(&place, selector).await?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event).await?;
        }
        Ok(())
    }

    /// Where an expression finds something, as soon as it does.
    async fn place(&self, expression: &str, what: &str) -> Result<(f64, f64), BrowserError> {
        let give_up = Instant::now() + PATIENCE;
        loop {
            // While a page is being replaced it can't be asked.
            let place = self.eval(expression).await.unwrap_or_default();
            let at = |index: usize| place.get(index).and_then(Value::as_f64);
            if let (Some(x), Some(y)) = (at(0), at(1)) {
                return Ok((x, y));
            }
            if Instant::now() > give_up {
                return Err(BrowserError::NoElement(what.to_owned()));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Types into whatever has the focus.
    pub async fn type_text(&self, text: &str) -> Result<(), BrowserError> {
        self.call("Input.insertText", json!({"text": text})).await.map(drop)
    }

    /// Presses one key: `Enter`, `Tab`, `Escape`, an arrow; with Shift if asked.
    pub async fn press(&self, key: &str, shift: bool) -> Result<(), BrowserError> {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            "Escape" => (27, ""),
            "ArrowUp" => (38, ""),
            "ArrowDown" => (40, ""),
            _ => (0, key),
        };
        for kind in ["keyDown", "keyUp"] {
            let mut event = json!({
                "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code,
                "modifiers": if shift { 8 } else { 0 },
            });
            if kind == "keyDown" && !text.is_empty() {
                event["text"] = text.into();
            }
            self.call("Input.dispatchKeyEvent", event).await?;
        }
        Ok(())
    }

    /// Makes the tab the size of a screen.
    pub async fn resize(&self, width: u32, height: u32, phone: bool) -> Result<(), BrowserError> {
        let size = json!({
            "width": width, "height": height, "deviceScaleFactor": if phone { 2 } else { 1 },
            "mobile": phone,
        });
        self.call("Emulation.setDeviceMetricsOverride", size).await.map(drop)
    }

    /// Prefers `dark` or `light`.
    pub async fn prefer_scheme(&self, scheme: &str) -> Result<(), BrowserError> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features).await.map(drop)
    }

    /// Keeps a picture of what can be seen.
    pub async fn picture(&self, path: &Path) -> Result<(), BrowserError> {
        let answer = self.call("Page.captureScreenshot", json!({"format": "png"})).await?;
        let data = answer.get("data").and_then(Value::as_str).unwrap_or_default();
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(data)
            .map_err(|error| BrowserError::Connection(error.to_string()))?;
        std::fs::write(path, bytes).map_err(BrowserError::Start)
    }

    /// Every address that this tab has asked for.
    pub fn requested(&self) -> Vec<String> {
        let url = |event: Value, pointer: &str| {
            event.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let requests = self.connection.events(&self.session, "Network.requestWillBeSent");
        let sockets = self.connection.events(&self.session, "Network.webSocketCreated");
        requests
            .into_iter()
            .map(|event| url(event, "/request/url"))
            .chain(sockets.into_iter().map(|event| url(event, "/url")))
            .collect()
    }

    /// What went wrong in the page: exceptions and console errors.
    pub fn troubles(&self) -> Vec<String> {
        let thrown = self.connection.events(&self.session, "Runtime.exceptionThrown");
        let logged = self.connection.events(&self.session, "Log.entryAdded");
        let is_error =
            |event: &Value| event.pointer("/entry/level").and_then(Value::as_str) == Some("error");
        thrown
            .into_iter()
            .chain(logged.into_iter().filter(is_error))
            .map(|e| e.to_string())
            .collect()
    }

    /// Whether a script opened a dialog.
    pub fn dialogs(&self) -> usize {
        self.connection.events(&self.session, "Page.javascriptDialogOpening").len()
    }

    /// The cookies that this tab would send.
    pub async fn cookies(&self) -> Result<Vec<Value>, BrowserError> {
        let answer = self.call("Network.getCookies", json!({})).await?;
        Ok(answer.get("cookies").and_then(Value::as_array).cloned().unwrap_or_default())
    }

    /// The tree that assistive technology reads: role and name of each node that has a role.
    pub async fn accessible(&self) -> Result<Vec<(String, String)>, BrowserError> {
        self.call("Accessibility.enable", json!({})).await?;
        let answer = self.call("Accessibility.getFullAXTree", json!({})).await?;
        let nodes = answer.get("nodes").and_then(Value::as_array).cloned().unwrap_or_default();
        let text = |node: &Value, pointer: &str| {
            node.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Ok(nodes
            .iter()
            .filter(|node| node.get("ignored") != Some(&Value::Bool(true)))
            .map(|node| (text(node, "/role/value"), text(node, "/name/value")))
            .collect())
    }
}
