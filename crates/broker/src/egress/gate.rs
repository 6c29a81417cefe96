//! Who may go where: the decision, its place in the audit trail, and who hears of a refusal.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use cloister_control::books::Entry;
use cloister_control::ports::{CameIn, Clearance, Egress, Gated, LinkSide, Outward, Principal};
use cloister_control::{Books, Metrics};
use cloister_policy::egress::{Access, Allowlist, Decision, Destination, Host};
use cloister_protocol::with_causes;
use cloister_vault::SecretName;

use super::dial::Dialer;
use super::refusals::{Listing, Refusals};
use super::stopped::{Denied, Failure, RefusalKind, Stopped};

/// Hosts that one door may open. More are an attempt to say something with their names.
const OPENED_HOSTS: usize = 2_000;

/// What a door was opened with.
enum Manifest {
    Closed,
    Open { only: Option<Allowlist>, reads_only: bool },
}

/// The gate of one door.
pub(super) struct Gate {
    books: Books,
    metrics: Arc<Metrics>,
    who: Principal,
    manifest: Manifest,
    link: Arc<dyn LinkSide>,
    refusals: Refusals,
    /// The user's rules as they were read last, so that the same text is not parsed again.
    parsed: Mutex<(Vec<String>, Arc<Allowlist>)>,
    opened: Mutex<HashSet<String>>,
    opening: tokio::sync::Mutex<()>,
}

impl Gate {
    pub(super) fn new(
        books: Books,
        metrics: Arc<Metrics>,
        who: Principal,
        egress: Egress,
        link: Arc<dyn LinkSide>,
    ) -> Self {
        let manifest = match egress {
            Egress::Closed => Manifest::Closed,
            Egress::Open { only, reads_only, secrets: _ } => {
                Manifest::Open { only: only.as_deref().map(Allowlist::parse), reads_only }
            }
        };
        Self {
            books,
            metrics,
            who,
            manifest,
            link,
            refusals: Refusals::default(),
            parsed: Mutex::default(),
            opened: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        }
    }

    /// Decides one request by the rules as they are now.
    pub(super) async fn decide(&self, to: &Destination, method: &str) -> Result<(), Denied> {
        self.with_access(to, |access| access.decide(to, method)).await?;
        self.metrics.egress(true, "rule");
        Ok(())
    }

    /// Decides whether a tunnel is worth opening; each request in it is decided again.
    pub(super) async fn decide_origin(&self, to: &Destination) -> Result<(), Denied> {
        self.with_access(to, |access| access.decide_origin(to)).await
    }

    async fn with_access(
        &self,
        to: &Destination,
        decide: impl FnOnce(Access<'_>) -> Decision + Send,
    ) -> Result<(), Denied> {
        let Manifest::Open { only, reads_only } = &self.manifest else {
            return Err(self.closed(&to.authority()));
        };
        let user = self.user_rules(to).await?;
        let access = Access { user: &user, only: only.as_ref(), reads_only: *reads_only };
        match decide(access) {
            Decision::Allow => Ok(()),
            Decision::Deny(denial) => Err(Denied::by_policy(to, denial)),
        }
    }

    /// Whether the provider of searches may be asked, which the operator chose and no rule names.
    pub(super) fn decide_search(&self, provider: &str) -> Result<(), Denied> {
        match &self.manifest {
            Manifest::Closed => Err(self.closed(provider)),
            Manifest::Open { only: Some(_), .. } => {
                let reason = "this task was given its own hosts, and searches are not among them";
                Err(Denied::new("outside_task", provider, reason))
            }
            Manifest::Open { only: None, .. } => {
                self.metrics.egress(true, "search");
                Ok(())
            }
        }
    }

    fn closed(&self, host: &str) -> Denied {
        let reason = "nothing goes out through this door";
        Denied::new("closed", host, reason).fix("Delegate what needs the network to a task.")
    }

    async fn user_rules(&self, to: &Destination) -> Result<Arc<Allowlist>, Denied> {
        let rules = self.books.egress_rules(self.who.user).await.map_err(|error| {
            tracing::error!(error = with_causes(&error), user = %self.who.user, "the rules of a user could not be read");
            Denied::new("internal", &to.authority(), "the rules could not be read")
        })?;
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        if parsed.0 != rules {
            let list = Arc::new(Allowlist::parse(&rules));
            *parsed = (rules, list);
        }
        Ok(Arc::clone(&parsed.1))
    }

    /// Puts the first request to a host into the audit trail. No entry, no request.
    pub(super) async fn open(&self, host: &str) -> Result<(), Denied> {
        if self.is_open(host)? {
            return Ok(());
        }
        let _one_at_a_time = self.opening.lock().await;
        if self.is_open(host)? {
            return Ok(());
        }
        let entry = Entry::of_cell((self.who.workspace, self.who.task), "egress.open", host)
            .with(self.place());
        self.books.record(entry).await.map_err(|error| {
            tracing::error!(
                error = with_causes(&error),
                "egress could not be audited and is refused"
            );
            Denied::new("internal", host, "it could not be put into the audit trail")
        })?;
        self.lock_opened().insert(host.to_owned());
        Ok(())
    }

    fn is_open(&self, host: &str) -> Result<bool, Denied> {
        let opened = self.lock_opened();
        if opened.contains(host) {
            return Ok(true);
        }
        if opened.len() >= OPENED_HOSTS {
            let reason = "this task has gone to too many different hosts";
            return Err(Denied::new("too_many_hosts", host, reason));
        }
        Ok(false)
    }

    fn lock_opened(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets control decide about a request that the rules allow, before anything of it is sent. What is
    /// returned is what may be sent, and nothing else is.
    pub(super) async fn ask(
        &self,
        mut outward: Outward,
        dialer: &Dialer,
    ) -> Result<Clearance, Stopped> {
        let host = outward.to.authority();
        let mut gated = self.link.gate(outward.clone()).await;
        if gated == Gated::LookUp {
            outward.addresses = Some(dialer.find(&outward.to, self.who.workspace).await?);
            gated = self.link.gate(outward).await;
        }
        match gated {
            Gated::Go(clearance) => Ok(clearance),
            Gated::LookUp => {
                let reason = "where it is could not be recorded";
                Err(Denied::new("internal", &host, reason).into())
            }
            Gated::Refused { reason, approval: None } => {
                Err(Denied::new("gate", &host, reason).into())
            }
            Gated::Refused { reason, approval: Some(approval) } => {
                let reason = reason.trim_end_matches('.');
                // Who asked has said so already, as a rule.
                let reason = if reason.contains(&approval.to_string()) {
                    reason.to_owned()
                } else {
                    format!(
                        "{reason}. The person is asked ({approval}); the task goes on when they answer"
                    )
                };
                Err(Denied::new("held", &host, reason).into())
            }
        }
    }

    /// Nobody answers any more where a host was found.
    pub(super) async fn lost(&self, host: &Host) {
        self.link.lost(host.clone()).await;
    }

    /// Records that content reaches the sandbox. Where that fails, the content must stay outside.
    pub(super) async fn came_in(&self, content: CameIn) -> Result<(), Failure> {
        self.link.came_in(content).await.map_err(|error| {
            tracing::error!(
                error = with_causes(&error),
                "content from outside was not handed over"
            );
            Failure::bad_gateway(format!(
                "the answer is not handed over: {error}",
                error = with_causes(&error)
            ))
        })
    }

    /// Puts the use of a secret into the audit trail, before it is used. No entry, no use.
    pub(super) async fn intend(&self, name: &SecretName, host: &str) -> Result<(), Denied> {
        let detail = format!("{}: {host}", self.place());
        let entry =
            Entry::of_cell((self.who.workspace, self.who.task), "secret.use", name).with(detail);
        self.books.record(entry).await.map_err(|error| {
            tracing::error!(
                error = with_causes(&error),
                "the use of a secret could not be audited and is refused"
            );
            Denied::new("internal", host, "it could not be put into the audit trail")
        })
    }

    /// Makes a refusal known to whoever is to hear of it.
    pub(super) async fn record(&self, stopped: Stopped) -> Stopped {
        let Stopped::Refused(denied) = &stopped else { return stopped };
        self.metrics.egress(false, denied.kind);
        let hearers = self.refusals.add(denied);
        let action = match denied.heard_as() {
            RefusalKind::Refused => "egress.refused",
            RefusalKind::SecretMisused => "secret.misused",
            RefusalKind::SecretUnknown => "secret.unknown",
            // Control decided it, and has told and recorded it.
            RefusalKind::Gated => return stopped,
        };
        if hearers.audit {
            let entry = Entry::of_cell((self.who.workspace, self.who.task), action, &denied.host)
                .with(format!("{}: {}", self.place(), denied.reason));
            if let Err(error) = self.books.record(entry).await {
                tracing::error!(error = with_causes(&error), "a refusal could not be audited");
            }
        }
        if hearers.person {
            self.link.refused(denied.to_tell());
        }
        stopped
    }

    /// Counts a refusal in the middle of an answer, where nothing can wait.
    pub(super) fn note(&self, denied: &Denied) {
        self.metrics.egress(false, denied.kind);
        self.refusals.add(denied);
    }

    pub(super) fn refusals_after(&self, seq: u64) -> Listing {
        self.refusals.after(seq)
    }

    /// Puts into the audit trail how often was refused what.
    pub(super) async fn close(&self) {
        let Some(summary) = self.refusals.summary() else { return };
        let entry =
            Entry::of_cell((self.who.workspace, self.who.task), "egress.closed", self.place())
                .with(summary);
        if let Err(error) = self.books.record(entry).await {
            tracing::error!(
                error = with_causes(&error),
                "the refusals of a door could not be audited"
            );
        }
    }

    fn place(&self) -> String {
        self.who.task.map_or_else(|| "coordinator".to_owned(), |task| task.to_string())
    }
}
