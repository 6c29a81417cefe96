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
    content: Cow<'static, [u8]>,
}

impl Asset {
    fn new(
        stem: &str,
        extension: &str,
        mime: &'static str,
        content: impl Into<Cow<'static, [u8]>>,
    ) -> Self {
        let content = content.into();
        let tag = fingerprint(&content);
        Self { name: format!("{stem}.{tag:016x}.{extension}"), mime, content }
    }

    fn address(&self) -> String {
        format!("/static/{}", self.name)
    }
}

/// FNV-1a: tells versions of our own files apart, no more.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

static CSS: LazyLock<Asset> = LazyLock::new(|| {
    let content = include_bytes!("../../static/app.css").as_slice();
    Asset::new("app", "css", "text/css; charset=utf-8", content)
});
/// The script: one for each language, for it says things too.
static JS: LazyLock<Vec<(Language, Asset)>> = LazyLock::new(|| {
    let script = |to| match speaking(to) {
        Cow::Borrowed(script) => Asset::new("app", "js", SCRIPT_TYPE, script.as_bytes()),
        Cow::Owned(script) => Asset::new("app", "js", SCRIPT_TYPE, script.into_bytes()),
    };
    Language::ALL.into_iter().map(|to| (to, script(to))).collect()
});

const SCRIPT_TYPE: &str = "text/javascript; charset=utf-8";
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
    let content = include_bytes!("../../static/icon.svg").as_slice();
    Asset::new("icon", "svg", "image/svg+xml", content)
});

/// The icon as pixels, for who does not draw: `scripts/icons` makes them.
static ICONS: LazyLock<[Asset; 4]> = LazyLock::new(|| {
    let png = |stem, content| Asset::new(stem, "png", "image/png", content);
    [
        png("icon-192", include_bytes!("../../static/icon-192.png").as_slice()),
        png("icon-512", include_bytes!("../../static/icon-512.png").as_slice()),
        png("icon-mask", include_bytes!("../../static/icon-mask.png").as_slice()),
        png("icon-apple", include_bytes!("../../static/icon-apple.png").as_slice()),
    ]
});

/// Installed, it is a window of its own.
static MANIFEST: LazyLock<Asset> = LazyLock::new(|| {
    let [small, large, mask, _apple] = &*ICONS;
    let png = |icon: &Asset, sizes, purpose| serde_json::json!({ "src": icon.address(), "sizes": sizes, "type": icon.mime, "purpose": purpose });
    let manifest = serde_json::json!({
        "id": "/", "name": "Cloister", "short_name": "Cloister", "start_url": "/", "scope": "/",
        "display": "standalone", "background_color": "#faf9f6", "theme_color": "#35604c",
        "icons": [
            { "src": icon(), "sizes": "any", "type": "image/svg+xml", "purpose": "any" },
            png(small, "192x192", "any"), png(large, "512x512", "any"), png(mask, "512x512", "maskable"),
        ],
    });
    Asset::new("app", "webmanifest", "application/manifest+json", manifest.to_string().into_bytes())
});

pub(super) fn css() -> String {
    CSS.address()
}

pub(super) fn js(to: Language) -> String {
    let script = JS.iter().find(|(language, _)| *language == to);
    script.map_or_else(String::new, |(_, script)| script.address())
}

pub(super) fn icon() -> String {
    ICON.address()
}

/// What a phone of Apple's shows of an installed page.
pub(super) fn apple_icon() -> String {
    let [_small, _large, _mask, apple] = &*ICONS;
    apple.address()
}

pub(super) fn manifest() -> String {
    MANIFEST.address()
}

pub(super) async fn serve(Path(name): Path<String>) -> Response {
    let scripts = JS.iter().map(|(_, script)| script);
    let mut all = [&*CSS, &*ICON, &*MANIFEST].into_iter().chain(&*ICONS).chain(scripts);
    let Some(asset) = all.find(|asset| asset.name == name) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, asset.mime),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, asset.content.as_ref()).into_response()
}

/// What shows notifications for a page. Its address never changes, and says by itself for which pages it is.
pub(super) async fn worker() -> Response {
    let headers = [(header::CONTENT_TYPE, SCRIPT_TYPE), (header::CACHE_CONTROL, "no-cache")];
    (headers, include_str!("../../static/worker.js")).into_response()
}
