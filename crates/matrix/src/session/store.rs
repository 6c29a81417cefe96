//! Where an account keeps its keys and rooms.
//!
//! Promise: a key that came once is never replaced by one that opens less. The SDK compares a key that comes with
//! what is stored, and stores what a whole response brought at its end: of two keys to the same session in one
//! response, it would keep the last. That is what a person's client sends who writes on while a new channel
//! between the two devices is being made, and what they wrote first could never be read.

use std::collections::HashMap;
use std::path::Path;

use async_trait::async_trait;
use cloister_protocol::with_causes;
use matrix_sdk::config::StoreConfig;
use matrix_sdk::cross_process_lock::{CrossProcessLockConfig, CrossProcessLockGeneration};
use matrix_sdk::ruma::events::secret::request::SecretName;
use matrix_sdk::ruma::{DeviceId, OwnedDeviceId, RoomId, TransactionId, UserId};
use matrix_sdk::{
    SqliteCryptoStore, SqliteEventCacheStore, SqliteMediaStore, SqliteStateStore, SqliteStoreConfig,
};
use matrix_sdk_crypto::olm::{
    Account, Curve25519PublicKey, InboundGroupSession, OlmMessageHash, OutboundGroupSession,
    PrivateCrossSigningIdentity, SenderDataType, Session,
};
use matrix_sdk_crypto::store::CryptoStore;
use matrix_sdk_crypto::store::types::{
    BackupKeys, Changes, DehydratedDeviceKey, PendingChanges, RoomKeyCounts, RoomKeyWithheldEntry,
    RoomPendingKeyBundleDetails, RoomSettings, StoredRoomKeyBundleData, TrackedUser,
};
use matrix_sdk_crypto::vodozemac::megolm::SessionOrdering;
use matrix_sdk_crypto::{DeviceData, GossipRequest, SecretInfo, UserIdentityData};
use zeroize::Zeroizing;

/// As many connections as one account's store ever needs at once.
const STORE_CONNECTIONS: usize = 4;

/// Opens the stores of an account in its directory; an error says why that can't be done.
pub(super) async fn open(dir: &Path, key: &[u8; 32]) -> Result<StoreConfig, String> {
    let config = SqliteStoreConfig::new(dir).key(Some(key)).pool_max_size(STORE_CONNECTIONS);
    let (keys, state, events, media) = tokio::try_join!(
        SqliteCryptoStore::open_with_config(&config),
        SqliteStateStore::open_with_config(&config),
        SqliteEventCacheStore::open_with_config(&config),
        SqliteMediaStore::open_with_config(&config),
    )
    .map_err(|error| with_causes(&error))?;
    Ok(StoreConfig::new(CrossProcessLockConfig::SingleProcess)
        .state_store(state)
        .event_cache_store(events)
        .media_store(media)
        .crypto_store(BestKeys(keys)))
}

/// A store of keys that keeps the best of those that come at once.
#[derive(Debug)]
struct BestKeys<S>(S);

/// One key for each session: the one that opens most. One that only claims to be of the same session does not
/// replace the one before it.
async fn best(keys: Vec<InboundGroupSession>) -> Vec<InboundGroupSession> {
    let mut best: Vec<InboundGroupSession> = Vec::with_capacity(keys.len());
    for key in keys {
        let same = |kept: &&mut InboundGroupSession| {
            kept.room_id() == key.room_id() && kept.session_id() == key.session_id()
        };
        match best.iter_mut().find(same) {
            None => best.push(key),
            Some(kept) => {
                let opens = key.compare_ratchet(kept).await;
                if matches!(opens, SessionOrdering::Better | SessionOrdering::Equal) {
                    *kept = key;
                }
            }
        }
    }
    best
}

#[async_trait]
impl<S: CryptoStore> CryptoStore for BestKeys<S> {
    type Error = S::Error;

    async fn save_changes(&self, mut changes: Changes) -> Result<(), Self::Error> {
        changes.inbound_group_sessions = best(changes.inbound_group_sessions).await;
        self.0.save_changes(changes).await
    }

    async fn save_inbound_group_sessions(
        &self,
        sessions: Vec<InboundGroupSession>,
        backed_up_to_version: Option<&str>,
    ) -> Result<(), Self::Error> {
        self.0.save_inbound_group_sessions(best(sessions).await, backed_up_to_version).await
    }

    async fn load_account(&self) -> Result<Option<Account>, Self::Error> {
        self.0.load_account().await
    }

    async fn load_identity(&self) -> Result<Option<PrivateCrossSigningIdentity>, Self::Error> {
        self.0.load_identity().await
    }

    async fn save_pending_changes(&self, changes: PendingChanges) -> Result<(), Self::Error> {
        self.0.save_pending_changes(changes).await
    }

    async fn get_sessions(&self, sender_key: &str) -> Result<Option<Vec<Session>>, Self::Error> {
        self.0.get_sessions(sender_key).await
    }

    async fn get_inbound_group_session(
        &self,
        room_id: &RoomId,
        session_id: &str,
    ) -> Result<Option<InboundGroupSession>, Self::Error> {
        self.0.get_inbound_group_session(room_id, session_id).await
    }

    async fn get_withheld_info(
        &self,
        room_id: &RoomId,
        session_id: &str,
    ) -> Result<Option<RoomKeyWithheldEntry>, Self::Error> {
        self.0.get_withheld_info(room_id, session_id).await
    }

    async fn get_withheld_sessions_by_room_id(
        &self,
        room_id: &RoomId,
    ) -> Result<Vec<RoomKeyWithheldEntry>, Self::Error> {
        self.0.get_withheld_sessions_by_room_id(room_id).await
    }

    async fn get_inbound_group_sessions(&self) -> Result<Vec<InboundGroupSession>, Self::Error> {
        self.0.get_inbound_group_sessions().await
    }

    async fn inbound_group_session_counts(
        &self,
        backup_version: Option<&str>,
    ) -> Result<RoomKeyCounts, Self::Error> {
        self.0.inbound_group_session_counts(backup_version).await
    }

    async fn get_inbound_group_sessions_by_room_id(
        &self,
        room_id: &RoomId,
    ) -> Result<Vec<InboundGroupSession>, Self::Error> {
        self.0.get_inbound_group_sessions_by_room_id(room_id).await
    }

    async fn get_inbound_group_sessions_for_device_batch(
        &self,
        curve_key: Curve25519PublicKey,
        sender_data_type: SenderDataType,
        after_session_id: Option<String>,
        limit: usize,
    ) -> Result<Vec<InboundGroupSession>, Self::Error> {
        self.0
            .get_inbound_group_sessions_for_device_batch(
                curve_key,
                sender_data_type,
                after_session_id,
                limit,
            )
            .await
    }

    async fn inbound_group_sessions_for_backup(
        &self,
        backup_version: &str,
        limit: usize,
    ) -> Result<Vec<InboundGroupSession>, Self::Error> {
        self.0.inbound_group_sessions_for_backup(backup_version, limit).await
    }

    async fn mark_inbound_group_sessions_as_backed_up(
        &self,
        backup_version: &str,
        room_and_session_ids: &[(&RoomId, &str)],
    ) -> Result<(), Self::Error> {
        self.0.mark_inbound_group_sessions_as_backed_up(backup_version, room_and_session_ids).await
    }

    async fn reset_backup_state(&self) -> Result<(), Self::Error> {
        self.0.reset_backup_state().await
    }

    async fn load_backup_keys(&self) -> Result<BackupKeys, Self::Error> {
        self.0.load_backup_keys().await
    }

    async fn load_dehydrated_device_pickle_key(
        &self,
    ) -> Result<Option<DehydratedDeviceKey>, Self::Error> {
        self.0.load_dehydrated_device_pickle_key().await
    }

    async fn delete_dehydrated_device_pickle_key(&self) -> Result<(), Self::Error> {
        self.0.delete_dehydrated_device_pickle_key().await
    }

    async fn get_outbound_group_session(
        &self,
        room_id: &RoomId,
    ) -> Result<Option<OutboundGroupSession>, Self::Error> {
        self.0.get_outbound_group_session(room_id).await
    }

    async fn load_tracked_users(&self) -> Result<Vec<TrackedUser>, Self::Error> {
        self.0.load_tracked_users().await
    }

    async fn save_tracked_users(&self, users: &[(&UserId, bool)]) -> Result<(), Self::Error> {
        self.0.save_tracked_users(users).await
    }

    async fn get_device(
        &self,
        user_id: &UserId,
        device_id: &DeviceId,
    ) -> Result<Option<DeviceData>, Self::Error> {
        self.0.get_device(user_id, device_id).await
    }

    async fn get_user_devices(
        &self,
        user_id: &UserId,
    ) -> Result<HashMap<OwnedDeviceId, DeviceData>, Self::Error> {
        self.0.get_user_devices(user_id).await
    }

    async fn get_own_device(&self) -> Result<DeviceData, Self::Error> {
        self.0.get_own_device().await
    }

    async fn get_user_identity(
        &self,
        user_id: &UserId,
    ) -> Result<Option<UserIdentityData>, Self::Error> {
        self.0.get_user_identity(user_id).await
    }

    async fn is_message_known(&self, message_hash: &OlmMessageHash) -> Result<bool, Self::Error> {
        self.0.is_message_known(message_hash).await
    }

    async fn get_outgoing_secret_requests(
        &self,
        request_id: &TransactionId,
    ) -> Result<Option<GossipRequest>, Self::Error> {
        self.0.get_outgoing_secret_requests(request_id).await
    }

    async fn get_secret_request_by_info(
        &self,
        secret_info: &SecretInfo,
    ) -> Result<Option<GossipRequest>, Self::Error> {
        self.0.get_secret_request_by_info(secret_info).await
    }

    async fn get_unsent_secret_requests(&self) -> Result<Vec<GossipRequest>, Self::Error> {
        self.0.get_unsent_secret_requests().await
    }

    async fn delete_outgoing_secret_requests(
        &self,
        request_id: &TransactionId,
    ) -> Result<(), Self::Error> {
        self.0.delete_outgoing_secret_requests(request_id).await
    }

    async fn get_secrets_from_inbox(
        &self,
        secret_name: &SecretName,
    ) -> Result<Vec<Zeroizing<String>>, Self::Error> {
        self.0.get_secrets_from_inbox(secret_name).await
    }

    async fn delete_secrets_from_inbox(&self, secret_name: &SecretName) -> Result<(), Self::Error> {
        self.0.delete_secrets_from_inbox(secret_name).await
    }

    async fn get_room_settings(
        &self,
        room_id: &RoomId,
    ) -> Result<Option<RoomSettings>, Self::Error> {
        self.0.get_room_settings(room_id).await
    }

    async fn get_received_room_key_bundle_data(
        &self,
        room_id: &RoomId,
        user_id: &UserId,
    ) -> Result<Option<StoredRoomKeyBundleData>, Self::Error> {
        self.0.get_received_room_key_bundle_data(room_id, user_id).await
    }

    async fn get_pending_key_bundle_details_for_room(
        &self,
        room_id: &RoomId,
    ) -> Result<Option<RoomPendingKeyBundleDetails>, Self::Error> {
        self.0.get_pending_key_bundle_details_for_room(room_id).await
    }

    async fn get_all_rooms_pending_key_bundles(
        &self,
    ) -> Result<Vec<RoomPendingKeyBundleDetails>, Self::Error> {
        self.0.get_all_rooms_pending_key_bundles().await
    }

    async fn has_downloaded_all_room_keys(&self, room_id: &RoomId) -> Result<bool, Self::Error> {
        self.0.has_downloaded_all_room_keys(room_id).await
    }

    async fn get_custom_value(&self, key: &str) -> Result<Option<Vec<u8>>, Self::Error> {
        self.0.get_custom_value(key).await
    }

    async fn set_custom_value(&self, key: &str, value: Vec<u8>) -> Result<(), Self::Error> {
        self.0.set_custom_value(key, value).await
    }

    async fn remove_custom_value(&self, key: &str) -> Result<(), Self::Error> {
        self.0.remove_custom_value(key).await
    }

    async fn try_take_leased_lock(
        &self,
        lease_duration_ms: u32,
        key: &str,
        holder: &str,
    ) -> Result<Option<CrossProcessLockGeneration>, Self::Error> {
        self.0.try_take_leased_lock(lease_duration_ms, key, holder).await
    }

    async fn next_batch_token(&self) -> Result<Option<String>, Self::Error> {
        self.0.next_batch_token().await
    }

    async fn close(&self) -> Result<(), Self::Error> {
        self.0.close().await
    }

    async fn reopen(&self) -> Result<(), Self::Error> {
        self.0.reopen().await
    }

    async fn get_size(&self) -> Result<Option<usize>, Self::Error> {
        self.0.get_size().await
    }
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
