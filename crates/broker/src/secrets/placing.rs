//! Handles on a request: where they stand, whether they may stand there, and the value in their place.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cloister_policy::egress::{Destination, one_query};
use cloister_vault::{Form, Placed, SecretName, SecretValue};

use super::handle::handles_in;
use super::shelf::Usable;

/// A request on its way out, whole.
pub(crate) struct Going<'a> {
    pub(crate) to: &'a Destination,
    /// Nobody on the way can read it, or the operator answers for the way.
    pub(crate) secure: bool,
    pub(crate) parts: &'a Parts,
    pub(crate) body: &'a [u8],
}

/// A secret whose handle is where it belongs.
pub(crate) struct Borne<'a> {
    pub(crate) secret: &'a Usable,
}

/// A handle that is where none belongs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Misplaced {
    /// No secret of this door: somebody else's, an old one, or a guess.
    Unknown,
    Misused {
        name: SecretName,
        why: String,
    },
}

/// The secrets that a request asks for; each handle on it must be one of this door's, and in its place.
pub(crate) fn find<'a>(
    usable: &'a [Usable],
    going: &Going<'_>,
) -> Result<Vec<Borne<'a>>, Misplaced> {
    let mut search = Search { usable, found: Vec::new() };
    search.nowhere_in(going.parts.method.as_str().as_bytes(), "the method")?;
    search.nowhere_in(going.parts.uri.path().as_bytes(), "the path")?;
    search.in_query(going.parts.uri.query().unwrap_or_default())?;
    for (name, value) in &going.parts.headers {
        search.nowhere_in(name.as_str().as_bytes(), "the name of a header")?;
        search.in_header(name, value)?;
    }
    search.nowhere_in(going.body, "the body")?;
    search.found.into_iter().map(|secret| allowed(secret, going)).collect()
}

/// Refuses any handle in a text that goes out: it is no request that could bear a secret.
pub(crate) fn nowhere(usable: &[Usable], text: &[u8]) -> Result<(), Misplaced> {
    Search { usable, found: Vec::new() }.nowhere_in(text, "a search")
}

fn allowed<'a>(secret: &'a Usable, going: &Going<'_>) -> Result<Borne<'a>, Misplaced> {
    let Destination { host, port, .. } = going.to;
    let misused = |why: String| Err(Misplaced::Misused { name: secret.name.clone(), why });
    if !secret.binding.covers(host.as_str(), *port) {
        return misused(format!("it belongs to {}", secret.hosts()));
    }
    if !going.secure {
        return misused("it goes over https only".to_owned());
    }
    Ok(Borne { secret })
}

struct Search<'a> {
    usable: &'a [Usable],
    /// Each once, in the order of the request.
    found: Vec<&'a Usable>,
}

impl<'a> Search<'a> {
    fn known(&self, handle: &[u8]) -> Result<&'a Usable, Misplaced> {
        let known = self.usable.iter().find(|secret| secret.handle.as_str().as_bytes() == handle);
        known.ok_or(Misplaced::Unknown)
    }

    /// Where no secret belongs.
    fn nowhere_in(&self, bytes: &[u8], place: &str) -> Result<(), Misplaced> {
        match handles_in(bytes).next() {
            None => Ok(()),
            Some(handle) => Err(misplaced(self.known(handle)?, place)),
        }
    }

    fn in_query(&mut self, query: &str) -> Result<(), Misplaced> {
        for pair in query.split('&') {
            for handle in handles_in(pair.as_bytes()) {
                let secret = self.known(handle)?;
                if secret.query_pair().as_deref() != Some(pair) {
                    return Err(misplaced(secret, "the address"));
                }
                self.add(secret);
            }
        }
        Ok(())
    }

    fn in_header(&mut self, name: &HeaderName, value: &HeaderValue) -> Result<(), Misplaced> {
        let login = login_in(value);
        let in_login = login.as_deref().into_iter().flat_map(handles_in);
        for handle in handles_in(value.as_bytes()).chain(in_login) {
            let secret = self.known(handle)?;
            if !secret.is_on(name, value) {
                return Err(misplaced(secret, &format!("the header {name}")));
            }
            self.add(secret);
        }
        Ok(())
    }

    fn add(&mut self, secret: &'a Usable) {
        if !self.found.iter().any(|known| known.name == secret.name) {
            self.found.push(secret);
        }
    }
}

fn misplaced(secret: &Usable, place: &str) -> Misplaced {
    let why = format!("it is used as {}, not in {place}", secret.binding.form());
    Misplaced::Misused { name: secret.name.clone(), why }
}

/// What a basic login says.
fn login_in(value: &HeaderValue) -> Option<Vec<u8>> {
    let (scheme, login) = value.to_str().ok()?.split_once(' ')?;
    let login = scheme.eq_ignore_ascii_case("basic").then_some(login)?;
    STANDARD.decode(login.trim()).ok()
}

impl Usable {
    /// The header that stands for the secret.
    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let handle = SecretValue::from(self.handle.as_str().to_owned());
        match self.binding.place(&handle).ok()? {
            Placed::Header { name, value } => {
                let value = HeaderValue::from_bytes(value.expose()).ok()?;
                Some((name.parse().ok()?, value))
            }
            Placed::Query { .. } => None,
        }
    }

    fn query_pair(&self) -> Option<String> {
        match self.binding.form() {
            Form::Query { name } => one_query(&format!("{name}={}", self.handle.as_str())),
            Form::Header { .. } | Form::Basic { .. } => None,
        }
    }

    fn is_on(&self, name: &HeaderName, value: &HeaderValue) -> bool {
        self.header().is_some_and(|(own, handle)| own == *name && handle == *value)
    }

    /// A text with the name in place of the handle.
    fn named_in(&self, text: &str) -> String {
        text.replace(self.handle.as_str(), &format!("[secret {}]", self.name))
    }

    /// Puts the handle where it belongs, as a program would.
    pub(crate) fn put_handle(&self, parts: &mut Parts) {
        if let Some((name, value)) = self.header() {
            parts.headers.insert(name, value);
        } else if let Some(pair) = self.query_pair() {
            let before = parts.uri.query().map(|query| format!("{query}&")).unwrap_or_default();
            replace_query(parts, &format!("{before}{pair}"));
        }
    }
}

/// The query with names in place of handles: the same whichever door it is asked at.
pub(crate) fn shown_query(query: Option<&str>, borne: &[Borne<'_>]) -> Option<String> {
    let mut query = query?.to_owned();
    for Borne { secret } in borne {
        query = secret.named_in(&query);
    }
    Some(query)
}

/// The headers as the program chose them, but for those that bear a secret.
pub(crate) fn shown_headers(parts: &Parts, borne: &[Borne<'_>]) -> Vec<(String, String)> {
    let bears = |name: &HeaderName, value: &HeaderValue| {
        borne.iter().any(|borne| borne.secret.is_on(name, value))
    };
    let shown = parts.headers.iter().filter(|(name, value)| !bears(name, value));
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    shown.map(|(name, value)| (name.to_string(), text(value))).collect()
}

/// What goes on the wire beside the method, the path and the body.
pub(crate) struct Fields {
    /// With names in place of secrets.
    pub(crate) query: Option<String>,
    pub(crate) headers: HeaderMap,
}

/// Puts a value where its handle was. What is put there does not print.
pub(crate) fn put(to: &mut Fields, secret: &Usable, placed: &Placed) -> Result<(), NotPlaced> {
    match placed {
        Placed::Header { name, value } => {
            let name: HeaderName = name.parse().map_err(|_invalid| NotPlaced)?;
            let mut value =
                HeaderValue::from_bytes(value.expose()).map_err(|_invalid| NotPlaced)?;
            value.set_sensitive(true);
            to.headers.insert(name, value);
        }
        Placed::Query { name, value } => {
            let pair = secret.query_pair().ok_or(NotPlaced)?;
            // No query of a program's has a blank in it.
            let pair = secret.named_in(&pair);
            let value: String = url::form_urlencoded::byte_serialize(value.expose()).collect();
            let query = to.query.as_deref().ok_or(NotPlaced)?;
            let swapped = query
                .split('&')
                .map(|held| if held == pair { format!("{name}={value}") } else { held.to_owned() });
            to.query = Some(swapped.collect::<Vec<_>>().join("&"));
        }
    }
    Ok(())
}

/// The value could not be put on the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret can't be put on this request")]
pub(crate) struct NotPlaced;

fn replace_query(parts: &mut Parts, query: &str) {
    let path = parts.uri.path();
    let mut uri = parts.uri.clone().into_parts();
    if let Ok(path_and_query) = format!("{path}?{query}").parse() {
        uri.path_and_query = Some(path_and_query);
    }
    if let Ok(uri) = Uri::from_parts(uri) {
        parts.uri = uri;
    }
}
