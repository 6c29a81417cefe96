use clap::Parser;

use super::*;
use crate::args::{Args, Command};

fn parse(line: &str) -> Result<Telegram, String> {
    let words = ["cloister", "telegram"].into_iter().chain(line.split_whitespace());
    match Args::try_parse_from(words) {
        Ok(Args { command: Command::Telegram(command), .. }) => Ok(command),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_bot_is_added_with_a_file_and_never_with_a_token() {
    let Telegram::Add(add) = parse(
        "add --token-file bot.token --owner ada --api-url http://127.0.0.1:8081/ --webhook https://a.example.org",
    )
    .unwrap() else {
        panic!("it adds");
    };
    assert_eq!(add.token_file, PathBuf::from("bot.token"));
    assert_eq!(add.owner.unwrap().as_str(), "ada");
    assert_eq!(add.api_url.as_deref(), Some("http://127.0.0.1:8081"));
    assert_eq!(add.webhook.as_deref(), Some("https://a.example.org"));
    assert!(parse("add").unwrap_err().contains("--token-file"));
    assert!(parse("add --token 123:abc").is_err(), "every process reads a command line");
    assert!(parse("add --token-file f --owner no/body").is_err());
    for wrong in ["ftp://x", "https://", "https://a:b@example.org", "example.org"] {
        let said = parse(&format!("add --token-file f --api-url {wrong}")).unwrap_err();
        assert!(said.contains("https://example.org"), "{said}");
    }
}

#[test]
fn what_else_there_is() {
    assert!(matches!(parse("list").unwrap(), Telegram::List));
    assert!(matches!(parse("status").unwrap(), Telegram::Status { account: None }));
    assert!(
        matches!(parse("rm @ourbot").unwrap(), Telegram::Rm { account, yes: false } if account == "@ourbot")
    );
    assert!(parse("rm").is_err());
    let help = parse("--help").unwrap_err();
    for step in ["@BotFather", "cloister telegram add --token-file", "`pair`", "cloister pair CODE"]
    {
        assert!(help.contains(step), "{step}: {help}");
    }
}

#[test]
fn a_group_is_connected_as_the_help_says() {
    let line = "cloister context add general --in club --surface telegram --conversation -100123";
    let Ok(Args { command: Command::Context(crate::args::Context::Add(context)), .. }) =
        Args::try_parse_from(line.split_whitespace())
    else {
        panic!("{line} is not understood");
    };
    assert_eq!(context.surface.as_deref(), Some("telegram"));
    assert_eq!(context.conversation.as_deref(), Some("-100123"));
    assert!(parse("--help").unwrap_err().contains("context add general --in COMMUNITY"));
}
