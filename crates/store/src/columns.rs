//! How rows become types: each field is read from the column of its name.
//!
//! sqlx derives this too, but its derives compile sqlx and SQLite a second time, for the compiler.

/// `from_row!(Type { field, … })`: a field that is left out does not compile.
macro_rules! from_row {
    ($of:ident { $($field:ident),+ $(,)? }) => {
        impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for $of {
            fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, sqlx::Error> {
                Ok(Self { $($field: sqlx::Row::try_get(row, stringify!($field))?),+ })
            }
        }
    };
}

/// Defines the handle of some tables: the database, seen as them.
macro_rules! table {
    ($(#[$doc:meta])* pub struct $name:ident;) => {
        $(#[$doc])*
        #[derive(Clone, Debug, ref_cast::RefCast)]
        #[repr(transparent)]
        pub struct $name {
            pub(crate) store: $crate::db::Store,
        }
    };
}
