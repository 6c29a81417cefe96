use super::*;

fn sink() -> (Sink, mpsc::Receiver<Piece>) {
    let (pieces, read) = mpsc::channel(16);
    (Sink::new(pieces, Duration::from_secs(1)), read)
}

async fn say(sink: &mut Sink, words: &'static str) {
    assert!(sink.send(Bytes::from_static(words.as_bytes())).await.is_ok());
}

fn passed(read: &mut mpsc::Receiver<Piece>) -> Option<String> {
    match read.try_recv().ok()? {
        Piece::Events(events) => Some(String::from_utf8(events.to_vec()).unwrap()),
        piece => Some(format!("{piece:?}")),
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_words_go_at_once_and_those_right_after_them_together() {
    let (mut sink, mut read) = sink();
    say(&mut sink, "a").await;
    assert_eq!(passed(&mut read).as_deref(), Some("a"));
    assert_eq!(sink.due(), None, "nothing waits");

    say(&mut sink, "b").await;
    say(&mut sink, "c").await;
    assert_eq!(passed(&mut read), None);
    tokio::time::sleep_until(sink.due().unwrap()).await;
    assert!(sink.flush().await.is_ok());
    assert_eq!(passed(&mut read).as_deref(), Some("bc"));

    tokio::time::sleep(GATHER).await;
    say(&mut sink, "d").await;
    assert_eq!(passed(&mut read).as_deref(), Some("d"), "a slow model's words do not wait");
}

#[tokio::test(start_paused = true)]
async fn what_is_gathered_is_bounded_and_keeps_its_order() {
    let (mut sink, mut read) = sink();
    say(&mut sink, "first").await;
    let much = Bytes::from(vec![b'x'; MOST_GATHERED]);
    assert!(sink.send(much.clone()).await.is_ok());
    assert_eq!(passed(&mut read).as_deref(), Some("first"));
    assert_eq!(passed(&mut read).map(|text| text.len()), Some(much.len()));
}

#[tokio::test(start_paused = true)]
async fn another_attempt_says_that_the_words_before_are_void_and_passes_none_of_them() {
    let (mut sink, mut read) = sink();
    say(&mut sink, "a").await;
    say(&mut sink, "b").await;
    sink.begin_attempt();
    say(&mut sink, "again").await;
    let all: Vec<_> = std::iter::from_fn(|| passed(&mut read)).collect();
    assert_eq!(all, ["a", "Restart", "again"]);
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_told_what_for_until_something_of_the_answer_has_come() {
    let (mut sink, mut read) = sink();
    let waiting = say_waiting(sink.pieces.clone(), 2, Arc::clone(&sink.reached));
    let answer = async {
        sleep_until(Instant::now() + Duration::from_secs(15)).await;
        sink.heard();
        sleep_until(Instant::now() + Duration::from_secs(3)).await;
        say(&mut sink, "a").await;
        sleep_until(Instant::now() + Duration::from_secs(60)).await;
    };
    tokio::select! { never = waiting => match never {}, () = answer => {} }
    let all: Vec<_> = std::iter::from_fn(|| passed(&mut read)).collect();
    let reads = "Waiting { attempt: 2, doing: Reads }";
    assert_eq!(all, [reads, reads, "Waiting { attempt: 2, doing: Writes }", "a"]);
}

#[tokio::test(start_paused = true)]
async fn a_model_that_answers_within_a_second_is_not_spoken_of() {
    let (mut sink, mut read) = sink();
    let waiting = say_waiting(sink.pieces.clone(), 1, Arc::clone(&sink.reached));
    let answer = async {
        sleep_until(Instant::now() + Duration::from_millis(900)).await;
        say(&mut sink, "a").await;
        sleep_until(Instant::now() + Duration::from_secs(60)).await;
    };
    tokio::select! { never = waiting => match never {}, () = answer => {} }
    let all: Vec<_> = std::iter::from_fn(|| passed(&mut read)).collect();
    assert_eq!(all, ["a"]);
}
