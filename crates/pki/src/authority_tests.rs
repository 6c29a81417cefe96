use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use cloister_protocol::admin::clients::ClientCertificate;
use cloister_protocol::{ClientId, UserId};
use rcgen::{CertificateParams, ExtendedKeyUsagePurpose, IsCa, KeyPair, SanType};
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection};

use super::*;
use crate::{
    Identity, Invitation, NewKey, Roster, admin_server, enrolling_client, enrolment_server,
    server_name,
};

const HOUR: Duration = Duration::from_secs(3600);

#[expect(
    clippy::disallowed_methods,
    reason = "rustls asks the machine for the time; so do its tests"
)]
fn now() -> Moment {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Moment::from_ms(i64::try_from(since.as_millis()).unwrap())
}

fn name(user: u32, client: u32) -> ClientName {
    ClientName { user: UserId::from_number(user), client: ClientId::from_number(client) }
}

/// Lets in whoever was put on it.
#[derive(Default)]
struct List(Mutex<HashSet<ClientName>>);

impl Roster for List {
    fn admits(&self, name: ClientName) -> bool {
        self.0.lock().unwrap().contains(&name)
    }
}

struct World {
    _dir: tempfile::TempDir,
    authority: Authority,
    roster: Arc<List>,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let authority = Authority::open(&dir.path().join("ca"), now()).unwrap();
        Self { _dir: dir, authority, roster: Arc::default() }
    }

    fn enrol(&self, user: u32, client: u32) -> Identity {
        self.enrol_for(user, client, now(), now().after(HOUR))
    }

    fn enrol_for(&self, user: u32, client: u32, from: Moment, until: Moment) -> Identity {
        let name = name(user, client);
        self.roster.0.lock().unwrap().insert(name);
        let key = NewKey::make().unwrap();
        let request = SigningRequest::parse(&key.request().unwrap()).unwrap();
        let certificate = self.authority.issue_client(&request, name, from, until).unwrap();
        key.with(
            "here:1",
            ClientCertificate {
                user: "ada".parse().unwrap(),
                client: name.client,
                certificate,
                roots: self.authority.roots_pem(),
                issued_at: from.ms(),
                expires_at: until.ms(),
            },
        )
    }

    fn server(&self) -> ServerConfig {
        let identity = self.authority.issue_server(&[], now()).unwrap();
        admin_server(&self.authority, &identity, self.roster.clone()).unwrap()
    }

    fn lets_in(&self, identity: &Identity) -> bool {
        handshake(identity.tls().unwrap(), self.server()).is_ok()
    }
}

/// Both sides talk until they agree, or one of them refuses.
fn handshake(
    client: ClientConfig,
    server: ServerConfig,
) -> Result<ServerConnection, rustls::Error> {
    let mut client = ClientConnection::new(Arc::new(client), server_name())?;
    let mut server = ServerConnection::new(Arc::new(server))?;
    for _ in 0..10 {
        let mut wire = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut wire).unwrap();
        }
        let mut read = wire.as_slice();
        while !read.is_empty() {
            server.read_tls(&mut read).unwrap();
            server.process_new_packets()?;
        }
        let mut wire = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut wire).unwrap();
        }
        let mut read = wire.as_slice();
        while !read.is_empty() {
            client.read_tls(&mut read).unwrap();
            client.process_new_packets()?;
        }
        if !client.is_handshaking() && !server.is_handshaking() && !client.wants_write() {
            return Ok(server);
        }
    }
    Err(rustls::Error::HandshakeNotComplete)
}

#[test]
fn an_enrolled_client_gets_in_and_its_certificate_says_who_it_is() {
    let world = World::new();
    let identity = world.enrol(3, 9);
    let server = handshake(identity.tls().unwrap(), world.server()).unwrap();
    let shown = server.peer_certificates().unwrap();
    let presented = Presented::read(shown.first().unwrap()).unwrap();
    assert_eq!(presented.name, name(3, 9));
    assert_eq!(world.authority.root_of(&presented), Some(1));
}

/// E73: no certificate, an expired one, another authority's, a revoked client's.
#[test]
fn nobody_else_gets_in() {
    let world = World::new();
    let pin = world.authority.fingerprint();
    let mut nobody = enrolling_client(pin).unwrap();
    nobody.alpn_protocols = vec![crate::ADMIN_PROTOCOL.to_vec()];
    assert!(handshake(nobody, world.server()).is_err(), "without a certificate");

    let long_ago = now().before(HOUR * 48);
    let expired = world.enrol_for(1, 1, long_ago, long_ago.after(HOUR));
    assert!(!world.lets_in(&expired), "expired");

    let elsewhere = World::new();
    let stranger = elsewhere.enrol(1, 1);
    let mut config = stranger.tls().unwrap();
    config.dangerous().set_certificate_verifier(Arc::new(TrustsAll));
    assert!(handshake(config, world.server()).is_err(), "of another authority");

    let revoked = world.enrol(1, 2);
    assert!(world.lets_in(&revoked));
    world.roster.0.lock().unwrap().clear();
    assert!(!world.lets_in(&revoked), "revoked");
}

/// E73: certificates of our own root that are for something else, or carry other names.
#[test]
fn a_certificate_for_anything_else_is_no_way_in() {
    let world = World::new();
    world.roster.0.lock().unwrap().insert(name(1, 1));
    let right = || SanType::URI("cloister://user/u1/client/K1".try_into().unwrap());
    let uri = |text: &str| SanType::URI(text.try_into().unwrap());
    let client = ExtendedKeyUsagePurpose::ClientAuth;
    let server = ExtendedKeyUsagePurpose::ServerAuth;
    let plain = IsCa::ExplicitNoCa;
    let attempt = |names: Vec<SanType>, purposes: Vec<ExtendedKeyUsagePurpose>, ca: IsCa| {
        let mut params = CertificateParams::default();
        params.subject_alt_names = names;
        params.extended_key_usages = purposes;
        params.is_ca = ca;
        let key = KeyPair::generate().unwrap();
        let made = params.signed_by(&key, &world.authority.issuing.issuer).unwrap();
        let identity = ClientCertificate {
            user: "ada".parse().unwrap(),
            client: ClientId::from_number(1),
            certificate: made.pem(),
            roots: world.authority.roots_pem(),
            issued_at: 0,
            expires_at: i64::MAX,
        };
        world.lets_in(&NewKey::of(key).with("here:1", identity))
    };
    assert!(attempt(vec![right()], vec![client.clone()], plain), "the right one");
    assert!(!attempt(vec![right()], vec![server.clone()], plain), "a server's");
    assert!(!attempt(vec![right()], vec![client.clone(), server], plain), "both");
    assert!(!attempt(vec![right()], vec![], plain), "no purpose");
    let authority = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    assert!(!attempt(vec![right()], vec![client.clone()], authority), "an authority's");
    let cell = vec![uri("cloister://cell/w1")];
    let dns = vec![SanType::DnsName("u1".try_into().unwrap())];
    let two = vec![right(), uri("cloister://user/u2/client/K2")];
    let more = vec![right(), SanType::DnsName("localhost".try_into().unwrap())];
    let longer = vec![uri("cloister://user/u1/client/K1/../K2")];
    let unknown = vec![uri("cloister://user/u2/client/K1")];
    for names in [vec![], cell, dns, two, more, longer, unknown] {
        assert!(!attempt(names.clone(), vec![client.clone()], plain), "{names:?}");
    }
}

#[test]
fn what_a_signing_request_asks_for_does_not_count() {
    let world = World::new();
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.subject_alt_names =
        vec![SanType::URI("cloister://user/u1/client/K1".try_into().unwrap())];
    params.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let request = params.serialize_request(&key).unwrap().pem().unwrap();
    let request = SigningRequest::parse(&request).unwrap();
    let until = now().after(HOUR);
    let pem = world.authority.issue_client(&request, name(7, 8), now(), until).unwrap();
    use rustls::pki_types::pem::PemObject;
    let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    assert_eq!(Presented::read(&der).unwrap().name, name(7, 8));
    assert!(SigningRequest::parse("nonsense").is_err());
    assert!(SigningRequest::parse(&pem).is_err(), "a certificate is no request");
}

/// E80: in each phase both those who came before and those who came since get in, and know whom they
/// talk to; in the end only what the root that issues has issued is good.
#[test]
fn a_rotation_locks_nobody_out_until_it_is_finished() {
    let mut world = World::new();
    let old = world.enrol(1, 1);
    world.authority.rotate(now()).unwrap();
    assert_eq!(world.authority.phase(), Phase::Rotating);
    assert!(world.authority.rotate(now()).is_err(), "one at a time");
    let new = world.enrol(1, 2);
    assert!(world.lets_in(&old) && world.lets_in(&new));

    world.authority.rollback().unwrap();
    assert_eq!(world.authority.phase(), Phase::RolledBack);
    assert!(world.authority.rollback().is_err(), "once");
    let after = world.enrol(1, 3);
    assert!(world.lets_in(&old) && world.lets_in(&new) && world.lets_in(&after));
    world.authority.finish().unwrap();
    assert!(world.lets_in(&old) && world.lets_in(&after));
    assert!(!world.lets_in(&new), "of the root that was given up");

    world.authority.rotate(now()).unwrap();
    let newest = world.enrol(1, 4);
    world.authority.finish().unwrap();
    assert!(world.lets_in(&newest));
    assert!(!world.lets_in(&old), "the trust in the old root has ended");
    assert!(world.authority.finish().is_err());
}

/// E80: a process that ends in any phase finds the authority as it left it.
#[test]
fn every_phase_survives_a_restart() {
    let mut world = World::new();
    let dir = world.authority.dir.clone();
    let old = world.enrol(1, 1);
    let again = |world: &mut World| world.authority = Authority::open(&dir, now()).unwrap();
    world.authority.rotate(now()).unwrap();
    let new = world.enrol(1, 2);
    again(&mut world);
    assert_eq!(world.authority.phase(), Phase::Rotating);
    assert!(world.lets_in(&old) && world.lets_in(&new));
    world.authority.rollback().unwrap();
    again(&mut world);
    assert_eq!(world.authority.phase(), Phase::RolledBack);
    world.authority.finish().unwrap();
    again(&mut world);
    assert_eq!((world.authority.phase(), world.authority.issuing()), (Phase::Settled, 1));
    assert!(world.lets_in(&old) && !world.lets_in(&new));
    // A root that was made and never taken into use does not stand in the way.
    Root::create(&dir, 2, now()).unwrap();
    again(&mut world);
    world.authority.rotate(now()).unwrap();
    assert!(world.lets_in(&old));
}

#[test]
fn an_invitation_finds_the_root_it_names_in_every_phase_and_no_other() {
    let mut world = World::new();
    let enrols = |world: &World, pin| {
        let identity = world.authority.issue_server(&[], now()).unwrap();
        let server = enrolment_server(&identity).unwrap();
        handshake(enrolling_client(pin).unwrap(), server).is_ok()
    };
    let first = world.authority.fingerprint();
    assert!(enrols(&world, first));
    assert!(!enrols(&world, World::new().authority.fingerprint()), "another machine's");
    world.authority.rotate(now()).unwrap();
    let second = world.authority.fingerprint();
    assert!(enrols(&world, first) && enrols(&world, second));
    world.authority.rollback().unwrap();
    assert!(enrols(&world, first) && enrols(&world, second));
    world.authority.finish().unwrap();
    assert!(enrols(&world, first) && !enrols(&world, second));
}

#[test]
fn an_invitation_is_one_word() {
    let invitation = Invitation {
        address: "agents.example:8485".to_owned(),
        fingerprint: World::new().authority.fingerprint(),
        number: 12,
        secret: cloister_protocol::admin::Key::new("s3cret"),
    };
    let word = invitation.to_string();
    assert!(!word.contains(char::is_whitespace));
    let read: Invitation = format!(" {word}\n").parse().unwrap();
    assert_eq!((read.number, read.secret.expose()), (12, "s3cret"));
    assert_eq!(read.fingerprint, invitation.fingerprint);
    for bad in ["", "hello", "cloister-enroll-", "cloister-enroll-e30"] {
        assert!(bad.parse::<Invitation>().is_err(), "{bad:?}");
    }
}

#[test]
fn keys_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    for file in std::fs::read_dir(&world.authority.dir).unwrap() {
        let mode = file.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let key = world.authority.dir.join("root-1.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let refused = Authority::open(&world.authority.dir, now()).err().unwrap();
    assert!(refused.to_string().contains("others can read it"), "{refused}");
    let identity = world.enrol(1, 1);
    assert!(!format!("{identity:?}").contains("PRIVATE"), "a key that prints itself");
}

/// Believes any server: whether the server believes the client is the question.
#[derive(Debug)]
struct TrustsAll;

impl rustls::client::danger::ServerCertVerifier for TrustsAll {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &rustls::pki_types::ServerName<'_>,
        _ocsp_response: &[u8],
        _now: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        crate::tls::provider().signature_verification_algorithms.supported_schemes()
    }
}
