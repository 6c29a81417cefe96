//! A file on its way from a platform into a chat, piece by piece: never more of it in memory than one.

use cloister_kit::Patience;
use cloister_kit::fetching::{self, NotFetched, Taking};
use cloister_protocol::Attachment;
use reqwest::Response;

/// Writes down all that comes.
pub(crate) async fn take_in(
    mut response: Response,
    mut taking: Taking,
) -> Result<Attachment, NotFetched> {
    loop {
        let piece = fetching::piece(async {
            let piece = response.chunk().await;
            piece.map_err(|error| NotFetched::passing(error.without_url(), Patience::SOME))
        });
        match piece.await? {
            Some(piece) => taking.take(&piece).await?,
            None => return taking.finish().await,
        }
    }
}
