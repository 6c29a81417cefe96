//! What programs are told: where the proxy is, whom to trust, where to install to. Ordinary programs
//! find all of it by themselves; nobody has to configure anything.

use std::borrow::Cow;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::secrets::Secret;

/// The home of programs: writable, and gone with the task.
pub(crate) const HOME: &str = "/tmp";
/// Where `pip install` and `npm install -g` put programs.
pub(crate) const PROGRAMS_DIR: &str = "/tmp/.local/bin";

/// Settings of what installs things. As the system's own folders are read-only, `pip` installs to the
/// home by itself (also into an environment of its own, where `PIP_USER` would be in the way) once it
/// does not insist that the system's packages are managed by somebody else.
pub(crate) const INSTALLERS: [(&str, &str); 9] = [
    ("PIP_BREAK_SYSTEM_PACKAGES", "1"),
    ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
    ("PIP_NO_CACHE_DIR", "1"),
    ("PIP_NO_INPUT", "1"),
    ("npm_config_prefix", "/tmp/.local"),
    ("npm_config_audit", "false"),
    ("npm_config_fund", "false"),
    ("npm_config_update_notifier", "false"),
    ("GIT_TERMINAL_PROMPT", "0"),
];

/// Nothing of the sandbox's own goes through the proxy.
const DIRECT: &str = "localhost,127.0.0.1,::1";

const PROXY_VARIABLES: [&str; 4] = ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"];
/// Each names a file of certificates to trust: OpenSSL (with Python, Go, Ruby), curl, requests, pip,
/// Node, git, cargo, npm, Deno, the AWS tools.
const CERTIFICATE_VARIABLES: [&str; 10] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "npm_config_cafile",
    "DENO_CERT",
    "AWS_CA_BUNDLE",
];

/// What programs read.
pub(super) struct Files {
    folder: PathBuf,
    certificate: PathBuf,
    /// `wget` takes its certificates from nowhere else.
    wgetrc: PathBuf,
}

impl Files {
    pub(super) fn below(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            certificate: folder.join("ca.pem"),
            wgetrc: folder.join("wgetrc"),
        }
    }

    /// Writes what is not there.
    pub(super) fn write(&self, certificate: &[u8]) -> Result<(), (PathBuf, io::Error)> {
        if self.certificate.exists() && self.wgetrc.exists() {
            return Ok(());
        }
        let wgetrc = format!("ca_certificate = {}\n", self.certificate.display());
        let failed = |path: &Path| {
            let path = path.to_owned();
            |error| (path, error)
        };
        fs::create_dir_all(&self.folder).map_err(failed(&self.folder))?;
        fs::write(&self.certificate, certificate).map_err(failed(&self.certificate))?;
        fs::write(&self.wgetrc, wgetrc).map_err(failed(&self.wgetrc))
    }
}

pub(super) fn variables(
    port: u16,
    files: &Files,
    secrets: &[Secret],
) -> Vec<(Cow<'static, str>, String)> {
    let proxy = format!("http://127.0.0.1:{port}");
    let certificate = files.certificate.display().to_string();
    let mut all: Vec<(&'static str, String)> =
        PROXY_VARIABLES.iter().map(|name| (*name, proxy.clone())).collect();
    all.extend(CERTIFICATE_VARIABLES.iter().map(|name| (*name, certificate.clone())));
    all.extend([
        ("no_proxy", DIRECT.to_owned()),
        ("NO_PROXY", DIRECT.to_owned()),
        ("NODE_USE_ENV_PROXY", "1".to_owned()),
        ("WGETRC", files.wgetrc.display().to_string()),
    ]);
    let fixed = all.into_iter().map(|(name, value)| (Cow::Borrowed(name), value));
    let of_secrets =
        secrets.iter().map(|secret| (secret.env.clone().into(), secret.handle.clone()));
    fixed.chain(of_secrets).collect()
}
