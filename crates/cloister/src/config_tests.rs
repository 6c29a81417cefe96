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
