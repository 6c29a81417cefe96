use super::*;

/// E82: a room that was encrypted is never written to in the clear, whatever is known of it now; one of which
/// nothing is known is not written to.
#[test]
fn what_was_encrypted_stays_encrypted() {
    use EncryptionState as Now;
    for now in [Now::NotEncrypted, Now::Unknown] {
        assert_eq!(secrecy(&now, true), Secrecy::Lost);
    }
    assert_eq!(secrecy(&Now::Encrypted, true), Secrecy::Encrypted);
    assert_eq!(secrecy(&Now::Encrypted, false), Secrecy::Encrypted);
    assert_eq!(secrecy(&Now::Unknown, false), Secrecy::Unknown);
    assert_eq!(secrecy(&Now::NotEncrypted, false), Secrecy::Clear);
}
