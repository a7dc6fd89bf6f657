//! S3 without IO: a store request of `bucketlog-core` becomes a signed HTTP request, an HTTP answer becomes a reply or
//! one of the three kinds of "no". Sending is the driver's business; it makes exactly one attempt.
//!
//! ```
//! use bucketlog_core::boundary::{ByteRange, Get, GetReply};
//! use bucketlog_core::ids::TimestampMs;
//! use bucketlog_s3_presign::{Bucket, Dialect, Exchange, HttpAnswer, SigningKeys, Style};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let bucket = Bucket::new("https://s3.eu-west-1.amazonaws.com", Style::VirtualHost, "logs", "eu-west-1", Dialect::Aws)?;
//! let keys = SigningKeys::new("AKEXAMPLE", "a secret", None);
//! let get = Get::new("orders/head".into(), ByteRange::All, 1 << 20);
//!
//! let request = get.to_http(&bucket, Some(&keys), TimestampMs(1_700_000_000_000));
//! assert_eq!(request.method, "GET");
//! assert!(request.url.starts_with("https://logs.s3.eu-west-1.amazonaws.com/orders/head?X-Amz-Algorithm="));
//!
//! // The driver sends it and reads at most `request.max_answer` bytes of the answer's body.
//! let mut headers = http::HeaderMap::new();
//! headers.insert("etag", "\"a state\"".parse()?);
//! let answer = HttpAnswer { status: 200, headers, body: "bytes".into(), too_long: false };
//! let GetReply::Found { body, version, .. } = get.reply(&bucket, &answer)? else { unreachable!() };
//! assert_eq!((&body[..], version), (&b"bytes"[..], Some("\"a state\"".into())));
//! # Ok(())
//! # }
//! ```
//!
//! * Requests are signed in their query (AWS Signature Version 4, payload unsigned), each attempt anew; only the host and
//!   `x-amz-*` headers are signed, so that a proxy may rewrite the others.
//! * What an answer means lies in one table, [`classify`](mod@classify); what stores deviate in is data, [`Dialect`].
//! * A signed URL is a secret for its fifteen minutes: [`HttpRequest`] does not show it in its `Debug` output.
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    clippy::panic
)]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::panic,
        reason = "tests may panic"
    )
)]

mod answer;
mod bucket;
pub mod classify;
mod delete_many;
mod dialect;
mod exchange;
mod lesson;
mod list;
mod list_uploads;
mod read;
mod upload;
mod write;

pub use answer::HttpAnswer;
pub use bucket::{Bucket, BucketError, SigningKeys, Style};
pub use dialect::Dialect;
pub use exchange::{Exchange, HttpRequest, MAX_DOCUMENT};
pub use lesson::Lesson;
