//! The broker's own HTTP clients, to providers, searches and witnesses: what all of them have in common.

/// What such a client is built from; whoever builds it adds its timeouts.
#[expect(clippy::disallowed_methods, reason = "the one place where the broker builds clients")]
pub(crate) fn builder() -> reqwest::ClientBuilder {
    // The program chose it already; a test that starts no program has it too.
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::builder()
        .user_agent("cloister")
        // A redirect would carry the key to somewhere else.
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
}
