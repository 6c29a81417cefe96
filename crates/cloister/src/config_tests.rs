use super::*;

const MANUAL: &str = include_str!("../../../docs/operating.md");

/// The settings as the manual shows them.
fn documented() -> &'static str {
    let (_, rest) = MANUAL.split_once("```toml\n").unwrap();
    rest.split_once("```").unwrap().0
}

#[test]
fn the_manual_shows_the_defaults() {
    let shown: Config = toml::from_str(documented()).unwrap();
    assert_eq!(format!("{shown:#?}"), format!("{:#?}", Config::default()));
}

#[test]
fn the_manual_shows_every_setting() {
    let all = format!("{:#?}", Config::default());
    let names = all.lines().filter_map(|line| line.trim().split_once(':'));
    for (name, _) in names {
        let shown = documented().lines().any(|line| {
            let line = line.trim_start_matches("# ");
            line.starts_with(&format!("{name} = "))
                || line.starts_with(&format!("[{name}]"))
                || line.contains(&format!(".{name}]"))
        });
        assert!(shown, "docs/operating.md does not have {name}");
    }
}

/// A file of settings is taken, or refused with words.
fn settings(text: &str) -> Result<(bool, usize), String> {
    match toml::from_str::<Config>(text) {
        Ok(config) => Ok((true, format!("{config:?}").len() % 32)),
        Err(error) if error.to_string().trim().is_empty() => {
            Err("refused without a word".to_owned())
        }
        Err(error) => Ok((false, error.message().len() % 32)),
    }
}

#[test]
fn fuzz_config() {
    let words = [
        "[cells]\n",
        "[egress]\n",
        "[[",
        "]]",
        " = ",
        "'''",
        "\\u0000",
        "0x",
        "1e400",
        "-1",
        "inf",
        "nan",
        "{}",
        "2026-11-15T00:00:00Z",
        "[limits]\n",
        "executors = ",
        "listen = \"[::]:0\"\n",
        "\"a\".b.c",
    ];
    let lines = documented().lines().filter(|line| line.contains('='));
    let seeds = std::iter::once(documented()).chain(lines);
    cloister_testkit::Fuzz::new("config").seeds(seeds).words(words).run_text(settings).unwrap();
}
