use super::*;

#[test]
fn the_gateway_is_where_its_address_says() {
    let at = |host: &str, port, tls| Some(Gateway { host: host.to_owned(), port, tls });
    assert_eq!(gateway("wss://gateway.discord.gg"), at("gateway.discord.gg", 443, true));
    assert_eq!(gateway("wss://gw.discord.gg/?v=10"), at("gw.discord.gg", 443, true));
    assert_eq!(gateway("ws://127.0.0.1:81/x"), at("127.0.0.1", 81, false));
    assert_eq!(gateway("ws://[::1]"), at("[::1]", 80, false));
    assert_eq!(gateway("https://discord.com"), None);
    assert_eq!(gateway("wss://"), None);
    assert_eq!(gateway("ws://host:99999"), None);
}
