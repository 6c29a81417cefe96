use std::collections::HashSet;

use cloister_protocol::UserId;
use proptest::prelude::*;

use super::*;
use crate::binding::{Binding, Form};
use crate::envelope::SecretContext;
use crate::secret::{SecretName, SecretValue};

fn ring() -> Keyring {
    Keyring::new(MasterKey::random().unwrap())
}

fn user(number: u32) -> Owner {
    Owner::User(UserId::from_number(number))
}

fn binding(host: &str) -> Binding {
    let form = Form::Header { name: "authorization".into(), template: "Bearer {}".into() };
    Binding::new(vec![host.parse().unwrap()], form).unwrap()
}

#[test]
fn a_value_opens_only_as_what_it_was_sealed_as() {
    let ring = ring();
    let (key, _) = ring.new_data_key(user(1)).unwrap();
    let (other_key, _) = ring.new_data_key(user(1)).unwrap();
    let (name, other_name): (SecretName, SecretName) = ("a".parse().unwrap(), "b".parse().unwrap());
    let (here, elsewhere) = (binding("api.example.org"), binding("evil.example.org"));
    let context = SecretContext { owner: user(1), name: &name, version: 1, binding: &here };
    let value: SecretValue = "canary-31337".to_owned().into();
    let sealed = key.seal(&context, &value).unwrap();
    assert_eq!(key.open(&context, &sealed).unwrap().expose(), value.expose());

    let moved = [
        SecretContext { owner: user(2), ..context },
        SecretContext { owner: Owner::Platform, ..context },
        SecretContext { name: &other_name, ..context },
        SecretContext { version: 2, ..context },
        SecretContext { binding: &elsewhere, ..context },
    ];
    for context in moved {
        let error = key.open(&context, &sealed).unwrap_err();
        assert!(matches!(error, VaultError::DoesNotOpen { .. }), "{context:?}");
        assert!(!format!("{error:?} {error}").contains("canary"));
    }
    assert!(other_key.open(&context, &sealed).is_err());
}

#[test]
fn a_data_key_opens_only_for_its_owner_and_under_its_master() {
    let one = ring();
    let (_, sealed) = one.new_data_key(user(1)).unwrap();
    one.open_data_key(user(1), &sealed).unwrap();
    assert!(one.open_data_key(user(2), &sealed).is_err());
    let error = ring().open_data_key(user(1), &sealed).unwrap_err();
    assert!(matches!(error, VaultError::WrongMaster { .. }));
    let other = ring();
    let forged = SealedDataKey { master: other.current(), bytes: sealed.bytes };
    assert!(matches!(other.open_data_key(user(1), &forged), Err(VaultError::DoesNotOpen { .. })));
}

#[test]
fn a_master_key_is_replaced_while_the_old_one_still_opens() {
    let ring = ring();
    let (key, old) = ring.new_data_key(user(1)).unwrap();
    let next = MasterKey::random().unwrap();
    let id = next.id().clone();
    assert!(ring.reseal(user(1), &old, &id).is_err(), "the new key is not there yet");
    ring.add(next);
    let new = ring.reseal(user(1), &old, &id).unwrap();
    ring.promote(&id).unwrap();
    for sealed in [&old, &new] {
        assert_eq!(ring.open_data_key(user(1), sealed).unwrap().0.expose(), key.0.expose());
    }
    ring.drop_others();
    assert!(ring.open_data_key(user(1), &old).is_err());
    ring.open_data_key(user(1), &new).unwrap();
}

#[test]
fn nonces_never_meet() {
    let (key, _) = ring().new_data_key(user(1)).unwrap();
    let (name, binding) = ("a".parse().unwrap(), binding("a.example"));
    let context = SecretContext { owner: user(1), name: &name, version: 1, binding: &binding };
    let value: SecretValue = "the same value".to_owned().into();
    let sealed = (0..10_000).map(|_| key.seal(&context, &value).unwrap());
    let nonces: HashSet<Vec<u8>> = sealed.map(|bytes| bytes[1..25].to_vec()).collect();
    assert_eq!(nonces.len(), 10_000);
}

#[test]
fn nothing_that_holds_a_key_or_a_value_prints_it() {
    let ring = ring();
    let (key, sealed) = ring.new_data_key(user(1)).unwrap();
    let value: SecretValue = "canary-31337".to_owned().into();
    let placed = binding("a.example").place(&value).unwrap();
    let shown = format!("{ring:?} {key:?} {value:?} {placed:?} {sealed:?}");
    assert!(!shown.contains("canary"), "{shown}");
    assert!(!shown.contains(&hex::encode(key.0.expose())));
}

proptest! {
    #[test]
    fn any_change_to_sealed_bytes_is_noticed(
        value in prop::collection::vec(any::<u8>(), 0..200),
        at in any::<prop::sample::Index>(),
        flip in 1u8..,
    ) {
        let (key, _) = ring().new_data_key(user(1)).unwrap();
        let (name, binding) = ("a".parse().unwrap(), binding("a.example"));
        let context = SecretContext { owner: user(1), name: &name, version: 1, binding: &binding };
        let sealed = key.seal(&context, &SecretValue::new(value.clone())).unwrap();
        let opened = key.open(&context, &sealed).unwrap();
        prop_assert_eq!(opened.expose(), &value[..]);

        let mut changed = sealed.clone();
        let position = at.index(changed.len());
        changed[position] ^= flip;
        prop_assert!(key.open(&context, &changed).is_err());
        prop_assert!(key.open(&context, &sealed[..position]).is_err());
    }
}
