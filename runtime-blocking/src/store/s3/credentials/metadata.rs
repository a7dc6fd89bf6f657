//! Keys from the services that a cloud offers to its own machines and containers.
use super::super::Timeouts;
use super::super::wire::{Lost, Wire};
use super::environment::variable;
use super::{Credentials, Keys, NoKeys, document};
use bucketlog_s3_presign::{HttpAnswer, HttpRequest, MAX_DOCUMENT};
use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};
use url::{Host, Url};

/// Keys of the role of an EC2 instance (IMDSv2 at `AWS_EC2_METADATA_SERVICE_ENDPOINT`, by default
/// `http://169.254.169.254`; version 1 is not asked).
#[derive(Debug)]
pub struct Instance {
    endpoint: String,
    wire: Wire,
}

/// Keys of a container's role (ECS, EKS pod identity): from `AWS_CONTAINER_CREDENTIALS_RELATIVE_URI` or `…_FULL_URI`,
/// with the token that `AWS_CONTAINER_AUTHORIZATION_TOKEN` or the file `…_TOKEN_FILE` holds, which is read each time.
#[derive(Debug)]
pub struct Container {
    url: String,
    token: Option<String>,
    token_file: Option<String>,
    wire: Wire,
}

impl Default for Instance {
    fn default() -> Self {
        let set = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
        Self::at(set.as_deref().unwrap_or("http://169.254.169.254"))
    }
}

impl Instance {
    /// The service at this endpoint.
    #[must_use]
    pub fn at(endpoint: &str) -> Self {
        Self { endpoint: endpoint.trim_end_matches('/').to_owned(), wire: wire() }
    }

    fn ask(&self, path: &str, token: &str, until: Instant) -> Result<String, NoKeys> {
        let headers = vec![("x-aws-ec2-metadata-token", token.to_owned())];
        text(&self.wire, &request("GET", format!("{}{path}", self.endpoint), headers), until)
    }
}

impl Credentials for Instance {
    fn keys(&self, until: Instant) -> Result<Option<Keys>, NoKeys> {
        const ROLES: &str = "/latest/meta-data/iam/security-credentials/";
        let headers = vec![("x-aws-ec2-metadata-token-ttl-seconds", "60".to_owned())];
        let token = request("PUT", format!("{}/latest/api/token", self.endpoint), headers);
        let token = text(&self.wire, &token, until)?;
        let roles = self.ask(ROLES, &token, until)?;
        let role = roles.lines().next().ok_or_else(|| NoKeys("the instance has no role".to_owned()))?;
        let keys = self.ask(&format!("{ROLES}{role}"), &token, until)?;
        document::parse(keys.as_bytes(), "the metadata service").map(Some)
    }
}

impl Container {
    /// As the environment says; `None` if it names no service.
    ///
    /// # Errors
    /// A full URI that is neither encrypted nor on this machine.
    pub fn from_environment() -> Result<Option<Self>, NoKeys> {
        let relative =
            variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").map(|path| format!("http://169.254.170.2{path}"));
        let Some(url) = relative.or_else(|| variable("AWS_CONTAINER_CREDENTIALS_FULL_URI")) else { return Ok(None) };
        let mut container = Self::at(&url)?;
        container.token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
        container.token_file = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
        Ok(Some(container))
    }

    /// The service at this URL, without a token.
    ///
    /// # Errors
    /// A URL that is neither encrypted nor on this machine: the keys would travel in the open.
    pub fn at(url: &str) -> Result<Self, NoKeys> {
        if !is_safe(url) {
            return Err(NoKeys("the container's credentials URI is neither https nor on this machine".to_owned()));
        }
        let tls = url.starts_with("https:");
        Ok(Self { url: url.to_owned(), token: None, token_file: None, wire: Wire::direct(Timeouts::default(), tls) })
    }

    /// The same with a token from this file, read each time.
    #[must_use]
    pub fn with_token_file(mut self, path: impl Into<String>) -> Self {
        self.token_file = Some(path.into());
        self
    }

    fn token(&self) -> Result<Option<String>, NoKeys> {
        let Some(path) = &self.token_file else { return Ok(self.token.clone()) };
        let text = fs::read_to_string(path).map_err(|error| NoKeys(format!("{path}: {error}")))?;
        Ok(Some(text.trim().to_owned()))
    }
}

impl Credentials for Container {
    fn keys(&self, until: Instant) -> Result<Option<Keys>, NoKeys> {
        let headers = self.token()?.into_iter().map(|token| ("authorization", token)).collect();
        let sent = request("GET", self.url.clone(), headers);
        document::parse(text(&self.wire, &sent, until)?.as_bytes(), "the container's service").map(Some)
    }
}

/// These services answer at once or not at all, and never through a proxy.
fn wire() -> Wire {
    let second = Duration::from_secs(1);
    Wire::direct(Timeouts { connect: second, first_byte: 5 * second, ..Timeouts::default() }, false)
}

fn is_safe(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let local = match url.host() {
        Some(Host::Ipv4(ip)) => {
            ip.is_loopback() || [2, 23].map(|last| Ipv4Addr::new(169, 254, 170, last)).contains(&ip)
        }
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    };
    url.scheme() == "https" || (url.scheme() == "http" && local)
}

/// A request without a body. Keys are some hundred bytes; tokens at most some thousand.
pub(super) fn request(method: &'static str, url: String, headers: Vec<(&'static str, String)>) -> HttpRequest {
    HttpRequest { method, url, headers, body: Vec::new(), max_answer: MAX_DOCUMENT }
}

/// The text of a good answer. A bad one is told by its status, never by its text.
pub(super) fn text(wire: &Wire, sent: &HttpRequest, until: Instant) -> Result<String, NoKeys> {
    match wire.exchange(sent, until) {
        Ok(HttpAnswer { status: 200, body, too_long: false, .. }) => Ok(String::from_utf8_lossy(&body).into_owned()),
        Ok(answer) => Err(NoKeys(format!("the service for keys answered with status {}", answer.status))),
        Err(Lost::NotSent(why) | Lost::Unknown(why)) => Err(NoKeys(format!("the service for keys: {why}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_travel_in_the_open_only_on_this_machine() {
        let safe = [
            "https://example.com/keys",
            "http://127.0.0.1:1/",
            "http://localhost/",
            "http://[::1]/",
            "http://169.254.170.2/v2",
        ];
        for url in safe {
            assert!(is_safe(url), "{url}");
        }
        for url in ["http://example.com/", "http://169.254.169.254/", "ftp://127.0.0.1/", "nonsense"] {
            assert!(Container::at(url).is_err(), "{url}");
        }
    }
}
