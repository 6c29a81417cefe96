use super::*;

#[test]
fn a_name_is_read_as_it_is_written() {
    let name = ClientName { user: UserId::from_number(7), client: ClientId::from_number(12) };
    assert_eq!(name.to_string(), "cloister://user/u7/client/K12");
    assert_eq!(name.to_string().parse(), Ok(name));
}

#[test]
fn nothing_else_is_a_name() {
    let odd = [
        "",
        "cloister://user/u7/client/",
        "cloister://user/u7",
        "cloister://user/u07/client/K1",
        "cloister://user/u7/client/K1/",
        "cloister://user/u7/client/K1?as=u1",
        "cloister://user/u7/client/K1#/client/K2",
        "cloister://user/u7/client/K1/client/K2",
        "cloister://user/u7/../u1/client/K1",
        "cloister://user/u7%2fclient%2fK1",
        "CLOISTER://user/u7/client/K1",
        "cloister://user/U7/client/K1",
        " cloister://user/u7/client/K1",
        "cloister://user/u7/client/K1\0",
        "cloister://user/u1@u7/client/K1",
        "https://user/u7/client/K1",
        "cloister://cell/w7/client/K1",
    ];
    for text in odd {
        assert!(text.parse::<ClientName>().is_err(), "{text:?}");
    }
}
