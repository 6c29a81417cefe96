use super::*;

fn header(template: &str) -> Form {
    Form::Header { name: "x-api-key".into(), template: template.into() }
}

fn bound(form: Form) -> Binding {
    Binding::new(vec!["api.example.org".parse().unwrap()], form).unwrap()
}

#[test]
fn hosts_are_exact() {
    let binding = bound(header("{}"));
    assert!(binding.covers("API.example.org", 443));
    assert!(!binding.covers("api.example.org", 80));
    assert!(!binding.covers("api.example.org.evil.org", 443));
    assert!(!binding.covers("sub.api.example.org", 443));
    for wrong in [
        "",
        "*.example.org",
        "a b",
        "http://a",
        "a/b",
        "-a",
        "a:0",
        "a:99999",
        "a:",
        "a..b",
        "a:+1",
    ] {
        assert!(wrong.parse::<Host>().is_err(), "{wrong:?}");
    }
    assert_eq!("A.example:8443".parse::<Host>().unwrap().to_string(), "a.example:8443");
}

#[test]
fn forms_are_checked_when_they_are_made() {
    let host = || vec!["a.example".parse().unwrap()];
    for wrong in [
        header("no gap"),
        header("{}{}"),
        header("a\r\nb{}"),
        Form::Header { name: "bad name".into(), template: "{}".into() },
        Form::Query { name: String::new() },
        Form::Basic { user: "a:b".into() },
    ] {
        assert!(Binding::new(host(), wrong.clone()).is_err(), "{wrong:?}");
    }
    assert_eq!(Binding::new(Vec::new(), header("{}")), Err(BindingError::Hosts));
    let json = r#"{"hosts":["a.example"],"form":{"header":{"name":"x","template":"none"}}}"#;
    assert!(serde_json::from_str::<Binding>(json).is_err(), "JSON is checked as well");
}

#[test]
fn a_value_takes_its_form() {
    let value: SecretValue = "s3cret".to_owned().into();
    let placed = |form| match bound(form).place(&value).unwrap() {
        Placed::Header { name, value } | Placed::Query { name, value } => {
            (name, String::from_utf8(value.expose().to_vec()).unwrap())
        }
    };
    assert_eq!(placed(header("Bearer {}")), ("x-api-key".into(), "Bearer s3cret".into()));
    assert_eq!(placed(Form::Query { name: "key".into() }), ("key".into(), "s3cret".into()));
    let basic = placed(Form::Basic { user: "ada".into() });
    assert_eq!(basic, ("authorization".into(), "Basic YWRhOnMzY3JldA==".into()));
}

#[test]
fn a_value_can_not_smuggle_a_header() {
    let value: SecretValue = "x\r\nhost: evil".to_owned().into();
    assert_eq!(bound(header("{}")).place(&value).unwrap_err(), BindingError::NotForHeaders);
    let empty: SecretValue = String::new().into();
    assert_eq!(bound(header("{}")).check_value(&empty), Err(BindingError::Length));
}
