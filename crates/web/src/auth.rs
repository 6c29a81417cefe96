//! Who is asking: tokens, as they come over the wire.

use std::fmt;
use std::io;
use std::path::Path;
use std::time::Duration;

use axum::http::{HeaderMap, header};
use cloister_control::rows::{AccountKind, TokenKind, TokenOwner, User, token_hash};
use cloister_control::{Actor, Control};
use cloister_policy::engine::WorkspaceCall;
use cloister_protocol::{ErrorCode, WorkspaceId};
use subtle::ConstantTimeEq;

use crate::pages::session::{require_same_origin, session_cookie};
use crate::reply::Failure;
use crate::server::State;

/// How long a session lasts unless asked otherwise, and at most.
const SESSION_TTL: Duration = Duration::from_secs(12 * 3600);
const MAX_SESSION_TTL: Duration = Duration::from_secs(30 * 24 * 3600);
const LOGIN_TTL: Duration = Duration::from_secs(24 * 3600);

/// The operator's token: who has it may open a session for any user.
#[derive(Clone)]
pub struct Operator {
    hash: String,
}

impl fmt::Debug for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Operator(…)")
    }
}

impl Operator {
    /// Reads the token from its file (0600), or makes one.
    pub fn load(path: &Path) -> io::Result<Self> {
        let token = match std::fs::read_to_string(path) {
            Ok(token) => token,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let token = random_token()?;
                write_private(path, &token)?;
                token
            }
            Err(error) => return Err(error),
        };
        Ok(Self { hash: token_hash(token.trim()) })
    }

    fn is(&self, token: &str) -> bool {
        token_hash(token).as_bytes().ct_eq(self.hash.as_bytes()).into()
    }
}

fn write_private(path: &Path, text: &str) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let mut file =
        std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

pub(crate) fn random_token() -> io::Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A token for who is asked by a page of ours.
pub(crate) fn new_token() -> Result<String, Failure> {
    let failed = cloister_control::Fault::io("no token could be made");
    Ok(random_token().map_err(failed)?)
}

/// A one-time token that opens a session for this user, and when it expires.
pub async fn new_login_token(
    control: &Control,
    actor: &Actor,
    user: &User,
) -> Result<(String, i64), cloister_control::ControlError> {
    let token = random_token().map_err(cloister_control::Fault::io("no token could be made"))?;
    let expires = expiry(control, LOGIN_TTL);
    control
        .sessions()
        .begin(actor, (TokenKind::Login, &token_hash(&token)), user.id, expires)
        .await?;
    Ok((token, expires))
}

/// A session token for this user.
pub(crate) async fn new_session_token(
    control: &Control,
    actor: &Actor,
    user: &User,
    ttl_s: Option<u64>,
) -> Result<(String, i64), Failure> {
    let ttl = ttl_s.map_or(SESSION_TTL, Duration::from_secs).min(MAX_SESSION_TTL);
    let token = random_token().map_err(cloister_control::Fault::io("no token could be made"))?;
    let expires = expiry(control, ttl);
    control
        .sessions()
        .begin(actor, (TokenKind::Session, &token_hash(&token)), user.id, expires)
        .await?;
    Ok((token, expires))
}

fn expiry(control: &Control, ttl: Duration) -> i64 {
    let ttl = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
    control.clock().now_ms().saturating_add(ttl)
}

/// The session that a request to a workspace belongs to, and the hash that it is kept under. A
/// token that a browser sent by itself counts only if a page of ours made it do so.
pub(crate) async fn session_of(
    state: &State,
    headers: &HeaderMap,
    in_address: Option<&str>,
    workspace: WorkspaceId,
) -> Result<(TokenOwner, String), Failure> {
    let given = bearer(headers).or(in_address);
    if given.is_none() && session_cookie(state, headers).is_some() {
        require_same_origin(state, headers)?;
    }
    let token = given.or_else(|| session_cookie(state, headers));
    let owner = require_session(&state.control, token, workspace).await?;
    state.pace.pass(owner.user)?;
    Ok((owner, token.map(token_hash).unwrap_or_default()))
}

/// The session of a request that changes nothing: people open links from anywhere.
pub(crate) async fn session_for_reading(
    state: &State,
    headers: &HeaderMap,
    workspace: WorkspaceId,
) -> Result<TokenOwner, Failure> {
    let token = bearer(headers).or_else(|| session_cookie(state, headers));
    let owner = require_session(&state.control, token, workspace).await?;
    state.pace.pass(owner.user)?;
    Ok(owner)
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ").map(str::trim)
}

pub(crate) fn require_operator(operator: &Operator, headers: &HeaderMap) -> Result<(), Failure> {
    match bearer(headers) {
        Some(token) if operator.is(token) => Ok(()),
        Some(_) => Err(Failure::new(ErrorCode::Unauthorized, "the operator token is wrong")),
        None => Err(Failure::new(ErrorCode::Unauthorized, "no token was sent").fix(
            "send `Authorization: Bearer` with the operator token, or a login_token in the body",
        )),
    }
}

/// The owner of the session token, if it opens this workspace: their own, or that of a community whose
/// chats they may read. Another's, and one that is not there, are refused alike.
async fn require_session(
    control: &Control,
    token: Option<&str>,
    workspace: WorkspaceId,
) -> Result<TokenOwner, Failure> {
    let Some(token) = token else {
        return Err(Failure::new(ErrorCode::Unauthorized, "no session token was sent")
            .fix("get one from POST /api/v1/sessions and send it as `Authorization: Bearer`"));
    };
    let owner = control.sessions().owner(&token_hash(token)).await?;
    let Some(owner) = owner else {
        return Err(Failure::new(
            ErrorCode::Unauthorized,
            "the session token is wrong or has expired",
        )
        .fix("get a new one from POST /api/v1/sessions"));
    };
    if owner.workspace != workspace && !shares(control, &owner, workspace).await? {
        return Err(Failure::new(
            ErrorCode::Forbidden,
            "the session token is for another workspace",
        ));
    }
    Ok(owner)
}

/// Whether this is a community's workspace that the owner of a session belongs to.
async fn shares(
    control: &Control,
    owner: &TokenOwner,
    workspace: WorkspaceId,
) -> Result<bool, Failure> {
    let account = control.people().find_workspace(&workspace.to_string()).await?;
    if account.is_none_or(|account| account.kind != AccountKind::Community) {
        return Ok(false);
    }
    let call = WorkspaceCall::ListChats;
    Ok(control.people().require_in_workspace(owner.user, call, workspace).await.is_ok())
}
