//! An HTTP answer and what is read from its headers and error document.
use bucketlog_core::boundary::Version;
use bucketlog_core::ids::TimestampMs;
use bytes::Bytes;
use http::HeaderMap;
use instant_xml::FromXml;
use jiff02::fmt::rfc2822;

/// What came back.
#[derive(Clone, Debug, Default)]
pub struct HttpAnswer {
    /// Status code.
    pub status: u16,
    /// All headers.
    pub headers: HeaderMap,
    /// The body, or nothing if it was longer than the limit.
    pub body: Bytes,
    /// Whether the body was longer than the limit.
    pub too_long: bool,
}

impl HttpAnswer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The state that the answer speaks of, byte for byte as the store names it.
    pub(crate) fn version(&self) -> Option<Version> {
        self.header("etag").filter(|tag| !tag.is_empty()).map(Version::from)
    }

    pub(crate) fn content_length(&self) -> Option<u64> {
        self.header("content-length")?.parse().ok()
    }

    /// Time of a header in HTTP's form.
    pub(crate) fn time(&self, name: &str) -> Option<TimestampMs> {
        let time = rfc2822::DateTimeParser::new().parse_timestamp(self.header(name)?).ok()?;
        Some(TimestampMs(time.as_millisecond()))
    }

    /// The document with this root in the body, if it came whole: the parser takes one that breaks off between two
    /// elements for a shorter one.
    pub(crate) fn document(&self, root: &str) -> Option<&str> {
        let text = self.text()?;
        let (_, last) = text.rsplit_once('<')?;
        let tag = last.strip_suffix('>')?.trim_ascii_end();
        let is_end = tag.strip_prefix('/') == Some(root);
        let is_empty_root = tag.ends_with('/') && tag.starts_with(root);
        (is_end || is_empty_root).then_some(text)
    }

    /// The text of the body. A store that is slow sends white space ahead of it to keep the connection.
    fn text(&self) -> Option<&str> {
        str::from_utf8(&self.body).ok().map(str::trim_ascii)
    }

    /// The error document in the body, whatever the status.
    pub(crate) fn error(&self) -> Option<ErrorDocument> {
        let text = self.text()?;
        instant_xml::from_str(text).ok().or_else(|| {
            let InNamespace { code, message, request_id, region } = instant_xml::from_str(text).ok()?;
            Some(ErrorDocument { code, message, request_id, region })
        })
    }
}

/// What an error document says, as AWS writes it.
#[derive(Clone, Debug, Default, FromXml)]
#[xml(rename = "Error")]
pub(crate) struct ErrorDocument {
    #[xml(rename = "Code")]
    pub(crate) code: Option<String>,
    #[xml(rename = "Message")]
    pub(crate) message: Option<String>,
    #[xml(rename = "RequestId")]
    pub(crate) request_id: Option<String>,
    #[xml(rename = "Region")]
    pub(crate) region: Option<String>,
}

/// The same as some others write it: the namespace is part of an element's name.
#[derive(FromXml)]
#[xml(rename = "Error", ns("http://s3.amazonaws.com/doc/2006-03-01/"))]
struct InNamespace {
    #[xml(rename = "Code")]
    code: Option<String>,
    #[xml(rename = "Message")]
    message: Option<String>,
    #[xml(rename = "RequestId")]
    request_id: Option<String>,
    #[xml(rename = "Region")]
    region: Option<String>,
}
