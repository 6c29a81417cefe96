use serde_json::{Value, json};

use super::super::dialect::worded;
use super::*;

fn model(name: &str, vision: Option<bool>) -> Model {
    let mut model = Model { name: name.to_owned(), ..Model::demo() };
    model.profile.vision = vision;
    model
}

fn request(content: &Value) -> ChatRequest {
    let body = json!({"messages": [
        {"role": "system", "content": "be kind"}, {"role": "user", "content": content}]});
    ChatRequest::parse(body.to_string().as_bytes()).unwrap()
}

fn picture() -> Value {
    json!([
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
    ])
}

fn shown(order: &PictureOrder, to: &Model) -> Value {
    serde_json::from_slice(&worded(&order.for_model(to), to, 9).body).unwrap()
}

#[test]
fn who_may_see_is_asked_before_who_is_known_to_be_blind() {
    let chain = || vec![model("blind", Some(false)), model("new", None), model("sees", Some(true))];
    let names = |chain: Vec<Model>| chain.into_iter().map(|model| model.name).collect::<Vec<_>>();
    assert_eq!(
        names(PictureOrder::of(&request(&picture())).arrange(chain())),
        ["new", "sees", "blind"]
    );
    let words = PictureOrder::of(&request(&json!("hello")));
    assert_eq!(names(words.arrange(chain())), ["blind", "new", "sees"]);
}

#[test]
fn who_is_blind_is_told_that_there_was_a_picture() {
    let order = PictureOrder::of(&request(&picture()));
    let blind = shown(&order, &model("blind", Some(false)));
    assert_eq!(blind["messages"][0]["content"], "be kind");
    assert_eq!(blind["messages"][1]["content"], format!("what is this?\n\n{LEFT_OUT}"));
    for vision in [None, Some(true)] {
        assert_eq!(shown(&order, &model("m", vision))["messages"][1]["content"], picture());
    }
    // It is measured by what it is shown.
    let blind = order.for_model(&model("blind", Some(false)));
    assert!(blind.prompt_tokens_at_most(50_000) < 1_000);
    assert_ne!(blind.print().to_string(), order.whole.print().to_string());
}

#[test]
fn who_refuses_pictures_unexpectedly_is_asked_without() {
    let said = |text: &str| Failure::Status {
        code: 400,
        retry_after: None,
        said: super::super::failure::ProviderSaid(text.to_owned()),
    };
    let order = PictureOrder::of(&request(&picture()));
    let refused = said("image input is not supported");
    assert!(order.after(&model("new", None), &refused).is_some());
    assert!(order.after(&model("sees", Some(true)), &refused).is_none());
    assert!(order.after(&model("new", None), &said("no credit")).is_none());
    assert!(order.after(&model("new", None), &Failure::Cut).is_none());
    let words = PictureOrder::of(&request(&json!("hello")));
    assert!(words.after(&model("new", None), &refused).is_none());
}
