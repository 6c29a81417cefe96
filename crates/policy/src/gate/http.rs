//! Which requests to hosts outside only ask.

use crate::class::Class;

/// The class of a request by its method and path. Git reads with a POST of its own.
pub fn request_class(method: &str, path: &str) -> Class {
    match method {
        "GET" | "HEAD" => Class::Safe,
        "POST" if path.ends_with("/git-upload-pack") => Class::Safe,
        _ => Class::Outward,
    }
}
