//! Where Discord's API is.

/// The version that is spoken.
const VERSION: &str = "v10";
/// Discord's own.
const DISCORD: &str = "https://discord.com";

/// Where the API is, if not at Discord's own address: a proxy, a fake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ApiUrl {
    /// With its port and whatever comes before `/api`.
    pub(crate) host: String,
    pub(crate) plain: bool,
}

/// Why something is no address of the API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAddress {
    NoUrl,
    /// It names another version of the API.
    Version(String),
}

impl ApiUrl {
    /// Reads `http://HOST[:PORT][/PATH]`, with or without the `/api/v10` that follows it.
    pub(crate) fn parse(url: &str) -> Result<Self, NoAddress> {
        let url = url.trim().trim_end_matches('/');
        let (plain, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (true, rest),
            (None, Some(rest)) => (false, rest),
            (None, None) => return Err(NoAddress::NoUrl),
        };
        let fit = |c: char| c.is_ascii_graphic() && !matches!(c, '@' | '?' | '#' | '"' | '\\');
        let host = rest.split('/').next().unwrap_or_default();
        if host.is_empty() || !rest.chars().all(fit) {
            return Err(NoAddress::NoUrl);
        }
        let before = match rest.rsplit_once("/api/") {
            Some((before, VERSION)) => before,
            Some((_, other)) if is_version(other) => {
                return Err(NoAddress::Version(other.to_owned()));
            }
            Some(_) | None => rest.strip_suffix("/api").unwrap_or(rest),
        };
        Ok(Self { host: before.trim_end_matches('/').to_owned(), plain })
    }

    /// `http://HOST[:PORT]` without a path.
    pub(crate) fn origin(&self) -> String {
        let host = self.host.split('/').next().unwrap_or_default();
        format!("{}://{host}", self.scheme())
    }

    const fn scheme(&self) -> &'static str {
        if self.plain { "http" } else { "https" }
    }
}

/// What every address of a request begins with.
pub(super) fn base(api: Option<&ApiUrl>) -> String {
    let before = match api {
        Some(api) => format!("{}://{}", api.scheme(), api.host),
        None => DISCORD.to_owned(),
    };
    format!("{before}/api/{VERSION}/")
}

fn is_version(part: &str) -> bool {
    let number = part.strip_prefix('v').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
#[path = "address_tests.rs"]
mod tests;
