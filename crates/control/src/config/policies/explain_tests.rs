use super::*;

#[test]
fn what_a_request_is_about_is_read_as_people_write_it() {
    let about = |text: &str| About::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let w2 = Some(WorkspaceId::from_number(2));
    let c1 = Some(ChatId::from_number(1));
    let chat = about("workspace:w2/C1");
    assert_eq!((chat.workspace, chat.chat), (w2, c1));
    assert_eq!(about("C1").chat, c1);
    let domain = about("domain:api.example.org");
    assert_eq!((domain.workspace, domain.name.as_deref()), (None, Some("api.example.org")));
    let tool = about("tool:w2/bash");
    assert_eq!((tool.workspace, tool.name.as_deref()), (w2, Some("bash")));
    assert_eq!(about("model:openai/gpt").name.as_deref(), Some("openai/gpt"));
    let context = about("context:w2/general");
    assert_eq!((context.workspace, context.context.as_deref()), (w2, Some("general")));
    assert_eq!(about("platform").scope.as_deref(), Some("platform"));
    for wrong in ["nonsense", "planet:mars", "workspace:mars", "chat:w1/nine"] {
        assert!(About::parse(wrong).is_err(), "{wrong}");
    }
}
