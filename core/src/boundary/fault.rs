//! The three kinds of "no".
use std::{fmt, sync::Arc, time::Duration};

/// Why an operation has no reply.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The request never left: name lookup, connect or TLS failed, or the driver did not start it. Everything after
    /// that point is [`Fault::Indeterminate`].
    NotSent(Cause),
    /// The store's definite answer: nothing was written by this attempt.
    Refused(Refusal),
    /// It may have been applied, may be applied later, or never: timeouts, resets, server errors.
    Indeterminate(Cause),
}

impl Fault {
    /// A request that never left.
    pub fn not_sent(message: impl Into<Arc<str>>) -> Self {
        Self::NotSent(Cause::new(message))
    }

    /// A request whose fate is unknown.
    pub fn indeterminate(message: impl Into<Arc<str>>) -> Self {
        Self::Indeterminate(Cause::new(message))
    }

    /// A definite answer of the store.
    pub fn refused(kind: RefusalKind, message: impl Into<Arc<str>>) -> Self {
        Self::Refused(Refusal { kind, cause: Cause::new(message) })
    }

    /// Whether the store refused in a way that another attempt will not change.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.refusal(), Some(RefusalKind::Denied | RefusalKind::Unsupported | RefusalKind::Invalid))
    }

    /// The store's definite answer, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&RefusalKind> {
        match self {
            Self::Refused(refusal) => Some(&refusal.kind),
            Self::NotSent(_) | Self::Indeterminate(_) => None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSent(cause) => write!(f, "not sent: {cause}"),
            Self::Refused(refusal) => write!(f, "refused ({}): {}", refusal.kind, refusal.cause),
            Self::Indeterminate(cause) => write!(f, "outcome unknown: {cause}"),
        }
    }
}

impl std::error::Error for Fault {}

/// A definite answer with what the store said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Refusal {
    /// What it means to the protocol.
    pub kind: RefusalKind,
    /// What it says to people.
    pub cause: Cause,
}

/// Meanings of a definite answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefusalKind {
    /// The condition of a create or swap is false.
    Precondition,
    /// There is no such object.
    NotFound,
    /// Another conditional request is under way; says nothing about who wins.
    Conflict,
    /// Too many requests; the store may say how long to wait.
    Throttled(Option<Duration>),
    /// Missing permission, or a bad signature.
    Denied,
    /// The store has no such operation.
    Unsupported,
    /// The store finds the request itself wrong (too large, malformed).
    Invalid,
}

impl fmt::Display for RefusalKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Precondition => "precondition failed",
            Self::NotFound => "not found",
            Self::Conflict => "conflict",
            Self::Throttled(_) => "throttled",
            Self::Denied => "denied",
            Self::Unsupported => "unsupported",
            Self::Invalid => "invalid",
        })
    }
}

/// What to report: never a secret, never a signed URL.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Cause(Arc<Detail>);

#[derive(PartialEq, Eq, Hash)]
struct Detail {
    message: Arc<str>,
    status: Option<u16>,
    code: Option<Arc<str>>,
    request_id: Option<Arc<str>>,
}

impl Cause {
    /// A cause without an HTTP answer.
    pub fn new(message: impl Into<Arc<str>>) -> Self {
        Self(Arc::new(Detail { message: message.into(), status: None, code: None, request_id: None }))
    }

    /// A cause from a store's answer: HTTP status, error code and request id.
    pub fn answered(
        message: impl Into<Arc<str>>,
        status: u16,
        code: Option<Arc<str>>,
        request_id: Option<Arc<str>>,
    ) -> Self {
        Self(Arc::new(Detail { message: message.into(), status: Some(status), code, request_id }))
    }

    /// HTTP status, if there was an answer.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The store's error code, if it gave one.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.0.code.as_deref()
    }

    /// The store's request id, if it gave one.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(status) = self.0.status {
            write!(f, " [status {status}]")?;
        }
        if let Some(code) = self.code() {
            write!(f, " [code {code}]")?;
        }
        if let Some(id) = self.request_id() {
            write!(f, " [request {id}]")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cause({self})")
    }
}
