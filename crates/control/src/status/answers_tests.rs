use cloister_protocol::admin::Judgement;

use super::*;

fn lately(good: u64, bad: u64, bad_in_a_row: u64) -> Lately {
    let kind = (bad_in_a_row > 0 || bad > 0).then(|| "no_connection".to_owned());
    Lately { good, bad, bad_in_a_row, kind }
}

/// O1: six failed answers once showed every row ok.
#[test]
fn what_fails_again_and_again_is_not_ok() {
    let cases = [
        (lately(0, 0, 0), Judgement::Ok, "no calls in the last ten minutes"),
        (lately(1, 0, 0), Judgement::Ok, "1 call in the last ten minutes, none failed"),
        (
            lately(5, 1, 0),
            Judgement::Attention,
            "1 of 6 calls failed in the last ten minutes (no connection), the last was good",
        ),
        (
            lately(5, 1, 1),
            Judgement::Attention,
            "1 of 6 calls failed in the last ten minutes; the last failed: no connection",
        ),
        (
            lately(0, 6, 6),
            Judgement::Act,
            "6 of 6 calls failed in the last ten minutes; the last 6 failed: no connection",
        ),
        (
            lately(0, 0, 6),
            Judgement::Act,
            "no calls in the last ten minutes; the last 6 failed: no connection",
        ),
    ];
    for (lately, judgement, words) in cases {
        let line = judged(line("x", "X", in_words(&lately, "call")), &lately, "do it");
        assert_eq!((line.judgement, line.value.as_str()), (judgement, words));
        assert_eq!(line.fix.is_some(), judgement != Judgement::Ok);
    }
}
