//! Secrets, as the admin API carries them: a value goes in, and never comes back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Key;

/// What a secret looks like on a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SecretForm {
    /// The template holds `{}` where the value goes, such as `Bearer {}`.
    Header {
        name: String,
        template: String,
    },
    Query {
        name: String,
    },
    /// The password of a basic login.
    Basic {
        user: String,
    },
}

/// Where a secret may be used, and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretBinding {
    pub hosts: Vec<String>,
    pub form: SecretForm,
}

/// A secret to be set: new, or in place of the one of its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSecret {
    pub binding: SecretBinding,
    /// The value itself, on its way into the control plane's keeping; never answered back.
    pub value: Key,
}

/// A new value for a secret.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SecretRotation {
    pub value: Key,
    /// How long the value before is still known.
    #[serde(default)]
    pub grace_s: u64,
}

/// What is shown of a version of a secret.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SecretView {
    /// `platform`, or the user's id.
    pub owner: String,
    pub name: String,
    pub version: u64,
    pub binding: SecretBinding,
    pub set_by: String,
    pub set_at: String,
    /// Until when; none for the version in use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
}

/// How a replacement of the master key ended.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MasterRotated {
    /// Names of the keys, which say nothing about them.
    pub from: String,
    pub to: String,
    /// How many data keys were sealed anew.
    pub data_keys: u64,
    /// What is to be changed in the settings, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
