//! The style sheet, the script and the icon. Their addresses change with their content, so that a
//! browser keeps them for good.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

struct Asset {
    /// The address below `/static/`.
    name: String,
    mime: &'static str,
    content: &'static str,
}

impl Asset {
    fn new(stem: &str, extension: &str, mime: &'static str, content: &'static str) -> Self {
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
static JS: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("app", "js", "text/javascript; charset=utf-8", include_str!("../../static/app.js"))
});
static ICON: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("icon", "svg", "image/svg+xml", include_str!("../../static/icon.svg"))
});

pub(super) fn css() -> String {
    format!("/static/{}", CSS.name)
}

pub(super) fn js() -> String {
    format!("/static/{}", JS.name)
}

pub(super) fn icon() -> String {
    format!("/static/{}", ICON.name)
}

pub(super) async fn serve(Path(name): Path<String>) -> Response {
    let Some(asset) = [&CSS, &JS, &ICON].into_iter().find(|asset| asset.name == name) else {
        return (StatusCode::NOT_FOUND, "there is no such file\n").into_response();
    };
    let headers = [
        (header::CONTENT_TYPE, asset.mime),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    (headers, asset.content).into_response()
}
