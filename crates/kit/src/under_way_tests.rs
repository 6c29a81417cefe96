use serde_json::json;

use super::*;

#[tokio::test]
async fn each_answer_reaches_who_asked() {
    let under_way = UnderWay::default();
    let answer = |id, text: &str| under_way.answered(FrameAnswer::new(id, Ok(json!(text))));
    let first = under_way.ask(|_| async { true });
    let second = under_way.ask(|id| async move {
        // The other's comes after this one's, and one that nobody asked for between them.
        answer(id, "second");
        answer(99, "nobody's");
        answer(1, "first");
        true
    });
    let (first, second) = tokio::join!(first, second);
    assert_eq!(first, Ok(Ok(json!("first"))));
    assert_eq!(second, Ok(Ok(json!("second"))));
    assert!(under_way.waiting().is_empty());
}

#[tokio::test]
async fn a_line_that_closes_lets_nobody_wait() {
    let under_way = UnderWay::default();
    assert_eq!(under_way.ask(|_| async { false }).await, Err(LineClosed));
    let asked = under_way.ask(|_| async {
        under_way.closed();
        true
    });
    assert_eq!(asked.await, Err(LineClosed));
    assert!(under_way.waiting().is_empty());
}
