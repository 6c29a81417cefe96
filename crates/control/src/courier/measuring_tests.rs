use cloister_store::connectors::ConnectorId;

use super::super::fake::{Fake, LONGEST, shown_length};
use super::super::split::split;
use super::*;

async fn pieces(surface: &Fake, text: &str) -> Vec<String> {
    let work = |limit: &Limit<'_>| -> Vec<String> {
        split(text, limit).iter().map(|piece| piece.markdown()).collect()
    };
    with_lengths(surface, work).await.unwrap()
}

/// What a surface counts in its own way is split as it counts: nothing is lost, and everything fits.
#[tokio::test]
async fn a_surface_that_counts_by_itself_is_asked() {
    let surface = Fake::new(ConnectorId::from_number(1)).asked();
    let text = "** a long answer with stars ** ".repeat(40);
    let pieces = pieces(&surface, &text).await;
    assert_eq!(pieces.concat(), text);
    assert!(pieces.len() > text.len() / LONGEST, "{} pieces", pieces.len());
    for piece in &pieces {
        assert!(shown_length(piece) <= LONGEST, "{} in {piece:?}", shown_length(piece));
    }
}

/// What can be counted here needs nobody.
#[tokio::test]
async fn a_plain_count_needs_no_question() {
    let surface = Fake::new(ConnectorId::from_number(1));
    let text = "word ".repeat(100);
    let pieces = pieces(&surface, &text).await;
    assert_eq!(pieces.concat(), text);
    assert!(pieces.iter().all(|piece| piece.len() <= LONGEST));
}
