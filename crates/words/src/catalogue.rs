//! The catalogues of the languages, read once each when somebody is first spoken to in it.

use std::collections::HashMap;
use std::sync::LazyLock;

use cloister_protocol::Language;

use crate::po::{Entry, read};

/// A part of the product whose sentences stand in files of their own.
pub struct Area {
    pub name: &'static str,
    /// The directories below `crates/` whose code says them.
    pub crates: &'static [&'static str],
    de: &'static str,
    ru: &'static str,
}

impl Area {
    /// What was written in its file of a language; English has none.
    pub const fn file(&self, language: Language) -> Option<&'static str> {
        match language {
            Language::En => None,
            Language::De => Some(self.de),
            Language::Ru => Some(self.ru),
        }
    }
}

macro_rules! area {
    ($name:literal, $crates:expr) => {
        Area {
            name: $name,
            crates: $crates,
            de: include_str!(concat!("../catalogues/", $name, ".de.po")),
            ru: include_str!(concat!("../catalogues/", $name, ".ru.po")),
        }
    };
}

/// All of them. A sentence that two areas say stands in both.
pub const AREAS: [Area; 3] = [
    area!("control", &["control"]),
    area!("web", &["web"]),
    area!("surfaces", &["kit", "matrix", "telegram", "discord", "cloister"]),
];

/// The translations of one language, by the English sentence.
pub(crate) struct Catalogue {
    texts: HashMap<String, Vec<String>>,
}

impl Catalogue {
    fn of(language: Language) -> Self {
        let mut texts = HashMap::new();
        for area in &AREAS {
            let (entries, _) = read(area.file(language).unwrap_or_default());
            for Entry { text, forms, .. } in entries {
                if forms.iter().all(|form| !form.is_empty()) {
                    texts.entry(text).or_insert(forms);
                }
            }
        }
        Self { texts }
    }

    pub(crate) fn text(&self, text: &str) -> Option<&str> {
        self.form(text, 0)
    }

    pub(crate) fn form(&self, text: &str, form: usize) -> Option<&str> {
        Some(self.texts.get(text)?.get(form)?.as_str())
    }
}

static DE: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::of(Language::De));
static RU: LazyLock<Catalogue> = LazyLock::new(|| Catalogue::of(Language::Ru));

/// English needs none: it stands in the code.
pub(crate) fn catalogue(language: Language) -> Option<&'static Catalogue> {
    match language {
        Language::En => None,
        Language::De => Some(&DE),
        Language::Ru => Some(&RU),
    }
}
