//! One HTTP exchange over ureq; no other file knows that crate.
use super::Timeouts;
use super::rope::Rope;
use bucketlog_s3_presign::{HttpAnswer, HttpRequest, MAX_DOCUMENT};
use std::cell::Cell;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Instant;
use ureq::http::{Request, Response};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{Buffers, ConnectionDetails, Connector, DefaultConnector, NextTimeout, Transport};
use ureq::{Agent, AsSendBody, Body, Error, Proxy, SendBody};

/// Nothing came back, or not all.
pub(super) enum Lost {
    /// No byte of the request was handed to a connection.
    NotSent(String),
    /// Some may have arrived.
    Unknown(String),
}

thread_local! {
    /// Whether a byte of the exchange on this thread was handed to a connection. ureq works on the caller's thread and
    /// its errors do not tell a failed connect from a reset after it.
    static LEFT: Cell<bool> = const { Cell::new(false) };
}

/// Connections to one endpoint, kept open between exchanges.
#[derive(Debug)]
pub(super) struct Wire {
    agent: Agent,
}

impl Wire {
    /// Goes through the proxy that the environment names, if any.
    pub(super) fn new(timeouts: Timeouts, tls: bool) -> Self {
        Self::through(Proxy::try_from_env(), timeouts, tls)
    }

    /// Goes through no proxy.
    pub(super) fn direct(timeouts: Timeouts, tls: bool) -> Self {
        Self::through(None, timeouts, tls)
    }

    fn through(proxy: Option<Proxy>, timeouts: Timeouts, tls: bool) -> Self {
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(proxy)
            .accept("")
            .accept_encoding("")
            .user_agent(concat!("bucketlog/", env!("CARGO_PKG_VERSION")))
            .timeout_connect(Some(timeouts.connect))
            .timeout_per_write(Some(timeouts.idle))
            .max_idle_connections(timeouts.idle_connections)
            .max_idle_connections_per_host(timeouts.idle_connections);
        let config = if tls { config.tls_config(trusting_the_system()) } else { config };
        let connector = DefaultConnector::new().chain(Watch { timeouts });
        Self { agent: Agent::with_parts(config.build(), connector, DefaultResolver::default()) }
    }

    /// Makes one attempt.
    pub(super) fn exchange(&self, sent: &HttpRequest, until: Instant) -> Result<HttpAnswer, Lost> {
        LEFT.set(false);
        self.attempt(sent, until).map_err(|error| lost(&error))
    }

    fn attempt(&self, sent: &HttpRequest, until: Instant) -> Result<HttpAnswer, Error> {
        let mut request = Request::builder().method(sent.method).uri(&sent.url);
        for (name, value) in &sent.headers {
            request = request.header(*name, value);
        }
        let Some(length) = sent.content_length() else {
            return self.run(request.body(())?, sent.max_answer, until);
        };
        let mut rope = Rope::new(&sent.body);
        let request = request.header("content-length", length);
        self.run(request.body(SendBody::from_reader(&mut rope))?, sent.max_answer, until)
    }

    fn run(&self, request: Request<impl AsSendBody>, limit: u64, until: Instant) -> Result<HttpAnswer, Error> {
        let left = until.saturating_duration_since(Instant::now());
        let request = self.agent.configure_request(request).timeout_global(Some(left)).build();
        read(self.agent.run(request)?, limit)
    }
}

fn read(mut response: Response<Body>, limit: u64) -> Result<HttpAnswer, Error> {
    let limit = if response.status().is_success() { limit } else { MAX_DOCUMENT };
    let told = response.body().content_length();
    let mut body = Vec::new();
    let whole = told.is_none_or(|length| length <= limit);
    if whole {
        body.reserve_exact(told.and_then(|length| usize::try_from(length).ok()).unwrap_or_default());
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        reader.take(limit.saturating_add(1)).read_to_end(&mut body)?;
    }
    let too_long = !whole || body.len() as u64 > limit;
    let (head, _) = response.into_parts();
    Ok(HttpAnswer { status: head.status.as_u16(), headers: head.headers, body: body.into(), too_long })
}

/// Display of some of ureq's errors holds the URL, and with it the signature: none of those is shown.
fn lost(error: &Error) -> Lost {
    let why = match error {
        Error::Io(error) => error.to_string(),
        Error::Timeout(phase) => format!("timed out ({phase})"),
        Error::Tls(why) => (*why).to_owned(),
        Error::Rustls(error) => error.to_string(),
        Error::Protocol(error) => error.to_string(),
        Error::HostNotFound => "the host name has no address".to_owned(),
        Error::ConnectProxyFailed(_) => "the proxy did not connect".to_owned(),
        _ => "the HTTP client failed".to_owned(),
    };
    if LEFT.get() { Lost::Unknown(why) } else { Lost::NotSent(why) }
}

/// Roots of the operating system, or of `SSL_CERT_FILE`: an installation of one's own may have its own authority.
fn trusting_the_system() -> TlsConfig {
    let found = rustls_native_certs::load_native_certs().certs;
    let roots: Vec<_> = found.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build()
}

/// The last link of the chain that makes connections.
#[derive(Debug)]
struct Watch {
    timeouts: Timeouts,
}

/// A connection, after name lookup, proxies and TLS.
#[derive(Debug)]
struct Watched<T> {
    inner: T,
    timeouts: Timeouts,
    answering: bool,
}

impl<T: Transport> Connector<T> for Watch {
    type Out = Watched<T>;

    fn connect(&self, _: &ConnectionDetails<'_>, chained: Option<T>) -> Result<Option<Watched<T>>, Error> {
        // What was said to a proxy is not the request.
        LEFT.set(false);
        Ok(chained.map(|inner| Watched { inner, timeouts: self.timeouts, answering: false }))
    }
}

impl<T: Transport> Transport for Watched<T> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        self.inner.buffers()
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        LEFT.set(true);
        self.answering = false;
        self.inner.transmit_output(amount, timeout)
    }

    fn await_input(&mut self, mut timeout: NextTimeout) -> Result<bool, Error> {
        let patience = if self.answering { self.timeouts.idle } else { self.timeouts.first_byte };
        timeout.per_read = Some(patience.into());
        let came = self.inner.await_input(timeout)?;
        self.answering |= came;
        Ok(came)
    }

    fn is_open(&mut self) -> bool {
        self.inner.is_open()
    }

    fn is_tls(&self) -> bool {
        self.inner.is_tls()
    }
}
