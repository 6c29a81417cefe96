use super::*;

#[test]
fn cookies_are_named_so_that_instances_do_not_meet() {
    assert_eq!(cookie_name("http://127.0.0.1:8484"), "cloister-8484");
    assert_eq!(cookie_name("http://localhost"), "cloister-80");
    assert_eq!(cookie_name("https://agent.example.com"), "__Host-cloister");
}
