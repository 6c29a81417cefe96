//! What of an answer is made known to control: where it came from, and the text in which links may be.

use axum::http::{HeaderMap, header};
use bytes::BytesMut;
use cloister_control::books::Fingerprint;
use cloister_control::ports::{CameIn, ContentPart, ContentSource};

use super::gate::Gate;
use super::headers::is_encoded;
use super::stopped::Failure;

/// How much of what a repository offers is told; what is beyond that is not known to be offered.
const OFFERED_BYTES: usize = 4 << 20;

/// What an answer is one to.
pub(super) struct Answered {
    /// With names in place of secrets.
    pub(super) url: String,
    /// The git repository that says what it offers.
    pub(super) repository: Option<String>,
}

/// Tells control of one answer: at its beginning, and of its text and what it was as a whole before its end
/// is handed over.
pub(super) struct AnswerContent {
    source: ContentSource,
    text: BytesMut,
    /// How much of the text is told; none of what is no text.
    room: usize,
    told: bool,
    print: Fingerprint,
}

impl AnswerContent {
    /// To be called before the first byte is handed over; without it nothing is.
    pub(super) async fn begin(
        gate: &Gate,
        of: Answered,
        headers: &HeaderMap,
        most: usize,
    ) -> Result<Self, Failure> {
        let Answered { url, repository } = of;
        // Where an answer leads to is the first thing in it that may be followed.
        let leads = leads_to(&url, headers).unwrap_or_default();
        let begins = ContentSource::Web { url: url.clone() };
        let part = ContentPart::Begins;
        gate.came_in(CameIn { source: begins, text: leads.into(), part }).await?;
        let (source, room) = match repository {
            Some(place) if !is_encoded(headers) => {
                (ContentSource::Repository { place }, OFFERED_BYTES)
            }
            _ if is_text(headers) => (ContentSource::Web { url }, most),
            _ => (ContentSource::Web { url }, 0),
        };
        let print = Fingerprint::default();
        Ok(Self { source, text: BytesMut::new(), room, told: room == 0, print })
    }

    /// Takes what is about to be handed over.
    pub(super) async fn take(&mut self, gate: &Gate, data: &[u8]) -> Result<(), Failure> {
        self.print.take(data);
        if self.told {
            return Ok(());
        }
        let room = self.room - self.text.len();
        self.text.extend_from_slice(data.get(..room.min(data.len())).unwrap_or_default());
        if data.len() < room {
            return Ok(());
        }
        self.told = true;
        self.tell(gate, ContentPart::Text).await
    }

    /// Tells what has come; to be called before the end is handed over.
    pub(super) async fn end(&mut self, gate: &Gate) -> Result<(), Failure> {
        self.told = true;
        let whole = ContentPart::Whole(std::mem::take(&mut self.print));
        self.tell(gate, whole).await
    }

    async fn tell(&mut self, gate: &Gate, part: ContentPart) -> Result<(), Failure> {
        let source = self.source.clone();
        let text = std::mem::take(&mut self.text).freeze();
        gate.came_in(CameIn { source, text, part }).await
    }
}

/// The whole address that an answer leads to.
fn leads_to(url: &str, headers: &HeaderMap) -> Option<String> {
    let location = headers.get(header::LOCATION)?.to_str().ok()?;
    let joined = url::Url::parse(url).ok()?.join(location).ok()?;
    Some(joined.to_string())
}

/// What may hold links in the clear.
fn is_text(headers: &HeaderMap) -> bool {
    let value = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = value(header::CONTENT_TYPE).to_ascii_lowercase();
    let words = ["text/", "json", "xml", "javascript", "yaml", "x-www-form-urlencoded"];
    !is_encoded(headers) && (kind.is_empty() || words.iter().any(|word| kind.contains(word)))
}
