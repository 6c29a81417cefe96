//! The product with a scripted model behind it: the one world under the end-to-end suites of every surface.
//!
//! A suite adds its platform to it (a homeserver, a bot, a browser) and keeps no other way of starting, asking or
//! waiting. What goes wrong here ends the test with the control plane's log.

use std::future::Future;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::stack::{Stack, StackBuilder};
use crate::{ModelServer, ModelServerBuilder};

/// How long anything may take that a test waits for, on a machine that others use too.
pub const PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// Looks again and again until there is something to see.
///
/// # Panics
/// When there never is.
pub async fn eventually<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look().await {
            return seen;
        }
        assert!(Instant::now() < deadline, "never: {what}");
        sleep(LOOK_EVERY).await;
    }
}

pub struct Product {
    pub stack: Stack,
    pub model: ModelServer,
}

impl Product {
    /// Starts the product and connects this model for both levels.
    ///
    /// # Panics
    /// When it does not start.
    pub async fn start(stack: StackBuilder, model: ModelServerBuilder) -> Self {
        let model = model.start().await.unwrap_or_else(|error| panic!("no model: {error}"));
        let stack = stack.start().await.unwrap_or_else(|error| panic!("no stack: {error}"));
        let used = stack.use_model(&model).await;
        used.unwrap_or_else(|error| panic!("{error}\n{}", stack.log()));
        Self { stack, model }
    }

    /// A command of the command line that must succeed; what it printed.
    ///
    /// # Panics
    /// When it fails.
    pub async fn cli_ok(&self, arguments: &[&str]) -> String {
        let done = self.stack.cli_ok(arguments).await;
        done.unwrap_or_else(|error| panic!("{error}\n{}", self.stack.log()))
    }

    /// The same, as JSON.
    ///
    /// # Panics
    /// When it fails or prints something else.
    pub async fn json(&self, arguments: &[&str]) -> Value {
        let printed = self.cli_ok(&[&["--json"], arguments].concat()).await;
        serde_json::from_str(&printed)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {printed}"))
    }

    /// The budget of a user, once what their answers took is booked, which is a moment after they were told.
    ///
    /// # Panics
    /// When it never is as it should be.
    pub async fn budget(&self, user: &str, booked: impl Fn(&Value) -> bool) -> Value {
        eventually("every call is booked", || async {
            let budget = self.json(&["budget", "show", "--user", user]).await;
            (budget["reserved_usd"] == 0.0 && booked(&budget)).then_some(budget)
        })
        .await
    }

    /// A file that holds a token, as an operator would make it: theirs alone, outside of the data directory.
    ///
    /// # Panics
    /// When it can't be written.
    pub fn token_file(&self, name: &str, token: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let path = self.stack.data().with_file_name(format!("{name}.token"));
        let written = std::fs::write(&path, format!("{token}\n"))
            .and_then(|()| std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }

    /// Makes a user, if there is none of this name, whose account on this surface this is.
    ///
    /// # Panics
    /// When the account can't be linked.
    pub async fn link_account(&self, user: &str, surface: &str, account: &str) {
        // It may be there already.
        let added = self.stack.cli(&["user", "add", user]).await;
        added.unwrap_or_else(|error| panic!("{error}\n{}", self.stack.log()));
        self.cli_ok(&["user", "link", user, "--surface", surface, "--id", account]).await;
    }

    /// A community of which each of these users has the role; its scope.
    ///
    /// # Panics
    /// When it can't be made.
    pub async fn community(&self, name: &str, members: &[(&str, &str)]) -> String {
        let made = self.json(&["workspace", "add", name]).await;
        let scope = format!("workspace:{}", made["id"].as_str().unwrap_or_default());
        for (user, role) in members {
            self.cli_ok(&["role", "give", user, role, "--scope", &scope]).await;
        }
        scope
    }

    /// How the connector of this surface is doing whose account has this in it, as its list says.
    pub async fn connector(&self, surface: &str, account: &str) -> Value {
        let listed = self.json(&[surface, "list"]).await;
        let known = |view: &&Value| view["account"].as_str().is_some_and(|it| it.contains(account));
        let listed = listed.as_array().and_then(|list| list.iter().find(known));
        listed.cloned().unwrap_or_default()
    }

    /// Waits until that connector is in this state.
    ///
    /// # Panics
    /// When it never is, with the log.
    pub async fn until_connector(&self, surface: &str, account: &str, state: &str) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let view = self.connector(surface, account).await;
            if view["state"] == state {
                return view;
            }
            let log = || self.stack.log();
            assert!(Instant::now() < deadline, "it is never {state}: {view:#}\n{}", log());
            sleep(LOOK_EVERY).await;
        }
    }

    /// How many questions wait for somebody.
    pub async fn waiting(&self, user: &str) -> usize {
        self.json(&["task", "approvals", "--user", user]).await.as_array().map_or(0, Vec::len)
    }

    /// What the model was last told by its user, once it was told this.
    pub async fn told_model(&self, words: &str) -> String {
        eventually(&format!("the model is told {words:?}"), || async {
            let requests = self.model.requests();
            requests.iter().rev().map(|r| r.last_user_text()).find(|text| text.contains(words))
        })
        .await
    }

    /// The value of a metric whose line begins like this.
    ///
    /// # Panics
    /// When there are no metrics at all.
    pub async fn metric(&self, line: &str) -> Option<f64> {
        let token = self.stack.operator_token().unwrap_or_else(|error| panic!("{error}"));
        let response = self.stack.http("GET", "/metrics", Some(&token), Vec::new()).await;
        let text = response.unwrap_or_else(|error| panic!("{error}")).text();
        let found = text.lines().find(|known| known.starts_with(line))?;
        found.rsplit(' ').next()?.parse().ok()
    }

    /// What is in the `incoming/` of everybody's chats.
    pub fn incoming(&self) -> Vec<PathBuf> {
        let below = |path: PathBuf| std::fs::read_dir(path).into_iter().flatten().flatten();
        below(self.stack.data().join("workspaces"))
            .flat_map(|workspace| below(workspace.path().join("chats")))
            .flat_map(|chat| below(chat.path().join("incoming")))
            .map(|entry| entry.path())
            .collect()
    }
}

/// Lets a suite's world, which has a `product`, be asked what every world can be asked.
#[macro_export]
macro_rules! world_of_product {
    ($world:ty) => {
        impl std::ops::Deref for $world {
            type Target = $crate::Product;

            fn deref(&self) -> &Self::Target {
                &self.product
            }
        }

        impl std::ops::DerefMut for $world {
            fn deref_mut(&mut self) -> &mut Self::Target {
                &mut self.product
            }
        }
    };
}
