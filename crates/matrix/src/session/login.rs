//! Logging in with a password or a token, coming back as the same device, and logging out.
//!
//! Promises: a password is used and dropped; what fails leaves no device and no directory behind.

use std::path::{Path, PathBuf};
use std::time::Duration;

use cloister_kit::adding::bad;
use cloister_kit::{PlaneError, WayOut};
use cloister_protocol::admin::{AddConnector, Credential};
use cloister_protocol::{ErrorCode, with_causes};
use matrix_sdk::authentication::matrix::MatrixSession;
use matrix_sdk::config::RequestConfig;
use matrix_sdk::cross_process_lock::CrossProcessLockConfig;
use matrix_sdk::encryption::{BackupDownloadStrategy, EncryptionSettings};
use matrix_sdk::reqwest::Url;
use matrix_sdk::ruma::OwnedUserId;
use matrix_sdk::store::RoomLoadSettings;
use matrix_sdk::{Client, ClientBuilder, SessionMeta, SessionTokens};
use serde::Deserialize;

use super::address::{Address, account_id, find_homeserver, server_failed};
use super::credentials::{Credentials, NewStore};
use super::fault::{brief, in_short};
use super::keys;
use cloister_protocol::surface::options::MatrixOptions;

/// How the device is called in people's clients.
const DEVICE_NAME: &str = "Cloister";
/// How long all of logging in may take.
const LOGIN_TIME: Duration = Duration::from_secs(120);
/// How long a goodbye to the server may take.
const GOODBYE_TIME: Duration = Duration::from_secs(10);

/// An account that was logged in just now.
pub(crate) struct LoggedIn {
    pub(crate) client: Client,
    pub(crate) credentials: Credentials,
    /// Where the homeserver is, after discovery.
    pub(crate) homeserver: String,
    /// How far it has read: what was there before is not answered.
    pub(crate) position: String,
    /// Made now, to be shown once.
    pub(crate) new_recovery_key: Option<String>,
}

/// What a client is made with: the settings, and how the homeserver is reached.
pub(crate) type Means<'a> = (&'a MatrixOptions, Option<&'a WayOut>);

pub(super) fn builder((options, way_out): Means<'_>) -> ClientBuilder {
    let requests = RequestConfig::new().disable_retry().timeout(options.request_timeout());
    let builder = match way_out {
        Some(way_out) => Client::builder().proxy(way_out.proxy()),
        None => Client::builder(),
    };
    builder
        .request_config(requests)
        .user_agent(DEVICE_NAME)
        .respect_login_well_known(false)
        .cross_process_store_config(CrossProcessLockConfig::SingleProcess)
        .with_encryption_settings(EncryptionSettings {
            auto_enable_cross_signing: false,
            auto_enable_backups: false,
            backup_download_strategy: BackupDownloadStrategy::AfterDecryptionFailure,
        })
}

/// An account's client that asks the server nothing and knows nothing: enough to forget what is known of it.
pub(crate) async fn bare_client(homeserver: &str, means: Means<'_>) -> Result<Client, PlaneError> {
    let built = builder(means).homeserver_url(homeserver).build().await;
    built.map_err(|error| PlaneError::refused(ErrorCode::Internal, error.to_string()))
}

/// Makes a directory that only we can read.
async fn make_private(dir: PathBuf) -> Result<(), PlaneError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = tokio::task::spawn_blocking(move || {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir)
    });
    let made = made.await.map_err(|error| {
        PlaneError::refused(ErrorCode::Internal, format!("the store was not made: {error}"))
    })?;
    made.map_err(PlaneError::io("the directory for the account's keys could not be made"))
}

/// Comes back as the device that was logged in before. Asks the server nothing.
pub(crate) async fn restore(
    (homeserver, account): (&str, &str),
    credentials: &Credentials,
    data: &Path,
    means: Means<'_>,
) -> Result<Client, PlaneError> {
    let dir = data.join(&credentials.store);
    let failed = |error: String| {
        PlaneError::refused(
            ErrorCode::Internal,
            format!("the account's keys and rooms could not be opened: {error}"),
        )
    };
    let kept = super::store::open(&dir, &credentials.store_key()?).await.map_err(failed)?;
    let client = builder(means)
        .homeserver_url(homeserver)
        .store_config(kept)
        .build()
        .await
        .map_err(|error| failed(error.to_string()))?;
    let session = session(account_id(account)?, credentials);
    let auth = client.matrix_auth();
    let restored = auth.restore_session(session, RoomLoadSettings::default()).await;
    restored.map_err(|error| failed(brief(&error)))?;
    Ok(client)
}

fn session(user_id: OwnedUserId, credentials: &Credentials) -> MatrixSession {
    MatrixSession {
        meta: SessionMeta { user_id, device_id: credentials.device_id.as_str().into() },
        tokens: SessionTokens {
            access_token: credentials.access_token.clone(),
            refresh_token: None,
        },
    }
}

/// Whether the store of a device is there. Without it the device can't come back: its keys were in it.
pub(crate) async fn store_is_there(credentials: &Credentials, data: &Path) -> bool {
    let dir = data.join(&credentials.store);
    tokio::fs::try_exists(dir.join(matrix_sdk::STATE_STORE_DATABASE_NAME)).await.unwrap_or(false)
}

/// Logs in as a new device, sets its keys up and reads once. What was known of the account before helps to
/// open its backup.
pub(crate) async fn log_in(
    new: &AddConnector,
    earlier: Option<&Credentials>,
    data: &Path,
    means: Means<'_>,
) -> Result<LoggedIn, PlaneError> {
    let user = account_id(&new.account)?;
    let homeserver = find_homeserver(&Address::parse(&new.address)?, means).await?;
    let store = NewStore::random()?;
    let dir = data.join(&store.name);
    make_private(dir.clone()).await?;
    let client = async {
        let kept = super::store::open(&dir, store.key()).await?;
        let built = builder(means).homeserver_url(&homeserver).store_config(kept).build().await;
        built.map_err(|error| with_causes(&error))
    };
    let client = match client.await {
        Ok(client) => client,
        Err(why) => {
            remove_store(data, &store.name).await;
            return Err(PlaneError::refused(ErrorCode::Internal, why));
        }
    };
    let recovery = new.recovery_key.as_ref().map(|key| key.expose().trim().to_owned());
    let attempt = Box::pin(async {
        let credentials = introduce(&client, &user, new, &store).await?;
        let keys = keys::Openers {
            password: match &new.credential {
                Credential::Password(password) => Some(password.expose()),
                Credential::Token(_) => None,
            },
            given: recovery.as_deref(),
            earlier: earlier.and_then(|earlier| earlier.recovery_key.as_deref()),
        };
        let read = client.sync_once(crate::sync::settings(Duration::ZERO)).await;
        read.map_err(|error| server_failed("the first sync failed", brief(&error)))?;
        let keys = keys::set_up(&client, &user, &keys).await?;
        let again = client.sync_once(crate::sync::settings(Duration::ZERO)).await;
        let position = again
            .map_err(|error| server_failed("the first sync failed", brief(&error)))?
            .next_batch;
        Ok((credentials, keys, position))
    });
    let outcome = tokio::time::timeout(LOGIN_TIME, attempt).await.unwrap_or_else(|_elapsed| {
        Err(server_failed("the homeserver did not answer in time", homeserver.clone()))
    });
    match outcome {
        Ok((mut credentials, keys, position)) => {
            credentials.recovery_key = keys.known;
            let new_recovery_key = keys.made;
            Ok(LoggedIn { client, credentials, homeserver, position, new_recovery_key })
        }
        Err(error) => {
            if matches!(new.credential, Credential::Password(_)) {
                log_out(&client).await;
            }
            drop(client);
            remove_store(data, &store.name).await;
            Err(error)
        }
    }
}

#[derive(Deserialize)]
struct WhoAmI {
    user_id: String,
    device_id: Option<String>,
}

/// Becomes a device of the account, by password or as the one that the token belongs to.
async fn introduce(
    client: &Client,
    user: &OwnedUserId,
    new: &AddConnector,
    store: &NewStore,
) -> Result<Credentials, PlaneError> {
    match &new.credential {
        Credential::Password(password) => {
            let login = client.matrix_auth().login_username(user, password.expose());
            let answer = login.initial_device_display_name(DEVICE_NAME).send().await;
            let answer = answer.map_err(|error| {
                PlaneError::with_fix(
                    ErrorCode::Refused,
                    format!("{user} could not log in: {}", brief(&error)),
                    "check the account and its password; `--token-file` takes an access token instead",
                )
            })?;
            same_account(user, answer.user_id.as_str())?;
            let device = answer.device_id.to_string();
            Ok(Credentials::new(store, answer.access_token, device, None))
        }
        Credential::Token(token) => {
            let token = token.expose().trim();
            let who = who_am_i(client, token).await?;
            same_account(user, &who.user_id)?;
            let device = who.device_id.ok_or_else(|| {
                bad(
                    "the access token belongs to no device",
                    "log the account in to get one that does",
                )
            })?;
            let credentials = Credentials::new(store, token.to_owned(), device, None);
            let session = session(user.clone(), &credentials);
            let restored =
                client.matrix_auth().restore_session(session, RoomLoadSettings::default()).await;
            restored.map_err(|error| server_failed("the token was not taken", brief(&error)))?;
            has_no_keys_yet(client, user, &credentials.device_id).await?;
            Ok(credentials)
        }
    }
}

fn same_account(wanted: &OwnedUserId, found: &str) -> Result<(), PlaneError> {
    if wanted.as_str() == found {
        return Ok(());
    }
    Err(bad(
        format!("these credentials belong to {found}, not to {wanted}"),
        "name the account that they belong to, or give the right ones",
    ))
}

/// Whose token it is. Asked without a session: there is none before this is known.
async fn who_am_i(client: &Client, token: &str) -> Result<WhoAmI, PlaneError> {
    let failed = |why: String| {
        PlaneError::with_fix(
            ErrorCode::Refused,
            format!("the access token was not taken: {why}"),
            "give a token that is valid, or log in with `--password-file`",
        )
    };
    let url = endpoint(client, "_matrix/client/v3/account/whoami")?;
    let sent = client.http_client().get(url).bearer_auth(token).send().await;
    let answer = sent.map_err(|error| failed(in_short(&error.into())))?;
    let status = answer.status();
    let text = answer.text().await.map_err(|error| failed(in_short(&error.into())))?;
    if !status.is_success() {
        return Err(failed(format!("the homeserver answered {status}")));
    }
    serde_json::from_str(&text)
        .map_err(|error| failed(format!("an answer of another form: {error}")))
}

fn endpoint(client: &Client, path: &str) -> Result<Url, PlaneError> {
    let base = client.homeserver();
    let address = format!("{}/{path}", base.as_str().trim_end_matches('/'));
    Url::parse(&address).map_err(|error| {
        PlaneError::refused(ErrorCode::Internal, format!("an address that can't be used: {error}"))
    })
}

/// A device that others have keys of can't be taken over without them: they are not here.
async fn has_no_keys_yet(
    client: &Client,
    user: &OwnedUserId,
    device: &str,
) -> Result<(), PlaneError> {
    let known = client.encryption().request_user_identity(user).await;
    known.map_err(|error| server_failed("the account's keys were not found", brief(&error)))?;
    let there = client.encryption().get_device(user, device.into()).await;
    let ours = client.encryption().ed25519_key().await;
    let other =
        there.ok().flatten().and_then(|device| device.ed25519_key()).map(|key| key.to_base64());
    match other {
        Some(other) if Some(&other) != ours.as_ref() => Err(bad(
            format!("the token belongs to device {device}, which has keys that are not here"),
            "make a new token (a fresh login), or use `--password-file`",
        )),
        _ => Ok(()),
    }
}

/// Ends the session on the server, as far as it answers.
pub(crate) async fn log_out(client: &Client) {
    if client.session_meta().is_none() {
        return;
    }
    let auth = client.matrix_auth();
    match tokio::time::timeout(GOODBYE_TIME, auth.logout()).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => {
            tracing::warn!(why = in_short(&error), "a Matrix device could not be logged out");
        }
        Err(_) => tracing::warn!("a Matrix device could not be logged out: no answer"),
    }
}

/// Removes a device's keys and rooms from the disk.
pub(crate) async fn remove_store(data: &Path, name: &str) {
    let dir = data.join(name);
    match tokio::fs::remove_dir_all(&dir).await {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => {
            tracing::warn!(dir = %dir.display(), error = with_causes(&error), "an account's store was not removed");
        }
    }
}

/// Removes stores that no account has: what a kill in the midst of a login left.
pub(crate) async fn sweep_stores(data: &Path, known: &[String]) {
    let Ok(mut entries) = tokio::fs::read_dir(data).await else { return };
    while let Ok(Some(entry)) = entries.next_entry().await {
        let name = entry.file_name().to_string_lossy().into_owned();
        let ours = name.len() == 16 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if ours && !known.contains(&name) {
            remove_store(data, &name).await;
        }
    }
}
