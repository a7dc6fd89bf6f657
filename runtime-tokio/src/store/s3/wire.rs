//! One HTTP exchange over reqwest; no other file knows that crate.
use bucketlog_blocking::store::s3::{HttpAnswer, HttpRequest, MAX_DOCUMENT, Timeouts};
use bucketlog_core::boundary::Fault;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use reqwest::{Body, Client, Error, Method, Response, redirect, retry};
use rustls::{ClientConfig, RootCertStore};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;
use tokio::sync::watch::{self, Receiver, Sender};
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout, timeout_at};

/// Connections to one endpoint, kept open between exchanges.
#[derive(Debug)]
pub(super) struct Wire {
    /// The reason where there is none.
    client: Result<Client, String>,
    timeouts: Timeouts,
}

impl Wire {
    /// Goes through the proxy that the environment names, if any.
    pub(super) fn new(timeouts: Timeouts, tls: bool) -> Self {
        let builder = Client::builder()
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .connect_timeout(timeouts.connect)
            .pool_max_idle_per_host(timeouts.idle_connections)
            .user_agent(concat!("bucketlog/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(trusting(if tls { system_roots() } else { RootCertStore::empty() }));
        Self { client: builder.build().map_err(|error| why(&error)), timeouts }
    }

    /// Makes one attempt.
    pub(super) async fn exchange(&self, sent: HttpRequest, until: Instant) -> Result<HttpAnswer, Fault> {
        timeout_at(until.into(), self.attempt(sent)).await.unwrap_or_else(|elapsed| Err(silent(elapsed)))
    }

    async fn attempt(&self, sent: HttpRequest) -> Result<HttpAnswer, Fault> {
        let client = self.client.as_ref().map_err(|why| Fault::not_sent(why.clone()))?;
        let method = Method::from_bytes(sent.method.as_bytes()).map_err(|error| Fault::not_sent(error.to_string()))?;
        let (taken, progress) = watch::channel(());
        let has_body = sent.content_length().is_some();
        let mut request = client.request(method, &sent.url);
        for (name, value) in &sent.headers {
            request = request.header(*name, value);
        }
        if has_body {
            request = request.body(Body::wrap(Rope::new(sent.body, taken)));
        }
        let response = self.first_byte(request.send(), progress).await?;
        self.read(response.map_err(|error| fault(&error))?, sent.max_answer).await
    }

    /// Waits for an answer as long as one is due after the last piece of the body was taken.
    async fn first_byte<T>(&self, sending: impl Future<Output = T>, mut progress: Receiver<()>) -> Result<T, Fault> {
        let mut sending = pin!(sending);
        loop {
            let moved = async {
                if progress.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            tokio::select! {
                answer = &mut sending => return Ok(answer),
                () = moved => {}
                () = sleep(self.timeouts.first_byte) => return Err(Fault::indeterminate("no answer in time")),
            }
        }
    }

    async fn read(&self, mut response: Response, limit: u64) -> Result<HttpAnswer, Fault> {
        let limit = if response.status().is_success() { limit } else { MAX_DOCUMENT };
        let (status, headers) = (response.status().as_u16(), std::mem::take(response.headers_mut()));
        let told = response.content_length();
        let mut too_long = told.is_some_and(|length| length > limit);
        let mut body = Vec::new();
        if !too_long {
            body.reserve_exact(told.and_then(|length| usize::try_from(length).ok()).unwrap_or_default());
        }
        while !too_long {
            let piece = timeout(self.timeouts.idle, response.chunk()).await.map_err(silent)?;
            let Some(piece) = piece.map_err(|error| fault(&error))? else { break };
            body.extend_from_slice(&piece);
            too_long = body.len() as u64 > limit;
        }
        Ok(HttpAnswer { status, headers, body: body.into(), too_long })
    }
}

fn silent(_: Elapsed) -> Fault {
    Fault::indeterminate("no answer in time")
}

/// Before there is a connection nothing has left; after that nothing tells what has.
fn fault(error: &Error) -> Fault {
    if error.is_connect() || error.is_builder() {
        Fault::not_sent(why(error))
    } else {
        Fault::indeterminate(why(error))
    }
}

/// The innermost cause, and no URL: it holds the signature.
fn why(error: &Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if cause.is::<Error>() { "the HTTP client failed".to_owned() } else { cause.to_string() }
}

/// Roots of the operating system, or of `SSL_CERT_FILE`: an installation of one's own may have its own authority.
fn system_roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

fn trusting(roots: RootCertStore) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    config.expect("ring speaks TLS 1.2 and 1.3").with_root_certificates(roots).with_no_client_auth()
}

/// A body in pieces, sent where they lie.
struct Rope {
    pieces: VecDeque<Bytes>,
    length: u64,
    taken: Sender<()>,
}

impl Rope {
    fn new(pieces: Vec<Bytes>, taken: Sender<()>) -> Self {
        let length = pieces.iter().map(|piece| piece.len() as u64).sum();
        Self { pieces: pieces.into_iter().filter(|piece| !piece.is_empty()).collect(), length, taken }
    }
}

impl HttpBody for Rope {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.pieces.pop_front();
        self.taken.send_replace(());
        Poll::Ready(piece.map(|piece| {
            self.length -= piece.len() as u64;
            Ok(Frame::data(piece))
        }))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }

    fn is_end_stream(&self) -> bool {
        self.pieces.is_empty()
    }
}
