//! A program in the sandbox that uses the proxy.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::harness::{Client, PATIENCE, connect};

/// An answer that has come whole.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Got {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A connection that carries one request after the other.
pub(crate) struct Session {
    sender: SendRequest<Full<Bytes>>,
    _connection: JoinSet<()>,
}

impl Session {
    async fn over(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) -> Self {
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let mut running = JoinSet::new();
        running.spawn(async move { drop(connection.await) });
        Self { sender, _connection: running }
    }

    pub(crate) async fn send(&mut self, request: Request<Full<Bytes>>) -> Response<Incoming> {
        timeout(PATIENCE, self.sender.ready()).await.unwrap().unwrap();
        timeout(PATIENCE, self.sender.send_request(request)).await.unwrap().unwrap()
    }

    pub(crate) async fn ask(&mut self, request: Request<Full<Bytes>>) -> Got {
        let (parts, body) = self.send(request).await.into_parts();
        let body = timeout(PATIENCE, body.collect()).await.unwrap().unwrap().to_bytes();
        Got { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) async fn get(&mut self, uri: &str, host: &str) -> Got {
        self.ask(get(uri, host)).await
    }
}

pub(crate) fn get(uri: &str, host: &str) -> Request<Full<Bytes>> {
    request("GET", uri, host, "")
}

pub(crate) fn request(
    method: &str,
    uri: &str,
    host: &str,
    body: impl Into<Bytes>,
) -> Request<Full<Bytes>> {
    let body = Full::new(body.into());
    Request::builder().method(method).uri(uri).header("host", host).body(body).unwrap()
}

/// How a client greets the server in its tunnel.
pub(crate) enum Sni<'a> {
    Says(&'a str),
    Nothing,
}

/// Whether the head of an answer is there. That a body is waited for is no answer.
fn has_head(answer: &mut Vec<u8>) -> bool {
    let end = |answer: &[u8]| answer.windows(4).position(|end| end == b"\r\n\r\n");
    while let Some(at) = end(answer).filter(|_| answer.starts_with(b"HTTP/1.1 100")) {
        answer.drain(..at + 4);
    }
    end(answer).is_some()
}

impl Client {
    /// A connection for `GET http://host/path`.
    pub(crate) async fn plain(&self) -> Session {
        Session::over(connect(&self.socket).await).await
    }

    /// `GET http://host/path`, by a program that does as it should.
    pub(crate) async fn get_plain(&self, url: &str) -> Got {
        let host = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
        self.plain().await.get(url, host).await
    }

    /// Sends bytes as they are and returns all that comes back.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = connect(&self.socket).await;
        // What is refused may be refused before all of it was sent.
        drop(stream.write_all(bytes).await);
        let mut answer = Vec::new();
        let reading = async {
            let mut piece = [0; 4096];
            // Until the head is there or the other side has closed.
            while !has_head(&mut answer) {
                match stream.read(&mut piece).await {
                    Ok(0) | Err(_) => break,
                    Ok(read) => answer.extend_from_slice(piece.get(..read).unwrap()),
                }
            }
        };
        timeout(PATIENCE, reading).await.expect("no answer to raw bytes");
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Asks for a tunnel; the status, and the tunnel if there is one.
    pub(crate) async fn connect_to(&self, authority: &str) -> (u16, String, UnixStream) {
        let mut stream = connect(&self.socket).await;
        let head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let reading = async {
            while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
                let byte = stream.read_u8().await;
                let Ok(byte) = byte else { break };
                answer.push(byte);
            }
        };
        timeout(PATIENCE, reading).await.expect("no answer to CONNECT");
        let text = String::from_utf8_lossy(&answer).into_owned();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, text, stream)
    }

    pub(crate) async fn ca(&self) -> CertificateDer<'static> {
        let pem = self.request("GET", "/ca.pem", "").await.body().await;
        CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()
    }

    /// A tunnel with TLS in it.
    pub(crate) async fn tunnel(&self, authority: &str, sni: Sni<'_>) -> std::io::Result<Session> {
        let (status, text, stream) = self.connect_to(authority).await;
        assert_eq!(status, 200, "{text}");
        let mut roots = RootCertStore::empty();
        roots.add(self.ca().await).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let host = authority.split(':').next().unwrap().to_owned();
        let name = match sni {
            Sni::Says(name) => name.to_owned(),
            Sni::Nothing => host.clone(),
        };
        config.enable_sni = matches!(sni, Sni::Says(_));
        if name != host {
            // One that does not mind whom it talks to.
            config.dangerous().set_certificate_verifier(Arc::new(Careless));
        }
        let name = ServerName::try_from(name).unwrap();
        let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
        let stream = timeout(PATIENCE, connecting).await.expect("no handshake")?;
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        Ok(Session::over(stream).await)
    }

    /// `GET https://host/path`, by a program that does as it should.
    pub(crate) async fn get_secure(&self, host: &str, path: &str) -> Got {
        let mut tunnel = self.tunnel(&format!("{host}:443"), Sni::Says(host)).await.unwrap();
        tunnel.get(path, host).await
    }
}

#[derive(Debug)]
struct Careless;

mod careless {
    use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
    use rustls::{DigitallySignedStruct, Error, SignatureScheme};

    impl ServerCertVerifier for super::Careless {
        fn verify_server_cert(
            &self,
            _: &CertificateDer<'_>,
            _: &[CertificateDer<'_>],
            _: &ServerName<'_>,
            _: &[u8],
            _: UnixTime,
        ) -> Result<ServerCertVerified, Error> {
            Ok(ServerCertVerified::assertion())
        }

        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn verify_tls13_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Ok(HandshakeSignatureValid::assertion())
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            rustls::crypto::ring::default_provider()
                .signature_verification_algorithms
                .supported_schemes()
        }
    }
}
