use axum::response::IntoResponse;
use cloister_protocol::ErrorCode;

use super::*;
use crate::reply::Failure;

fn shown(failure: Failure) -> String {
    let response = in_words(failure.into_response(), None, Language::En);
    assert!(is_page(&response));
    explained_text(response)
}

fn explained_text(response: Response) -> String {
    let body = axum::body::to_bytes(response.into_body(), 1 << 20);
    let bytes = tokio::runtime::Runtime::new().unwrap().block_on(body).unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn people_are_told_no_commands_and_no_causes() {
    let missing = Failure::new(ErrorCode::NotFound, "there is no chat C9 here");
    let text = shown(missing.fix("`cloister chat list` shows them"));
    assert!(text.contains("There is nothing here") && text.contains("no chat C9"), "{text}");
    assert!(!text.contains("cloister chat"), "{text}");
    let text = shown(Failure::new(ErrorCode::Internal, "disk on fire: /var/secret"));
    assert!(text.contains("whoever runs this machine"), "{text}");
    assert!(!text.contains("/var/secret"), "{text}");
}

#[test]
fn what_has_no_words_of_its_own_gets_some_and_pages_stay() {
    let rejected = in_words(
        (StatusCode::UNSUPPORTED_MEDIA_TYPE, "Form requests must").into_response(),
        None,
        Language::En,
    );
    assert_eq!(rejected.status(), StatusCode::UNSUPPORTED_MEDIA_TYPE);
    assert!(explained_text(rejected).contains("Go back and try again"));
    let own =
        in_words((StatusCode::NOT_FOUND, html! { "mine" }).into_response(), None, Language::En);
    assert_eq!(explained_text(own), "mine");
    let fine = in_words("fine".into_response(), None, Language::En);
    assert!(!is_page(&fine));
}
