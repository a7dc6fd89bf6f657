//! All that a bucket takes but the HTTP client.
use super::credentials::{Cached, Keys, NoKeys};
use super::{S3OpenError, S3Options};
use crate::store::rules;
use crate::trace;
use bucketlog_core::boundary::{Fault, RefusalKind};
use bucketlog_core::ids::TimestampMs;
use bucketlog_s3_presign::{Bucket, Exchange, HttpAnswer, HttpRequest, Lesson, SigningKeys};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Instant, SystemTime};

/// Speaks with one bucket through any HTTP client: it signs a request, which the client sends once and as it is, and
/// reads the answer. It keeps what an answer teaches: the store's clock and region, keys that have ended, a missing bulk
/// delete.
///
/// ```
/// use bucketlog_blocking::store::s3::{Exchange, HttpAnswer, HttpRequest, Session};
/// use bucketlog_core::boundary::Fault;
/// use std::time::Instant;
///
/// /// Makes one attempt through a client that neither repeats, nor follows, nor decompresses.
/// fn attempt<R: Exchange>(
///     session: &Session,
///     request: &R,
///     until: Instant,
///     send: impl Fn(HttpRequest, Instant) -> Result<HttpAnswer, Fault>,
/// ) -> Result<R::Reply, Fault> {
///     let signer = session.signer(until)?;
///     let answer = send(session.sign(request, &signer)?, until)?;
///     session.read(request, &answer)
/// }
/// ```
///
/// [`S3`](super::S3) is this with `ureq`. A request whose answer did not come is the client's to judge:
/// [`Fault::NotSent`] while no byte of it can have left, else [`Fault::Indeterminate`].
#[derive(Debug)]
pub struct Session {
    options: S3Options,
    /// Where, and signed for which region, as the store has it.
    place: RwLock<Arc<Place>>,
    keys: Cached,
    /// Milliseconds by which the store's clock is ahead of this machine's, as far as it complained.
    offset: AtomicI64,
    refuses_bulk_deletes: AtomicBool,
}

#[derive(Debug)]
struct Place {
    region: String,
    bucket: Bucket,
}

impl Place {
    fn new(options: &S3Options, region: &str) -> Result<Self, S3OpenError> {
        let options = S3Options { region: region.to_owned(), ..options.clone() };
        Ok(Self { bucket: options.address()?, region: options.region })
    }
}

/// What signs requests for a while: keys, or nothing for a public bucket.
#[derive(Clone, Debug)]
pub struct Signer(Option<SigningKeys>);

impl Session {
    /// Makes no request.
    ///
    /// # Errors
    /// What is no address of a bucket, and stores that are known not to be fit for a log.
    pub fn open(options: S3Options) -> Result<Self, S3OpenError> {
        Ok(Self {
            place: RwLock::new(Arc::new(Place::new(&options, &options.region)?)),
            keys: Cached::new(options.credentials.clone()),
            options,
            offset: AtomicI64::new(0),
            refuses_bulk_deletes: AtomicBool::new(false),
        })
    }

    /// Whether requests go over TLS.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.place().bucket.is_encrypted()
    }

    /// The signer, if that needs no asking; never waits. For callers that must not block: where it is `None`, call
    /// [`Self::signer`] on a thread that may.
    #[must_use]
    pub fn known_signer(&self) -> Option<Signer> {
        self.keys.known(SystemTime::now()).map(|keys| signer(keys.as_ref()))
    }

    /// The signer; asks the source of the keys if it has to, which may block until then.
    ///
    /// # Errors
    /// [`Fault::NotSent`]: there are no keys.
    pub fn signer(&self, until: Instant) -> Result<Signer, Fault> {
        let no_keys = |error: NoKeys| Fault::not_sent(error.to_string());
        self.keys.keys(SystemTime::now(), until).map(|keys| signer(keys.as_ref())).map_err(no_keys)
    }

    /// The HTTP request of one attempt, to be sent at once: its signature holds for fifteen minutes.
    ///
    /// # Errors
    /// A request that no store takes.
    pub fn sign<R: Exchange>(&self, request: &R, signer: &Signer) -> Result<HttpRequest, Fault> {
        request.check()?;
        let theirs = TimestampMs(now().0.saturating_add(self.offset.load(Relaxed)));
        Ok(request.to_http(&self.place().bucket, signer.0.as_ref(), theirs))
    }

    /// What the answer to that attempt means.
    ///
    /// # Errors
    /// Everything but a success.
    pub fn read<R: Exchange>(&self, request: &R, answer: &HttpAnswer) -> Result<R::Reply, Fault> {
        match Lesson::of(answer, now()) {
            Some(Lesson::ClockOffset(offset)) => self.correct_clock(offset),
            Some(Lesson::KeysEnded) => self.keys.forget(),
            Some(Lesson::Region { name, is_redirect }) if self.follow(&name, is_redirect) => {
                let message = format!("the bucket lies in the region {name}: the next attempt is signed for it");
                return Err(Fault::refused(RefusalKind::Throttled(None), message));
            }
            Some(Lesson::Region { .. }) | None => {}
        }
        request.reply(&self.place().bucket, answer)
    }

    fn place(&self) -> Arc<Place> {
        Arc::clone(&self.place.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Turns to the region that the store names; false where that is none other than the one that was asked for, and
    /// where a redirect leads away from the endpoint that the options name.
    fn follow(&self, region: &str, is_redirect: bool) -> bool {
        if region == self.options.region || (is_redirect && self.options.endpoint.is_some()) {
            return false;
        }
        // Requests that were under way together learn the same.
        if self.place().region == region {
            return true;
        }
        let Ok(place) = Place::new(&self.options, region) else { return false };
        *self.place.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(place);
        trace::region_differs(region);
        true
    }

    /// Requests that were under way together meet the same complaint; it is told once.
    fn correct_clock(&self, offset: i64) {
        /// Milliseconds between answers to such requests, at most.
        const SAME: u64 = 10_000;
        if self.offset.swap(offset, Relaxed).abs_diff(offset) > SAME {
            trace::clock_differs(offset);
        }
    }

    /// Whether objects have to be deleted one by one, as the store once refused to delete many.
    #[must_use]
    pub fn deletes_one_by_one(&self) -> bool {
        self.refuses_bulk_deletes.load(Relaxed)
    }

    /// Judges a failed bulk delete: true, from then on also for [`Self::deletes_one_by_one`], if the store has none.
    /// Nothing was deleted then.
    pub fn learn_from_bulk_delete(&self, fault: &Fault) -> bool {
        let refuses = fault.refusal() == Some(&RefusalKind::Unsupported);
        self.refuses_bulk_deletes.fetch_or(refuses, Relaxed);
        refuses
    }
}

fn now() -> TimestampMs {
    rules::timestamp(SystemTime::now())
}

fn signer(keys: Option<&Keys>) -> Signer {
    let signing = |keys: &Keys| SigningKeys::new(&keys.access_key, &keys.secret_key, keys.session_token.as_deref());
    Signer(keys.map(signing))
}
