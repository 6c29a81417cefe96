use std::collections::BTreeMap;

use matrix_sdk::ruma::api::client::keys::{claim_keys, get_keys, upload_keys};
use matrix_sdk::ruma::api::client::sync::sync_events::DeviceLists;
use matrix_sdk::ruma::events::AnyToDeviceEvent;
use matrix_sdk::ruma::serde::Raw;
use matrix_sdk::ruma::{OwnedUserId, device_id, room_id, user_id};
use matrix_sdk_crypto::store::MemoryStore;
use matrix_sdk_crypto::types::requests::{AnyOutgoingRequest, ToDeviceRequest};
use matrix_sdk_crypto::{
    DecryptionSettings, EncryptionSettings, EncryptionSyncChanges, OlmMachine, TrustRequirement,
};
use serde_json::{Value, json};

use super::*;

const ANYBODY: DecryptionSettings =
    DecryptionSettings { sender_device_trust_requirement: TrustRequirement::Untrusted };

/// A device with what it published of itself.
struct Device {
    keys: OlmMachine,
    published: upload_keys::v3::Request,
}

impl Device {
    async fn new<S: CryptoStore + 'static>(user: &UserId, device: &DeviceId, store: S) -> Self {
        let keys = OlmMachine::with_store(user, device, store, None).await.unwrap();
        let sent = keys.outgoing_requests().await.unwrap();
        let upload = sent.iter().find_map(|request| match request.request() {
            AnyOutgoingRequest::KeysUpload(upload) => Some((request.request_id(), upload.clone())),
            _ => None,
        });
        let (id, published) = upload.unwrap();
        let counts = BTreeMap::from([("signed_curve25519".into(), 50_u32.into())]);
        let answer = upload_keys::v3::Response::new(counts);
        keys.mark_request_as_sent(id, &answer).await.unwrap();
        Self { keys, published }
    }

    /// Learns of another device, and opens a channel to it.
    async fn meets(&self, other: &Self) {
        let (user, device) = (other.keys.user_id().to_owned(), other.keys.device_id().to_owned());
        self.keys.update_tracked_users([&*user]).await.unwrap();
        let (id, _) = self.keys.query_keys_for_users([&*user]);
        let keys = other.published.device_keys.clone().unwrap();
        let mut told = get_keys::v3::Response::new();
        told.device_keys =
            BTreeMap::from([(user.clone(), BTreeMap::from([(device.clone(), keys)]))]);
        self.keys.mark_request_as_sent(&id, &told).await.unwrap();
        let (id, _) = self.keys.get_missing_sessions([&*user].into_iter()).await.unwrap().unwrap();
        let one_time = other.published.one_time_keys.clone().into_iter().next().unwrap();
        let one_time = BTreeMap::from([(device, BTreeMap::from([one_time]))]);
        let given = claim_keys::v3::Response::new(BTreeMap::from([(user, one_time)]));
        self.keys.mark_request_as_sent(&id, &given).await.unwrap();
    }

    /// Gives the key to a room to another device, if it is to have it; what is sent for that.
    async fn shares(&self, room: &RoomId, with: &Self) -> Vec<Raw<AnyToDeviceEvent>> {
        let users: Vec<OwnedUserId> = vec![with.keys.user_id().to_owned()];
        let settings = EncryptionSettings::default();
        let shared = self.keys.share_room_key(room, users.iter().map(|user| &**user), settings);
        let mut events = Vec::new();
        for request in shared.await.unwrap() {
            events.extend(self.sent(&request));
            let answer =
                matrix_sdk::ruma::api::client::to_device::send_event_to_device::v3::Response::new();
            self.keys.mark_request_as_sent(&request.txn_id, &answer).await.unwrap();
        }
        events
    }

    fn sent(&self, request: &ToDeviceRequest) -> Vec<Raw<AnyToDeviceEvent>> {
        let contents = request.messages.values().flat_map(|devices| devices.values());
        let event = |content: &Value| json!({"type": request.event_type, "sender": self.keys.user_id(), "content": content});
        let events = contents.map(|raw| event(&serde_json::from_str(raw.json().get()).unwrap()));
        events.map(|event| Raw::from_json_string(event.to_string()).unwrap()).collect()
    }

    async fn says(&self, room: &RoomId, text: &str) -> Value {
        let words = json!({"msgtype": "m.text", "body": text});
        let words = Raw::from_json_string(words.to_string()).unwrap();
        let said = self.keys.encrypt_room_event_raw(room, "m.room.message", &words).await.unwrap();
        let content: Value = serde_json::from_str(said.content.json().get()).unwrap();
        json!({
            "type": "m.room.encrypted", "event_id": format!("${}", text.replace(' ', "-")),
            "sender": self.keys.user_id(), "origin_server_ts": 1, "content": content,
        })
    }

    /// All of it in one response.
    async fn receives(&self, to_device_events: Vec<Raw<AnyToDeviceEvent>>) {
        let changes = EncryptionSyncChanges {
            to_device_events,
            changed_devices: &DeviceLists::new(),
            one_time_keys_counts: &BTreeMap::new(),
            unused_fallback_keys: None,
            next_batch_token: None,
        };
        self.keys.receive_sync_changes(changes, &ANYBODY).await.unwrap();
    }

    async fn reads(&self, room: &RoomId, event: &Value) -> Option<String> {
        let event = Raw::from_json_string(event.to_string()).unwrap();
        let opened = self.keys.decrypt_room_event(&event, room, &ANYBODY).await.ok()?;
        let opened: Value = serde_json::from_str(opened.event.json().get()).unwrap();
        opened["content"]["body"].as_str().map(str::to_owned)
    }
}

/// What a bot with this store reads of two messages: their writer gave the key to both, and after the first again
/// for what came from then on, and the bot got these two keys in one response.
async fn read_after_two_keys_at_once<S: CryptoStore + 'static>(store: S) -> [Option<String>; 2] {
    let room = room_id!("!chat:example.org");
    let ann = Device::new(user_id!("@ann:example.org"), device_id!("PHONE"), MemoryStore::new());
    let ann = ann.await;
    let bot = Device::new(user_id!("@bot:example.org"), device_id!("BOT"), store).await;
    ann.meets(&bot).await;
    let mut sent = ann.shares(room, &bot).await;
    let first = ann.says(room, "message 0").await;
    // The bot greets her: a new channel, over which her client gives the key again.
    bot.meets(&ann).await;
    ann.receives(bot.shares(room, &ann).await).await;
    let again = ann.shares(room, &bot).await;
    assert_eq!((sent.len(), again.len()), (1, 1), "the key is given twice");
    sent.extend(again);
    let second = ann.says(room, "message 1").await;
    assert_eq!(first["content"]["session_id"], second["content"]["session_id"]);
    bot.receives(sent).await;
    [bot.reads(room, &first).await, bot.reads(room, &second).await]
}

/// X11: what a person wrote while the two devices made a channel can be read, however the keys to it come.
#[tokio::test]
async fn two_keys_to_the_same_session_in_one_response_open_what_the_first_does() {
    let read = read_after_two_keys_at_once(BestKeys(MemoryStore::new())).await;
    assert_eq!(read, [Some("message 0".to_owned()), Some("message 1".to_owned())]);
}

/// When this fails, the SDK keeps the best key itself, and the store here is not needed any more.
#[tokio::test]
async fn the_sdk_alone_keeps_the_last_key_of_a_response() {
    let read = read_after_two_keys_at_once(MemoryStore::new()).await;
    assert_eq!(read, [None, Some("message 1".to_owned())]);
}
