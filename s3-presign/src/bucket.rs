//! Which bucket, where, and with which keys.
use crate::Dialect;
use bucketlog_core::boundary::Key;
use rusty_s3::{Credentials, UrlStyle};
use std::fmt;
use url::Url;

/// Where the bucket's name stands in a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Style {
    /// `https://endpoint/bucket/key`
    Path,
    /// `https://bucket.endpoint/key`
    VirtualHost,
}

/// A bucket, or the part of it below a prefix, as requests address it.
#[derive(Clone, Debug)]
pub struct Bucket {
    pub(crate) inner: rusty_s3::Bucket,
    pub(crate) dialect: Dialect,
    prefix: String,
    checksums: bool,
}

/// What can't be the address of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    /// Not a URL with a host.
    #[error("the endpoint is no URL with a host, such as https://s3.eu-west-1.amazonaws.com")]
    Endpoint,
    /// Neither http nor https.
    #[error("the endpoint's scheme is neither http nor https")]
    Scheme,
    /// A name that can't stand in a host name.
    #[error("the bucket's name can't be part of a host name: use the path style")]
    Name,
}

impl Bucket {
    /// A bucket at an endpoint. IPv6 hosts stand in brackets; a dual-stack host is an endpoint like any other.
    ///
    /// # Errors
    /// An endpoint that is no `http` or `https` URL, or a name that does not fit the style.
    pub fn new(endpoint: &str, style: Style, name: &str, region: &str, dialect: Dialect) -> Result<Self, BucketError> {
        let endpoint = Url::parse(endpoint).map_err(|_| BucketError::Endpoint)?;
        let style = match style {
            Style::Path => UrlStyle::Path,
            Style::VirtualHost => UrlStyle::VirtualHost,
        };
        let inner = rusty_s3::Bucket::new(endpoint, style, name.to_owned(), region.to_owned());
        let inner = inner.map_err(|error| match error {
            rusty_s3::BucketError::UnsupportedScheme => BucketError::Scheme,
            rusty_s3::BucketError::MissingHost => BucketError::Endpoint,
            rusty_s3::BucketError::ParseError(_) => BucketError::Name,
        })?;
        Ok(Self { inner, dialect, prefix: String::new(), checksums: false })
    }

    /// The same with `prefix` before every key, and only keys that begin with it in listings.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// The same with a CRC-32C of each written body in `x-amz-checksum-crc32c`, which not every store takes.
    #[must_use]
    pub fn with_checksums(mut self) -> Self {
        self.checksums = true;
        self
    }

    /// Whether requests go over TLS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.inner.base_url().scheme() == "https"
    }

    /// Whether bodies are sent with a checksum.
    pub(crate) fn sends_checksums(&self) -> bool {
        self.checksums
    }

    /// Name of a key's object in the whole bucket.
    pub(crate) fn object(&self, key: &Key) -> String {
        format!("{}{key}", self.prefix)
    }

    /// The key of an object, if it lies below the prefix.
    pub(crate) fn key(&self, object: &str) -> Option<Key> {
        object.strip_prefix(&self.prefix).map(Key::from)
    }
}

/// Keys to sign with; nothing of them shows in `Debug` output.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKeys(pub(crate) Credentials);

impl SigningKeys {
    /// An access key, its secret and, with temporary keys, their session token.
    #[must_use]
    pub fn new(access_key: &str, secret_key: &str, session_token: Option<&str>) -> Self {
        Self(match session_token {
            Some(token) => Credentials::new_with_token(access_key, secret_key, token),
            None => Credentials::new(access_key, secret_key),
        })
    }
}

impl fmt::Debug for SigningKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKeys").finish_non_exhaustive()
    }
}
