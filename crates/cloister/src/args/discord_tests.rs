use clap::Parser;

use super::*;
use crate::args::{Args, Command};

fn parse(line: &str) -> Result<Discord, String> {
    let words = ["cloister", "discord"].into_iter().chain(line.split_whitespace());
    match Args::try_parse_from(words) {
        Ok(Args { command: Command::Discord(command), .. }) => Ok(command),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_bot_is_added_with_a_file_and_never_with_a_token() {
    let line =
        "add --token-file bot.token --api-url http://127.0.0.1:1 --gateway-url ws://127.0.0.1:2";
    let Discord::Add(add) = parse(line).unwrap() else { panic!("it adds") };
    assert_eq!(add.token_file, PathBuf::from("bot.token"));
    assert_eq!(add.api_url.as_deref(), Some("http://127.0.0.1:1"));
    assert_eq!(add.gateway_url.as_deref(), Some("ws://127.0.0.1:2"));
    assert!(parse("add").unwrap_err().contains("--token-file"));
    assert!(parse("add --token MTIz.a.b").is_err(), "every process reads a command line");
    let said = parse("add --token-file f --gateway-url https://x").unwrap_err();
    assert!(said.contains("wss://"), "{said}");
}

#[test]
fn what_else_there_is() {
    assert!(matches!(parse("list").unwrap(), Discord::List));
    assert!(matches!(parse("status 12").unwrap(), Discord::Status { account: Some(_) }));
    assert!(
        matches!(parse("rm 12").unwrap(), Discord::Rm { account, yes: false } if account == "12")
    );
    let help = parse("--help").unwrap_err();
    for step in
        ["developers/applications", "Message Content Intent", "`pair`", "cloister pair CODE"]
    {
        assert!(help.contains(step), "{step}: {help}");
    }
}

#[test]
fn a_group_is_connected_as_the_help_says() {
    let line = "cloister context add general --in club --surface discord --conversation 123";
    let Ok(Args { command: Command::Context(crate::args::Context::Add(context)), .. }) =
        Args::try_parse_from(line.split_whitespace())
    else {
        panic!("{line} is not understood");
    };
    assert_eq!(context.surface.as_deref(), Some("discord"));
    assert_eq!(context.conversation.as_deref(), Some("123"));
    assert!(parse("--help").unwrap_err().contains("context add general --in COMMUNITY"));
}
