//! Which bucket, where, and how to speak with it.
use super::credentials::{Credentials, NoKeys, Profile, standard, variable};
use bucketlog_s3_presign::{Bucket, BucketError, Dialect, Style};
use percent_encoding::percent_decode_str;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// How long to wait for what, each within the time that the request as a whole has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// For a connection, TLS and proxies included; default 5 s.
    pub connect: Duration,
    /// For the first byte of the answer, once the request is sent; default 30 s.
    pub first_byte: Duration,
    /// For the next byte, in either direction; default 10 s.
    pub idle: Duration,
    /// Connections kept open while nothing is asked; default 16.
    pub idle_connections: usize,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { connect: seconds(5), first_byte: seconds(30), idle: seconds(10), idle_connections: 16 }
    }
}

/// Which bucket, and how to reach it.
#[derive(Clone, Debug)]
pub struct S3Options {
    /// Name of the bucket.
    pub bucket: String,
    /// What comes before every key, with its own last slash if it is to have one; default nothing.
    pub prefix: String,
    /// URL of the service; `None` for AWS in the region.
    pub endpoint: Option<String>,
    /// Region that requests are signed for; `us-east-1` unless told, which services other than AWS mostly accept.
    pub region: String,
    /// Where the bucket's name stands; by default in the host name at AWS and in the path elsewhere.
    pub style: Option<Style>,
    /// What the store deviates in; by default judged by the endpoint's host.
    pub dialect: Option<Dialect>,
    /// Whether a CRC-32C goes with every body, for the store to check; default no, as some stores refuse it.
    pub checksums: bool,
    /// Keys to sign with.
    pub credentials: Arc<dyn Credentials>,
    /// How long to wait.
    pub timeouts: Timeouts,
}

impl S3Options {
    /// A bucket at AWS in this region.
    pub fn new(bucket: impl Into<String>, region: impl Into<String>, credentials: impl Credentials + 'static) -> Self {
        Self {
            bucket: bucket.into(),
            prefix: String::new(),
            endpoint: None,
            region: region.into(),
            style: None,
            dialect: None,
            checksums: false,
            credentials: Arc::new(credentials),
            timeouts: Timeouts::default(),
        }
    }

    /// `s3://bucket/prefix?endpoint=&region=&profile=&style=&dialect=&checksums=`. What the URL does not say comes from
    /// the environment (`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_DEFAULT_REGION`) and the profile
    /// (`endpoint_url`, `region`); keys come only from there ([`standard`]). A prefix is a folder: a slash follows it.
    ///
    /// # Errors
    /// Another scheme or parameter, keys in the URL, a region that is needed and named nowhere.
    pub fn from_url(text: &str) -> Result<Self, S3OpenError> {
        let url = Url::parse(text).map_err(|_| S3OpenError::Malformed)?;
        let bucket = url.host_str().filter(|_| url.scheme() == "s3").ok_or(S3OpenError::Malformed)?.to_owned();
        if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() || url.port().is_some() {
            return Err(S3OpenError::Malformed);
        }
        let given = Given::parse(&url)?;
        let profile = Profile::new(given.profile.as_deref());
        let endpoint =
            given.endpoint.or_else(|| variable("AWS_ENDPOINT_URL_S3")).or_else(|| variable("AWS_ENDPOINT_URL"));
        let endpoint = endpoint.or_else(|| profile.setting("endpoint_url"));
        let region = given.region.or_else(|| variable("AWS_REGION")).or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = match region.or_else(|| profile.setting("region")) {
            Some(region) => region,
            None if endpoint.is_some() => "us-east-1".to_owned(),
            None => return Err(S3OpenError::NoRegion),
        };
        let credentials = standard(given.profile.as_deref(), &region).map_err(S3OpenError::Keys)?;
        let prefix = percent_decode_str(url.path().trim_matches('/')).decode_utf8();
        let prefix = prefix.map_err(|_| S3OpenError::Malformed)?.into_owned();
        let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
        let Given { style, dialect, checksums, .. } = given;
        let timeouts = Timeouts::default();
        Ok(Self { bucket, prefix, endpoint, region, style, dialect, checksums, credentials, timeouts })
    }
}

impl S3Options {
    /// The bucket's address in its dialect.
    pub(super) fn address(&self) -> Result<Bucket, S3OpenError> {
        let aws = || format!("https://s3.{}.amazonaws.com", self.region);
        let endpoint = self.endpoint.clone().unwrap_or_else(aws);
        let usual = if self.endpoint.is_none() { Style::VirtualHost } else { Style::Path };
        let dialect = self.dialect.unwrap_or_else(|| of_endpoint(&endpoint));
        if let Some(objection) = dialect.objection() {
            return Err(S3OpenError::Unfit(objection));
        }
        let bucket = Bucket::new(&endpoint, self.style.unwrap_or(usual), &self.bucket, &self.region, dialect)?;
        let bucket = bucket.with_prefix(&self.prefix);
        Ok(if self.checksums { bucket.with_checksums() } else { bucket })
    }
}

fn of_endpoint(endpoint: &str) -> Dialect {
    let url = Url::parse(endpoint).ok();
    url.as_ref().and_then(Url::host_str).map_or(Dialect::Aws, Dialect::of_host)
}

/// The names of all dialects that a log may be kept in.
fn dialects() -> String {
    let fit = Dialect::ALL.iter().filter(|dialect| dialect.objection().is_none());
    fit.map(|dialect| dialect.name()).collect::<Vec<_>>().join("|")
}

/// The parameters of a URL.
#[derive(Default)]
struct Given {
    endpoint: Option<String>,
    region: Option<String>,
    profile: Option<String>,
    style: Option<Style>,
    dialect: Option<Dialect>,
    checksums: bool,
}

impl Given {
    fn parse(url: &Url) -> Result<Self, S3OpenError> {
        let mut given = Self::default();
        for (name, value) in url.query_pairs() {
            let text = Some(value.to_string());
            match (&*name, &*value) {
                ("endpoint", _) => given.endpoint = text,
                ("region", _) => given.region = text,
                ("profile", _) => given.profile = text,
                ("style", "path") => given.style = Some(Style::Path),
                ("style", "virtual") => given.style = Some(Style::VirtualHost),
                ("checksums", "crc32c") => given.checksums = true,
                ("dialect", name) if Dialect::from_name(name).is_some() => given.dialect = Dialect::from_name(name),
                _ => return Err(S3OpenError::Parameter(name.into_owned())),
            }
        }
        Ok(given)
    }
}

/// Why a bucket can't be opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum S3OpenError {
    /// Not of the form `s3://bucket/prefix?…`, or with keys in it.
    #[error("an S3 URL is s3://bucket/prefix?endpoint=…&region=…, and never holds keys")]
    Malformed,
    /// A parameter, or a value of one, that is not known.
    #[error("`{0}` is no parameter, or has another value than: endpoint=URL, region=, profile=, style=path|virtual, checksums=crc32c, dialect={names}", names = dialects())]
    Parameter(String),
    /// Neither the URL nor the environment nor the profile names the region.
    #[error("no region is named: add ?region=… or set AWS_REGION")]
    NoRegion,
    /// Not the address of a bucket.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// A store on which no log may be kept, with what to do instead.
    #[error("{0}")]
    Unfit(&'static str),
    /// The environment names keys that can't be used.
    #[error(transparent)]
    Keys(NoKeys),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_url_is_heard() {
        let url = "s3://logs/a%20b/c/?endpoint=http://localhost:9000&region=r&profile=p&style=virtual&dialect=ceph&checksums=crc32c";
        let options = S3Options::from_url(url).unwrap();
        assert_eq!((options.bucket.as_str(), options.prefix.as_str()), ("logs", "a b/c/"));
        assert_eq!((options.endpoint.as_deref(), options.region.as_str()), (Some("http://localhost:9000"), "r"));
        assert_eq!((options.style, options.dialect), (Some(Style::VirtualHost), Some(Dialect::CephRgw)));
        assert!(options.checksums);
        assert!(format!("{:?}", options.credentials).contains("name: \"p\""), "{:?}", options.credentials);
    }

    #[test]
    fn a_bucket_alone_has_no_prefix() {
        assert_eq!(S3Options::from_url("s3://logs?region=r").unwrap().prefix, "");
        assert_eq!(S3Options::from_url("s3://logs/?region=r").unwrap().prefix, "");
    }

    #[test]
    fn an_unknown_parameter_or_value_is_named() {
        for (url, name) in [("s3://logs?regoin=r", "regoin"), ("s3://logs?style=other", "style")] {
            assert_eq!(S3Options::from_url(url).unwrap_err(), S3OpenError::Parameter(name.to_owned()));
        }
    }
}
