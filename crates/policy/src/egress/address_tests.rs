use super::*;

#[test]
fn only_the_public_internet_is_outside() {
    for (class, addresses) in [
        (
            AddressClass::Metadata,
            &["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254"][..],
        ),
        (AddressClass::Loopback, &["127.0.0.1", "127.255.255.254", "::1"]),
        (AddressClass::Private, &["10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1"]),
        (AddressClass::SharedNat, &["100.64.0.1", "100.127.255.255"]),
        (AddressClass::LinkLocal, &["169.254.0.1", "fe80::1", "febf::1"]),
        (AddressClass::Multicast, &["224.0.0.1", "239.255.255.255", "ff02::1"]),
        (AddressClass::Broadcast, &["255.255.255.255"]),
        (AddressClass::Unspecified, &["0.0.0.0", "::"]),
        (
            AddressClass::Documentation,
            &["192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "2001:db8::1", "3fff::1"],
        ),
        (
            AddressClass::Reserved,
            &[
                "0.1.2.3",
                "192.0.0.8",
                "192.88.99.1",
                "240.0.0.1",
                "100::1",
                "5f00::1",
                "2001:20::1",
            ],
        ),
        (AddressClass::UniqueLocal, &["fc00::1", "fd12:3456::1", "fec0::1"]),
        (
            AddressClass::Tunnel,
            &[
                "::ffff:127.0.0.1",
                "::ffff:8.8.8.8",
                "::127.0.0.1",
                "::ffff:0:127.0.0.1",
                "64:ff9b::7f00:1",
                "64:ff9b:1::7f00:1",
                "2002:7f00:1::",
                "2001:0:7f00:1::",
            ],
        ),
    ] {
        for address in addresses {
            let parsed = address.parse().unwrap();
            assert_eq!(address_is_public(parsed), Err(class), "{address}");
        }
    }
    for address in
        ["1.1.1.1", "93.184.216.34", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00::1"]
    {
        assert_eq!(address_is_public(address.parse().unwrap()), Ok(()), "{address}");
    }
}
