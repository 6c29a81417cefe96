use super::*;

/// D1: the document says what the code does.
#[test]
fn the_committed_document_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == openapi_text(), "docs/openapi.json has drifted: run `make openapi`");
}

#[test]
fn every_call_is_described_once_with_what_it_takes_and_answers() {
    let document = openapi();
    let mut ids = std::collections::BTreeSet::new();
    for route in crate::admin::table() {
        let call = &route.call;
        let method = call.method.as_str().to_ascii_lowercase();
        let operation = &document["paths"][call.path][&method];
        assert_eq!(operation["x-cloister-action"], call.about.action(), "{method} {}", call.path);
        assert!(operation["responses"]["200"]["content"].is_object(), "{method} {}", call.path);
        assert!(ids.insert(operation["operationId"].to_string()), "{}", operation["operationId"]);
        let takes_something = [Method::PUT, Method::PATCH].contains(&call.method);
        assert!(!takes_something || operation["requestBody"].is_object(), "{method} {}", call.path);
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = openapi();
    let text = document.to_string();
    let mut found = 0;
    for part in text.split("\"$ref\":\"#").skip(1) {
        let pointer = part.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
        found += 1;
    }
    assert!(found > 50, "only {found} references");
}
