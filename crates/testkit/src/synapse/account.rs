//! Accounts on the test homeserver: made, limited and thrown out by its administrator.

use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha1::Sha1;

use super::http::{escaped, request};
use super::{Synapse, SynapseError};

/// An account with a device of its own.
#[derive(Clone, Debug)]
pub struct Account {
    pub user_id: String,
    pub password: String,
    pub access_token: String,
    pub device_id: String,
}

impl Account {
    /// The part of the user id before the colon, without the `@`.
    pub fn localpart(&self) -> &str {
        let name = self.user_id.split(':').next().unwrap_or_default();
        name.trim_start_matches('@')
    }
}

impl Synapse {
    /// A new account; the name gets an ending that no other test has.
    pub async fn register(&self, name: &str) -> Result<Account, SynapseError> {
        self.register_as(&format!("{name}-{}", unique()), "notadmin").await
    }

    async fn register_as(&self, name: &str, role: &str) -> Result<Account, SynapseError> {
        let path = "/_synapse/admin/v1/register";
        let password = format!("pw-{}", unique());
        let nonce = request(&self.address(), ("GET", path), None, None).await?;
        let nonce = text(&nonce, "nonce");
        let message = [nonce.as_str(), name, &password, role].join("\0");
        let body = json!({
            "nonce": nonce, "username": name, "password": password, "admin": role == "admin",
            "mac": self.signed(&message),
        });
        let made = request(&self.address(), ("POST", path), None, Some(&body)).await?;
        Ok(Account {
            user_id: text(&made, "user_id"),
            password,
            access_token: text(&made, "access_token"),
            device_id: text(&made, "device_id"),
        })
    }

    fn signed(&self, message: &str) -> String {
        // A key of any length will do.
        let Ok(mut mac) = Hmac::<Sha1>::new_from_slice(self.facts.secret.as_bytes()) else {
            return String::new();
        };
        mac.update(message.as_bytes());
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Another device of an account.
    pub async fn login(&self, account: &Account) -> Result<Account, SynapseError> {
        let body = json!({
            "type": "m.login.password",
            "identifier": {"type": "m.id.user", "user": account.user_id},
            "password": account.password,
        });
        let login = ("POST", "/_matrix/client/v3/login");
        let made = request(&self.address(), login, None, Some(&body)).await?;
        Ok(Account {
            access_token: text(&made, "access_token"),
            device_id: text(&made, "device_id"),
            ..account.clone()
        })
    }

    /// From now on this account may send only so many events; above that it is told to wait (429).
    pub async fn limit(
        &self,
        user_id: &str,
        per_second: u32,
        burst: u32,
    ) -> Result<(), SynapseError> {
        let path = format!("/_synapse/admin/v1/users/{}/override_ratelimit", escaped(user_id));
        let body = json!({"messages_per_second": per_second, "burst_count": burst});
        self.as_admin("POST", &path, Some(&body)).await.map(drop)
    }

    pub async fn unlimit(&self, user_id: &str) -> Result<(), SynapseError> {
        let path = format!("/_synapse/admin/v1/users/{}/override_ratelimit", escaped(user_id));
        self.as_admin("DELETE", &path, None).await.map(drop)
    }

    /// The devices of an account.
    pub async fn devices(&self, user_id: &str) -> Result<Vec<String>, SynapseError> {
        let path = format!("/_synapse/admin/v2/users/{}/devices", escaped(user_id));
        let listed = self.as_admin("GET", &path, None).await?;
        let devices = listed.get("devices").and_then(Value::as_array);
        Ok(devices.into_iter().flatten().map(|device| text(device, "device_id")).collect())
    }

    /// Throws a device out: its token is worth nothing from now on.
    pub async fn revoke(&self, user_id: &str, device_id: &str) -> Result<(), SynapseError> {
        let (user, device) = (escaped(user_id), escaped(device_id));
        let path = format!("/_synapse/admin/v2/users/{user}/devices/{device}");
        self.as_admin("DELETE", &path, None).await.map(drop)
    }

    /// Has a room vanish: everybody is put out of it, and nothing of it is kept.
    pub async fn delete_room(&self, room: &str) -> Result<(), SynapseError> {
        let path = format!("/_synapse/admin/v1/rooms/{}", escaped(room));
        self.as_admin("DELETE", &path, Some(&json!({"purge": true}))).await.map(drop)
    }

    async fn as_admin(
        &self,
        method: &str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, SynapseError> {
        let admin = self.register_as(&format!("admin-{}", unique()), "admin").await?;
        request(&self.address(), (method, path), Some(&admin.access_token), body).await
    }
}

fn text(object: &Value, field: &str) -> String {
    object.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Short, and never the same twice.
pub(super) fn unique() -> String {
    use std::hash::{BuildHasher, Hasher};
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("{:08x}", random >> 32)
}
