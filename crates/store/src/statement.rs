//! A statement that borrows nothing: it can be handed to whoever has the connection.

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, TryStreamExt};
use sqlx::error::BoxDynError;
use sqlx::sqlite::{Sqlite, SqliteArguments, SqliteQueryResult, SqliteRow, SqliteStatement};
use sqlx::{AssertSqlSafe, Either, Execute, Executor, SqlSafeStr, SqlStr, SqliteConnection};

/// What a statement brings: rows, and at its end how many it has changed.
pub(crate) type StatementStep = Either<SqliteQueryResult, SqliteRow>;

pub(crate) struct Owned {
    sql: SqlStr,
    arguments: Option<SqliteArguments>,
    persistent: bool,
    /// Only its first row is wanted.
    first: bool,
}

impl Owned {
    /// A statement whose every row is wanted.
    pub(crate) fn all<'q>(query: impl Execute<'q, Sqlite>) -> Result<Self, sqlx::Error> {
        Self::of(query, false)
    }

    /// A statement of which only the first row is wanted.
    pub(crate) fn first<'q>(query: impl Execute<'q, Sqlite>) -> Result<Self, sqlx::Error> {
        Self::of(query, true)
    }

    fn of<'q>(mut query: impl Execute<'q, Sqlite>, first: bool) -> Result<Self, sqlx::Error> {
        let arguments = query.take_arguments().map_err(sqlx::Error::Encode)?;
        let persistent = query.persistent();
        Ok(Self { sql: query.sql(), arguments, persistent, first })
    }

    /// Whether only its first row is wanted.
    pub(crate) const fn is_first(&self) -> bool {
        self.first
    }

    /// The same with other statements before and after it, which have no arguments. All rows are fetched.
    pub(crate) fn between(self, before: &'static str, after: &'static str) -> Self {
        let sql = format!("{before}{}{after}", self.sql.as_str());
        Self { sql: AssertSqlSafe(sql).into_sql_str(), first: false, ..self }
    }

    /// Runs it to its end.
    pub(crate) fn run(
        self,
        connection: &mut SqliteConnection,
    ) -> BoxFuture<'_, Result<Vec<StatementStep>, sqlx::Error>> {
        async move {
            if self.first {
                let row = connection.fetch_optional(self).await?;
                return Ok(row.map(Either::Right).into_iter().collect());
            }
            connection.fetch_many(self).try_collect().await
        }
        .boxed()
    }
}

/// Lets sqlx hand its statements to whoever runs them elsewhere: `run` takes one that borrows nothing, and brings what
/// it found. Nobody else's type can be made an executor once for all, so each is made one with the same words.
macro_rules! executes_by_running {
    ($of:lifetime, $runs:ty) => {
        impl<$of> ::sqlx::Executor<$of> for $runs {
            type Database = ::sqlx::sqlite::Sqlite;

            fn fetch_many<'e, 'q: 'e, E>(
                self,
                query: E,
            ) -> ::futures_util::stream::BoxStream<
                'e,
                Result<$crate::statement::StatementStep, ::sqlx::Error>,
            >
            where
                $of: 'e,
                E: 'q + ::sqlx::Execute<'q, ::sqlx::sqlite::Sqlite>,
            {
                use ::futures_util::{StreamExt as _, TryStreamExt as _};
                let statement = $crate::statement::Owned::all(query);
                let found = async move { self.run(statement).await };
                ::futures_util::stream::once(found)
                    .map_ok(|steps| ::futures_util::stream::iter(steps).map(Ok))
                    .try_flatten()
                    .boxed()
            }

            fn fetch_optional<'e, 'q: 'e, E>(
                self,
                query: E,
            ) -> ::futures_util::future::BoxFuture<
                'e,
                Result<Option<::sqlx::sqlite::SqliteRow>, ::sqlx::Error>,
            >
            where
                $of: 'e,
                E: 'q + ::sqlx::Execute<'q, ::sqlx::sqlite::Sqlite>,
            {
                let statement = $crate::statement::Owned::first(query);
                Box::pin(async move { self.run(statement).await.map($crate::statement::first_row) })
            }

            fn prepare_with<'e>(
                self,
                _sql: ::sqlx::SqlStr,
                _parameters: &'e [::sqlx::sqlite::SqliteTypeInfo],
            ) -> ::futures_util::future::BoxFuture<
                'e,
                Result<::sqlx::sqlite::SqliteStatement, ::sqlx::Error>,
            >
            where
                $of: 'e,
            {
                Box::pin(::futures_util::future::ready(Err($crate::statement::only_run())))
            }
        }
    };
}
pub(crate) use executes_by_running;

/// A statement belongs to a connection, and no connection leaves its task.
pub(crate) fn only_run() -> sqlx::Error {
    sqlx::Error::Protocol("statements are run here, not prepared or described".to_owned())
}

/// The first row of what a statement brought.
pub(crate) fn first_row(steps: Vec<StatementStep>) -> Option<SqliteRow> {
    steps.into_iter().find_map(Either::right)
}

impl Execute<'_, Sqlite> for Owned {
    fn sql(self) -> SqlStr {
        self.sql
    }

    fn statement(&self) -> Option<&SqliteStatement> {
        None
    }

    fn take_arguments(&mut self) -> Result<Option<SqliteArguments>, BoxDynError> {
        Ok(self.arguments.take())
    }

    fn persistent(&self) -> bool {
        self.persistent
    }
}
