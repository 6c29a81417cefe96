//! A file that is to be sent, read piece by piece from the control plane.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cloister_protocol::surface::{FileToSend, ReadFile};

use crate::error::PlaneError;
use crate::plane::Plane;

pub struct Reading {
    plane: Plane,
    file: u64,
    at: u64,
}

impl Reading {
    pub fn of(plane: &Plane, file: &FileToSend) -> Self {
        Self { plane: plane.clone(), file: file.file, at: 0 }
    }

    /// The next piece; none at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<u8>>, PlaneError> {
        let piece = self.plane.call(ReadFile { file: self.file, from: self.at }).await?;
        let bytes = STANDARD.decode(piece).map_err(PlaneError::no_answer)?;
        self.at = self.at.saturating_add(bytes.len() as u64);
        Ok(Some(bytes).filter(|bytes| !bytes.is_empty()))
    }

    /// All of it, up to a limit.
    pub async fn whole(mut self, most: u64) -> Result<Vec<u8>, PlaneError> {
        let mut all = Vec::new();
        while let Some(piece) = self.next().await? {
            all.extend_from_slice(&piece);
            if all.len() as u64 > most {
                let message = "the file grew while it was read";
                return Err(PlaneError::refused(cloister_protocol::ErrorCode::TooLarge, message));
            }
        }
        Ok(all)
    }
}
