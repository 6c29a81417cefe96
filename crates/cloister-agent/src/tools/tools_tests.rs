use cloister_protocol::{Answer, ErrorBody, ErrorCode};

use super::*;

#[test]
fn every_tool_has_a_schema_that_names_its_required_fields() {
    for tool in COORDINATOR.iter().chain(EXECUTOR) {
        let schema = (tool.parameters)();
        assert_eq!(schema["type"], "object", "{}", tool.name);
        let properties = schema["properties"].as_object().unwrap();
        for required in schema["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()), "{}", tool.name);
        }
        assert!(!tool.about.is_empty());
    }
}

#[test]
fn wrong_arguments_are_answered_with_what_is_wrong() {
    let Handler::Request(parse) = delegate::TOOL.handler else { panic!() };
    for (arguments, words) in [
        ("{", "EOF"),
        ("[]", "invalid"),
        (r#"{"title":"a"}"#, "missing field `instructions`"),
        (r#"{"title":"a","instructions":"b","when":1}"#, "unknown field `when`"),
    ] {
        let wrong = parse(arguments).unwrap_err();
        assert_eq!(wrong.status, CallStatus::Failed);
        assert!(wrong.output.contains(words), "{arguments}: {}", wrong.output);
    }
}

#[test]
fn replies_are_told_in_words() {
    let error = ErrorBody::new(ErrorCode::Busy, "Too many tasks.");
    let refusal = told(Reply::Refused { error });
    assert_eq!((refusal.status, refusal.output.as_str()), (CallStatus::Refused, "Too many tasks."));
    assert_eq!(told(Reply::Tasks { tasks: Vec::new() }).output, "There are no tasks.");
    assert_eq!(told(Reply::Answered { answer: Answer::Deny }).status, CallStatus::Refused);
}
