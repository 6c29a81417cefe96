use matrix_sdk::deserialized_responses::DeviceLinkProblem;

use super::*;

/// E81: only a device that its owner's keys have signed is taken without another look.
#[test]
fn only_signed_devices_are_certain() {
    use VerificationLevel as Level;
    use VerificationState::{Unverified, Verified};
    assert_eq!(device(&Verified), Device::Signed);
    assert_eq!(device(&Unverified(Level::UnverifiedIdentity)), Device::Signed);
    assert_eq!(device(&Unverified(Level::UnsignedDevice)), Device::Unsigned);
    for problem in [DeviceLinkProblem::MissingDevice, DeviceLinkProblem::InsecureSource] {
        assert_eq!(device(&Unverified(Level::None(problem))), Device::Untold);
    }
}
