//! Cross-signing, key backup and the recovery key: what lets people trust the device, and lets another
//! device read what this one could.

use cloister_kit::PlaneError;
use cloister_protocol::{ErrorCode, with_causes};
use matrix_sdk::Client;
use matrix_sdk::encryption::VerificationState;
use matrix_sdk::encryption::recovery::{RecoveryError, RecoveryState};
use matrix_sdk::encryption::secret_storage::SecretStorageError;
use matrix_sdk::ruma::OwnedUserId;
use matrix_sdk::ruma::api::client::uiaa::{
    AuthData, MatrixUserIdentifier, Password, UserIdentifier,
};

use super::fault::brief;

/// What may open what the account has.
pub(crate) struct Openers<'a> {
    pub(crate) password: Option<&'a str>,
    /// The recovery key that the operator gave; it must fit.
    pub(crate) given: Option<&'a str>,
    /// The one that was kept; it may be of the past.
    pub(crate) earlier: Option<&'a str>,
}

/// What came of it.
#[derive(Default)]
pub(crate) struct Keys {
    /// The recovery key, as far as it is known.
    pub(crate) known: Option<String>,
    /// It was made now.
    pub(crate) made: Option<String>,
}

/// Sets up what the account does not have, and opens what it has. What is missing afterwards is not an error:
/// `facts` says what and what to do.
pub(crate) async fn set_up(
    client: &Client,
    user: &OwnedUserId,
    openers: &Openers<'_>,
) -> Result<Keys, PlaneError> {
    client.encryption().wait_for_e2ee_initialization_tasks().await;
    let stored = client.encryption().secret_storage().is_enabled().await;
    let has_recovery = stored.map_err(|error| failed("recovery", brief(&error)))?;
    if has_recovery {
        return open_existing(client, openers).await;
    }
    if openers.given.is_some() {
        return Err(PlaneError::with_fix(
            ErrorCode::BadRequest,
            "the account has no key backup that a recovery key opens",
            "leave `--recovery-key-file` out: a new one is made",
        ));
    }
    cross_sign(client, user, openers.password).await?;
    let ours = client.encryption().cross_signing_status().await.is_some_and(|s| s.is_complete());
    let identity = client.encryption().get_user_identity(user).await;
    let others = !ours && identity.ok().flatten().is_some();
    if others {
        // Another client holds the account's signing keys and has not put them in store; a recovery key made
        // here would open nothing of it.
        return Ok(Keys::default());
    }
    match client.encryption().recovery().enable().await {
        Ok(key) => Ok(Keys { known: Some(key.clone()), made: Some(key) }),
        Err(RecoveryError::BackupExistsOnServer) => Ok(Keys::default()),
        Err(error) => Err(failed("the key backup", error)),
    }
}

fn failed(what: &str, why: impl std::fmt::Display) -> PlaneError {
    PlaneError::with_fix(
        ErrorCode::Refused,
        format!("{what} could not be set up: {why}"),
        "try again; the account is not connected",
    )
}

async fn open_existing(client: &Client, openers: &Openers<'_>) -> Result<Keys, PlaneError> {
    let Some(key) = openers.given.or(openers.earlier) else { return Ok(Keys::default()) };
    match client.encryption().recovery().recover(key).await {
        Ok(()) => Ok(Keys { known: Some(key.to_owned()), made: None }),
        Err(error) if openers.given.is_some() && does_not_fit(&error) => Err(PlaneError::with_fix(
            ErrorCode::BadRequest,
            "the recovery key does not open what the account has stored",
            "give the key that was shown when the backup was made, or leave it out",
        )),
        Err(error) if openers.given.is_some() => Err(failed("recovery", error)),
        Err(error) => {
            tracing::warn!(
                error = with_causes(&error),
                "the recovery key that was kept does not open the account's backup"
            );
            Ok(Keys::default())
        }
    }
}

fn does_not_fit(error: &RecoveryError) -> bool {
    matches!(
        error,
        RecoveryError::SecretStorage(
            SecretStorageError::SecretStorageKey(_) | SecretStorageError::Decryption(_)
        )
    )
}

/// Makes the account's signing keys, if it has none. A server that wants the password for it gets it, if there
/// is one.
async fn cross_sign(
    client: &Client,
    user: &OwnedUserId,
    password: Option<&str>,
) -> Result<(), PlaneError> {
    let tried = client.encryption().bootstrap_cross_signing_if_needed(None).await;
    let error = match tried {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let Some(wanted) = error.as_uiaa_response() else {
        return Err(failed("cross-signing", brief(&error)));
    };
    let Some(password) = password else { return Ok(()) };
    let name = UserIdentifier::Matrix(MatrixUserIdentifier::new(user.to_string()));
    let mut proof = Password::new(name, password.to_owned());
    proof.session.clone_from(&wanted.session);
    let again = client
        .encryption()
        .bootstrap_cross_signing_if_needed(Some(AuthData::Password(proof)))
        .await;
    again.map_err(|error| failed("cross-signing", brief(&error)))
}

/// Whether keys are in place, for who looks at the account. Asks the server nothing.
pub(crate) async fn facts(client: &Client) -> Vec<(String, String)> {
    const AGAIN: &str = "`cloister matrix add` again with `--recovery-key-file`";
    let encryption = client.encryption();
    let signing = encryption.cross_signing_status().await.is_some_and(|s| s.is_complete());
    let signed = encryption.verification_state().get() == VerificationState::Verified;
    let cross_signing = match (signing, signed) {
        (true, true) => "in place".to_owned(),
        (true, false) => "in place; this device is not signed yet".to_owned(),
        (false, true) => "this device is signed; the signing keys are elsewhere".to_owned(),
        (false, false) => {
            format!("not in place: {AGAIN}, or with `--password-file` if the account never had it")
        }
    };
    let backup = if encryption.backups().are_enabled().await {
        "in place".to_owned()
    } else {
        match encryption.recovery().state() {
            RecoveryState::Incomplete => format!("there is one that we can't open: {AGAIN}"),
            RecoveryState::Unknown => "not known yet".to_owned(),
            RecoveryState::Enabled | RecoveryState::Disabled => "none".to_owned(),
        }
    };
    vec![("cross-signing".to_owned(), cross_signing), ("key backup".to_owned(), backup)]
}
