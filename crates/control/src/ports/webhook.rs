//! What a platform delivers by calling us.

pub use cloister_protocol::surface::WebhookAnswer;

/// One delivery, as it came in. Nobody has checked it: whoever knows the address can send one.
#[derive(Clone, Copy)]
pub struct Webhook<'a> {
    /// The part of the address that tells connectors apart.
    pub name: &'a str,
    /// What the caller gave as proof that it is the platform. The surface compares it, in constant time.
    pub secret_header: Option<&'a str>,
    pub body: &'a [u8],
}

impl std::fmt::Debug for Webhook<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.body.len();
        f.debug_struct("Webhook").field("bytes", &bytes).finish_non_exhaustive()
    }
}
