use clap::Parser;

use super::*;
use crate::args::{Args, Command};

fn parse(line: &str) -> Result<Connector, String> {
    let words = ["cloister", "connector"].into_iter().chain(line.split_whitespace());
    match Args::try_parse_from(words) {
        Ok(Args { command: Command::Connector(command), .. }) => Ok(command),
        Ok(other) => panic!("{other:?}"),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn an_account_is_added_to_a_surface_by_its_name() {
    let Connector::Add(add) =
        parse("add folder --account office --address https://a.example.org/ --token-file f")
            .unwrap()
    else {
        panic!("it adds");
    };
    assert_eq!((add.surface.as_str(), add.account.as_str()), ("folder", "office"));
    assert_eq!(add.address.as_deref(), Some("https://a.example.org"));
    assert_eq!(add.token_file, Some(PathBuf::from("f")));
    assert!(parse("add folder").unwrap_err().contains("--account"));
    assert!(parse("add folder --account a --token abc").is_err(), "every process reads it");
    for wrong in ["../models", "Folder", "a/b", "a_b", "twenty-one-characters"] {
        assert!(parse(&format!("add {wrong} --account a")).is_err(), "{wrong}");
    }
}

#[test]
fn what_else_there_is() {
    assert!(
        matches!(parse("list folder").unwrap(), Connector::List { surface } if surface == "folder")
    );
    assert!(matches!(parse("status folder").unwrap(), Connector::Status { account: None, .. }));
    assert!(
        matches!(parse("rm folder office").unwrap(), Connector::Rm { account, .. } if account == "office")
    );
    assert!(parse("list").is_err() && parse("rm folder").is_err());
}
