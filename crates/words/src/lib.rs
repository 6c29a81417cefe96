//! What the product says to people, in their language.
//!
//! Owns: the catalogues (`catalogues/*.po`, in gettext's form, so that every translator's tool reads them), and how a
//! sentence is found there and filled in. The English sentence stands in the code, where it is said: `say!`, `count!`
//! and `noted!`. Promises: a sentence that a catalogue lacks is said in English; what is filled in is never read as a
//! sentence. That nothing is lacking, and that every translation names what its sentence names, is held by a test of
//! the tree (`testkit/tests/tree/words.rs`), which also writes what is new into the catalogues (`make words`).

mod catalogue;
mod fill;
mod po;
mod resaid;
mod script;

pub use catalogue::{AREAS, Area};
pub use cloister_protocol::Language;
pub use fill::{count_of, names_all, number, sentence, text_of};
pub use po::{Entry, Flaw, read, write};
pub use resaid::resaid;
pub use script::said_by_script;

/// A sentence in somebody's language: `say!(to, "There is no chat {id}.", id = chat.id)`; `id` alone means `id = id`.
#[macro_export]
macro_rules! say {
    ($to:expr, $text:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        const { assert!($crate::names_all($text, &[$(stringify!($name)),*]), "the sentence names other things than are given") };
        $crate::sentence($to, $text, &[$((stringify!($name), $crate::given!($name $($value)?))),*])
    }};
}

/// A sentence about a number of things, which it calls `{n}`:
/// `count!(to, files, "{n} file in {chat}", "{n} files in {chat}", chat = id)`.
#[macro_export]
macro_rules! count {
    ($to:expr, $n:expr, $one:literal, $many:literal $(, $name:ident $(= $value:expr)?)* $(,)?) => {{
        const { assert!($crate::names_all($many, &["n" $(, stringify!($name))*]), "the sentence names other things than are given") };
        $crate::count_of($to, $crate::number($n), ($one, $many), &[$((stringify!($name), $crate::given!($name $($value)?))),*])
    }};
}

/// What stands for a name in a sentence.
#[doc(hidden)]
#[macro_export]
macro_rules! given {
    ($name:ident) => {
        &$name as &dyn ::core::fmt::Display
    };
    ($name:ident $value:expr) => {
        &$value as &dyn ::core::fmt::Display
    };
}

/// A text that stands in the catalogues and is looked up later, with [`text_of`]: for tables.
#[macro_export]
macro_rules! noted {
    ($text:literal) => {
        $text
    };
}
