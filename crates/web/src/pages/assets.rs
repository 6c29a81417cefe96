//! The style sheet, the script, the icon, and what a browser must know to install the page. Their addresses change with their content, so that a
//! browser keeps them for good.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use cloister_protocol::Language;
use cloister_words::text_of;

struct Asset {
    /// The address below `/static/`.
    name: String,
    mime: &'static str,
    content: Cow<'static, str>,
}

impl Asset {
    fn new(
        stem: &str,
        extension: &str,
        mime: &'static str,
        content: impl Into<Cow<'static, str>>,
    ) -> Self {
        let content = content.into();
        let tag = fingerprint(content.as_bytes());
        Self { name: format!("{stem}.{tag:016x}.{extension}"), mime, content }
    }
}

/// FNV-1a: tells versions of our own files apart, no more.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

static CSS: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("app", "css", "text/css; charset=utf-8", include_str!("../../static/app.css"))
});
/// The script: one for each language, for it says things too.
static JS: LazyLock<Vec<(Language, Asset)>> = LazyLock::new(|| {
    let script = |to| Asset::new("app", "js", "text/javascript; charset=utf-8", speaking(to));
    Language::ALL.into_iter().map(|to| (to, script(to))).collect()
});

const SCRIPT: &str = include_str!("../../static/app.js");
/// Where it has its sentences.
const SENTENCES: &str = "const SENTENCES = {};";

/// The script with its sentences in a language; English it has itself.
fn speaking(to: Language) -> Cow<'static, str> {
    if to == Language::En {
        return SCRIPT.into();
    }
    let words: BTreeMap<&str, &str> =
        cloister_words::said_by_script(SCRIPT).map(|text| (text, text_of(to, text))).collect();
    SCRIPT
        .replacen(SENTENCES, &format!("const SENTENCES = {};", serde_json::json!(words)), 1)
        .into()
}
static ICON: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("icon", "svg", "image/svg+xml", include_str!("../../static/icon.svg"))
});

/// Installed, it is a window of its own. The icon is the same at any size.
static MANIFEST: LazyLock<Asset> = LazyLock::new(|| {
    let manifest = serde_json::json!({
        "id": "/", "name": "Cloister", "short_name": "Cloister", "start_url": "/", "scope": "/",
        "display": "standalone", "background_color": "#faf9f6", "theme_color": "#35604c",
        "icons": [{ "src": icon(), "sizes": "any", "type": "image/svg+xml", "purpose": "any" }],
    });
    Asset::new("app", "webmanifest", "application/manifest+json", manifest.to_string())
});

pub(super) fn css() -> String {
    format!("/static/{}", CSS.name)
}

pub(super) fn js(to: Language) -> String {
    let script = JS.iter().find(|(language, _)| *language == to);
    format!("/static/{}", script.map_or("", |(_, script)| &script.name))
}

pub(super) fn icon() -> String {
    format!("/static/{}", ICON.name)
}

pub(super) fn manifest() -> String {
    format!("/static/{}", MANIFEST.name)
}

pub(super) async fn serve(Path(name): Path<String>) -> Response {
    let scripts = JS.iter().map(|(_, script)| script);
    let all = [&*CSS, &*ICON, &*MANIFEST].into_iter().chain(scripts);
    let Some(asset) = all.into_iter().find(|asset| asset.name == name) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, asset.mime),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, asset.content.as_ref()).into_response()
}
