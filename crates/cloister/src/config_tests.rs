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

/// Follows from another setting: whether a provider of searches is named.
const NOT_SET_THERE: &str = "web_search";

#[test]
fn the_manual_shows_every_setting() {
    let all = format!("{:#?}", Config::default());
    let names = all.lines().filter_map(|line| line.trim().split_once(':'));
    for (name, _) in names.filter(|(name, _)| *name != NOT_SET_THERE) {
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

#[test]
fn a_surface_of_ones_own_has_a_name_and_a_program() {
    let config: Config = toml::from_str(
        "[connectors.folder]\nprogram = \"/opt/folder\"\noptions = { people = [\"ann\"] }\n",
    )
    .unwrap();
    let (name, own) = config.connectors.iter().next().unwrap();
    assert_eq!((name, own.program.to_str()), ("folder", Some("/opt/folder")));
    assert_eq!(own.options["people"], serde_json::json!(["ann"]));
    let nine: String =
        (0..9).map(|n| format!("[connectors.c{n}]\nprogram = \"/opt/c\"\n")).collect();
    for (wrong, says) in [
        ("[connectors.telegram]\nprogram = \"/opt/t\"\n", "there already"),
        ("[connectors.socket]\nprogram = \"/opt/t\"\n", "there already"),
        ("[connectors.Folder]\nprogram = \"/opt/t\"\n", "small letters"),
        ("[connectors.\"../x\"]\nprogram = \"/opt/t\"\n", "small letters"),
        ("[connectors.folder]\nprogram = \"folder\"\n", "absolute"),
        ("[connectors.folder]\n", "program"),
        ("[connectors.folder]\nprogram = \"/opt/t\"\nport = 1\n", "port"),
        (&nine, "8 are the most"),
    ] {
        let said = Config::check(wrong).unwrap_err();
        assert!(said.contains(says), "{wrong}: {said}");
    }
}

#[test]
fn an_empty_directory_is_no_directory() {
    let refused = data_dir(Some(Path::new(""))).unwrap_err();
    assert_eq!((refused.exit, refused.body.message.as_str()), (USAGE, "--data names no directory"));
}

#[test]
fn kinds_of_values_are_told_in_words() {
    for (text, told) in [
        ("[work]\nmax_steps = \"many\"", "expected a whole number, not negative"),
        ("[admin]\nenabled = 3", "expected true or false"),
    ] {
        let error = Config::check(text).unwrap_err();
        assert!(error.contains(told), "{text}: {error}");
        assert!(!error.contains("u64") && !error.contains("u32"), "{error}");
    }
}
