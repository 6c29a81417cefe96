//! A type that does everything says nothing: how many methods one has, and in how many files.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{is_word, product};

const MOST_METHODS: usize = 40;
const MOST_FILES: usize = 9;

/// Types that may have more, how many methods and files, and why.
const ALLOWED: &[(&str, usize, usize, &str)] =
    &[("policy::Parser", 48, 4, "one grammar, a method for each of its rules")];

#[derive(Default)]
struct Extent<'a> {
    methods: usize,
    files: BTreeSet<&'a str>,
}

/// The type that an inherent `impl` at the beginning of a line is of.
fn of_impl(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generics) => generics.split_once("> ")?.1,
        None => rest.strip_prefix(' ')?,
    };
    let name = rest.split(|c| !is_word(c)).next()?;
    (!line.contains(" for ") && !name.is_empty()).then_some(name)
}

fn is_method(line: &str) -> bool {
    let Some(code) = line.strip_prefix("    ").filter(|code| !code.starts_with(' ')) else {
        return false;
    };
    let code = match code.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ").map_or(rest, |(_, code)| code),
        None => code.strip_prefix("pub ").unwrap_or(code),
    };
    let code = code.strip_prefix("const ").unwrap_or(code);
    code.strip_prefix("async ").unwrap_or(code).starts_with("fn ")
}

/// Names that several files of one crate define for themselves, such as `Row`: each is a type of its own.
fn own_names(files: &[(String, String)]) -> BTreeSet<String> {
    let (mut once, mut often) = (BTreeSet::new(), BTreeSet::new());
    for (file, text) in files {
        let of_crate = file.split('/').next().unwrap_or_default();
        for (name, _) in super::names::defined(text) {
            let name = format!("{of_crate}::{name}");
            if !once.insert(name.clone()) {
                often.insert(name);
            }
        }
    }
    often
}

fn extents(files: &[(String, String)]) -> BTreeMap<String, Extent<'_>> {
    let own = own_names(files);
    let mut all: BTreeMap<String, Extent<'_>> = BTreeMap::new();
    for (file, text) in files {
        let of_crate = file.split('/').next().unwrap_or_default();
        let mut current = None;
        for line in text.lines() {
            if let Some(name) = of_impl(line) {
                let name = format!("{of_crate}::{name}");
                current =
                    Some(if own.contains(&name) { format!("{name} of {file}") } else { name });
            } else if line.starts_with('}') {
                current = None;
            } else if let Some(name) = current.as_ref().filter(|_| is_method(line)) {
                let extent = all.entry(name.clone()).or_default();
                extent.methods += 1;
                extent.files.insert(file);
            }
        }
    }
    all
}

#[test]
fn no_type_does_everything() {
    let files = product();
    let all = extents(&files);
    assert!(all.len() > 500, "the walk found only {} types", all.len());
    let too_much: Vec<String> = all
        .iter()
        .filter_map(|(name, extent)| {
            let allowed = ALLOWED.iter().find(|(known, ..)| known == name);
            let (methods, most_files) = allowed
                .map_or((MOST_METHODS, MOST_FILES), |(_, methods, files, _)| (*methods, *files));
            let fits = extent.methods <= methods && extent.files.len() <= most_files;
            let (has, over) = (extent.methods, extent.files.len());
            (!fits).then(|| format!("{name} has {has} methods in {over} files"))
        })
        .collect();
    assert!(too_much.is_empty(), "split these into parts:\n{}", too_much.join("\n"));
    for (name, ..) in ALLOWED {
        assert!(all.contains_key(*name), "{name} is allowed more, and is not there");
    }
}

#[test]
fn methods_are_seen_however_they_are_written() {
    let text = "impl<'a> Thing<'a> {\n    fn one(&self) {\n        fn inner() {}\n    }\n\n    pub(crate) const fn two() {}\n    \
                pub async fn three() {}\n}\n\nimpl Clone for Thing<'_> {\n    fn clone(&self) {}\n}\nimpl Other {\n    pub fn four() {}\n}\n";
    let files = [("kit/src/thing.rs".to_owned(), text.to_owned())];
    let all = extents(&files);
    let counted: Vec<_> =
        all.iter().map(|(name, extent)| (name.as_str(), extent.methods)).collect();
    assert_eq!(counted, [("kit::Other", 1), ("kit::Thing", 3)]);
}
