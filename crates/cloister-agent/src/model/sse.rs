//! Server-sent events: bytes in, the data of whole events out.

/// No event is larger than this; what is larger is not an event stream.
const MAX_EVENT_BYTES: usize = 2 << 20;

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("an event is larger than {MAX_EVENT_BYTES} bytes")]
pub(super) struct EventTooLarge;

/// Cuts the stream into events wherever the network cut it.
#[derive(Default)]
pub(super) struct SseParser {
    line: Vec<u8>,
    data: Option<String>,
    /// The last byte was a carriage return: a line feed now belongs to it.
    after_return: bool,
}

impl SseParser {
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, EventTooLarge> {
        let mut events = Vec::new();
        for &byte in bytes {
            let paired = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if paired => {}
                b'\n' | b'\r' => events.extend(self.end_line()),
                _ => self.line.push(byte),
            }
            if self.line.len() > MAX_EVENT_BYTES {
                return Err(EventTooLarge);
            }
        }
        if self.data.as_ref().is_some_and(|data| data.len() > MAX_EVENT_BYTES) {
            return Err(EventTooLarge);
        }
        Ok(events)
    }

    /// The stream is over: a last event may lack its empty line.
    pub(super) fn finish(&mut self) -> Vec<String> {
        let before = self.end_line();
        before.into_iter().chain(self.data.take()).collect()
    }

    fn end_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return self.data.take();
        }
        let value = line.strip_prefix(b"data:")?;
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(&value);
            }
            None => self.data = Some(value.into_owned()),
        }
        None
    }
}

#[cfg(test)]
#[path = "sse_tests.rs"]
mod tests;
