//! A browser without script: requests, a cookie, forms.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::world::PATIENCE;

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) location: Option<String>,
    pub(crate) html: String,
}

impl Reply {
    /// The value of a form's field.
    pub(crate) fn field(&self, name: &str) -> String {
        let tag = self.html.split('<').find(|tag| tag.contains(&format!("name=\"{name}\"")));
        let tag = tag.unwrap_or_else(|| panic!("{name}: {}", self.html));
        let (_, rest) = tag.split_once("value=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    }
}

pub(crate) struct Browsing {
    address: String,
    cookies: Vec<(String, String)>,
}

impl Browsing {
    /// `url`: any address of the server.
    pub(crate) fn new(url: &str) -> Self {
        let address = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
        Self { address: address.to_owned(), cookies: Vec::new() }
    }

    /// The cookies, as a request sends them.
    pub(crate) fn cookies(&self) -> String {
        let cookies = self.cookies.iter().map(|(name, value)| format!("{name}={value}"));
        cookies.collect::<Vec<_>>().join("; ")
    }

    pub(crate) async fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, "").await
    }

    pub(crate) async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let encode = |text: &str| text.bytes().map(|b| format!("%{b:02X}")).collect::<String>();
        let fields: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        self.send("POST", path, &fields.join("&")).await
    }

    /// Opens a login link and presses its button; the page that this leads to.
    pub(crate) async fn log_in(&mut self, link: &str) -> Reply {
        let page = self.get(link).await;
        let fields = [("token", &*page.field("token")), ("shown", &*page.field("shown"))];
        let entered = self.post("/login", &fields).await;
        assert_eq!((entered.status, entered.location.as_deref()), (303, Some("/")));
        self.open("/").await
    }

    /// Opens a page and whatever it leads to.
    pub(crate) async fn open(&mut self, path: &str) -> Reply {
        let mut path = path.to_owned();
        for _ in 0..5 {
            let reply = self.get(&path).await;
            match reply.location {
                Some(next) => path = next.split('#').next().unwrap().to_owned(),
                None => return reply,
            }
        }
        panic!("{path} leads round in circles");
    }

    async fn send(&mut self, method: &str, path: &str, body: &str) -> Reply {
        let path = path.strip_prefix(&format!("http://{}", self.address)).unwrap_or(path);
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nAccept: text/html\r\nCookie: {1}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {2}\r\n\
             Connection: close\r\n\r\n{body}",
            self.address,
            self.cookies(),
            body.len(),
        );
        let exchange = async {
            let mut stream = TcpStream::connect(&self.address).await.unwrap();
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.unwrap();
            String::from_utf8_lossy(&answer).into_owned()
        };
        let answer = timeout(PATIENCE, exchange).await.unwrap();
        let (head, html) = answer.split_once("\r\n\r\n").unwrap();
        let header = |name: &str| {
            let line = |line: &str| {
                let (key, value) = line.split_once(": ")?;
                key.eq_ignore_ascii_case(name).then(|| value.to_owned())
            };
            head.lines().filter_map(line).collect::<Vec<_>>()
        };
        for cookie in header("set-cookie") {
            assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite"), "{cookie}");
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let location = header("location").into_iter().next();
        Reply { status, location, html: html.to_owned() }
    }
}
