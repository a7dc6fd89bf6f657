//! The simulated bucket behind the [`Store`] trait of the blocking driver, for service code as it is.
//!
//! ```
//! use bucketlog_blocking::{Log, LogOptions, Partition, Record, StreamId, WriterOptions, now};
//! use bucketlog_sim::action::How;
//! use bucketlog_sim::service::{FaultyStore, Faults};
//! use std::sync::Arc;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Arc::new(FaultyStore::new(7, Faults { lost: 300, ..Faults::none() }));
//! let log = Log::open(store.clone(), StreamId::new("orders")?, LogOptions::default());
//! let mut writer = log.writer(Partition(0), WriterOptions::default())?;
//! for order in 0..10 {
//!     writer.append(Record::new(now(), format!("order {order}")))?;
//!     writer.flush()?; // true, although every third answer is lost
//! }
//! assert!(store.count(How::Lost) > 0);
//! # Ok(())
//! # }
//! ```
//!
//! # What a seed determines, and what not
//!
//! The service runs on real threads, so a seed does not determine a run as it does in a [trial](crate::trial). What it
//! does determine is the fate of each request: of the *n*-th request of a kind (get, create, swap ...) about one class of
//! objects in one folder (heads, segments, leaves ...). It is the same in every run, however threads interleave; which
//! thread's request is the *n*-th, and how requests about different objects fall in time, is up to the machine. A
//! service with one writer, which waits for every flush, sees the same fates in the same order each time.
//!
//! The store never sleeps: who is told that an outcome is unknown is told at once. Pauses between attempts are the
//! core's, and are real: set [`Backoff`](bucketlog_core::backoff::Backoff) small in tests.
mod faults;

pub use faults::Faults;

use crate::action::{How, Kind};
use crate::check::Violation;
use crate::choice::Random;
use crate::store::{Reply, Store as Bucket, Versions};
use crate::world::{damaged, subject};
use bucketlog_blocking::store::Store;
use bucketlog_core::boundary::{
    Command, Create, CreateReply, Delete, Fault, Get, GetReply, Key, List, ListReply, MonoTime, Op, RefusalKind,
    Request, Stat, StatReply, Swap, SwapCondition, SwapReply,
};
use std::collections::BTreeMap;
use std::fmt;
use std::hash::Hasher;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use twox_hash::XxHash64;

/// Stray requests that are kept; the oldest is forgotten, as if it never landed.
const MAX_STRAYS: usize = 64;

/// A bucket in memory that treats requests as its seed and its [`Faults`] say.
///
/// Without faults it passes the [conformance suite](bucketlog_blocking::store::conformance).
pub struct FaultyStore {
    seed: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    faults: Faults,
    bucket: Bucket,
    /// Of every object that was swapped, the state before.
    past: Bucket,
    /// Requests so far, by kind and class of object.
    seen: BTreeMap<(Kind, String), u64>,
    strays: Vec<Stray>,
    counts: BTreeMap<How, u64>,
    old_heads: u64,
    late: u64,
}

/// A write that its sender has given up.
#[derive(Debug)]
struct Stray {
    command: Command,
    /// Requests until it lands.
    left: u64,
}

impl FaultyStore {
    /// An empty bucket with versions that never come back.
    #[must_use]
    pub fn new(seed: u64, faults: Faults) -> Self {
        let bucket = Bucket::new(Versions::Unique, true);
        Self {
            seed,
            state: Mutex::new(State {
                faults,
                past: bucket.clone(),
                bucket,
                seen: BTreeMap::new(),
                strays: Vec::new(),
                counts: BTreeMap::new(),
                old_heads: 0,
                late: 0,
            }),
        }
    }

    /// From now on other faults.
    pub fn set_faults(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// Ends all faults and lets everything land that went astray: what is true from then on stays true.
    pub fn calm(&self) {
        let mut state = self.state();
        state.faults = Faults::none();
        for stray in std::mem::take(&mut state.strays) {
            state.land(&stray.command);
        }
    }

    /// How many requests met a fate.
    #[must_use]
    pub fn count(&self, how: How) -> u64 {
        self.state().counts.get(&how).copied().unwrap_or(0)
    }

    /// How many reads were given an older state of their object.
    #[must_use]
    pub fn old_heads(&self) -> u64 {
        self.state().old_heads
    }

    /// How many requests reached the bucket after their sender was told that nothing is known, whatever came of them.
    #[must_use]
    pub fn late_arrivals(&self) -> u64 {
        self.state().late
    }

    // A panic can't leave the state half changed in a way that matters to a test.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attempt<R: Request + Clone>(&self, kind: fn(Op<R>) -> Command, request: &R) -> Result<Reply, Fault> {
        let command = kind(Op::scripted(0, MonoTime::default(), request.clone()));
        self.state().meet(self.seed, command)
    }
}

impl State {
    fn meet(&mut self, seed: u64, command: Command) -> Result<Reply, Fault> {
        self.land_what_is_due();
        let (kind, key) = subject(&command).map_err(|error| unknown(&error))?;
        let mut random = self.random(seed, kind, &key);
        if kind == Kind::Get
            && random.below(1_000) < self.faults.old_head.into()
            && let Some(reply) = self.past.apply(&command).filter(|reply| reply.fault().is_none())
        {
            self.old_heads += 1;
            return Ok(reply);
        }
        let how = self.faults.draw(&mut random, kind, self.would_refuse(&command));
        *self.counts.entry(how).or_default() += 1;
        match how {
            How::Done => self.reach(&command),
            How::Short | How::Flipped => Ok(damaged(self.reach(&command)?, how)),
            How::Lost | How::Mute => {
                self.reach(&command)?;
                Err(Fault::indeterminate("the answer was lost"))
            }
            How::Astray | How::Dropped => {
                self.stray(command, &mut random);
                Err(Fault::indeterminate("the connection was reset"))
            }
            How::ServerError => Err(Fault::indeterminate("internal error [status 500]")),
            How::NotSent => Err(Fault::not_sent("no route")),
            How::Conflict => Err(Fault::refused(RefusalKind::Conflict, "409")),
            How::Throttled => Err(Fault::refused(RefusalKind::Throttled(None), "503")),
            How::RetryAfter => {
                let wait = RefusalKind::Throttled(Some(self.faults.retry_after));
                Err(Fault::refused(wait, "429"))
            }
        }
    }

    /// Choices for one request: always the same for the n-th of its kind and class.
    fn random(&mut self, seed: u64, kind: Kind, key: &Key) -> Random {
        let class = (kind, class(key));
        let mut hasher = XxHash64::with_seed(seed);
        hasher.write(class.0.word().as_bytes());
        hasher.write(class.1.as_bytes());
        let nth = self.seen.entry(class).or_default();
        hasher.write_u64(*nth);
        *nth += 1;
        Random::new(hasher.finish())
    }

    fn would_refuse(&self, command: &Command) -> bool {
        match command {
            Command::Swap(op) => self.bucket.would_refuse(&op.request().key, &op.request().condition),
            Command::Create(op) => self.bucket.would_refuse(&op.request().key, &SwapCondition::Absent),
            _ => false,
        }
    }

    fn reach(&mut self, command: &Command) -> Result<Reply, Fault> {
        if let Command::Swap(op) = command {
            let Swap { key, condition, .. } = op.request();
            if !self.bucket.would_refuse(key, condition) {
                self.past.copy_from(&self.bucket, key);
            }
        }
        self.bucket.apply(command).ok_or_else(|| unknown(&"not a request to a store"))
    }

    fn stray(&mut self, command: Command, random: &mut Random) {
        // One in four never lands.
        if random.below(4) > 0 {
            if self.strays.len() == MAX_STRAYS {
                self.strays.remove(0);
            }
            let left = 1 + random.below(self.faults.lands_within.max(1).into());
            self.strays.push(Stray { command, left });
        }
    }

    fn land_what_is_due(&mut self) {
        self.strays.iter_mut().for_each(|stray| stray.left -= 1);
        let due: Vec<Stray> = self.strays.extract_if(.., |stray| stray.left == 0).collect();
        due.iter().for_each(|stray| self.land(&stray.command));
    }

    fn land(&mut self, command: &Command) {
        self.late += 1;
        // Whatever the bucket says, nobody hears it.
        let _ = self.reach(command);
    }
}

/// What kind of object a key names, and where: ids and hashes differ from run to run and are left out.
fn class(key: &Key) -> String {
    let (folder, name) = key.as_str().rsplit_once('/').unwrap_or(("", key.as_str()));
    format!("{folder}/{}", name.split_once('-').map_or(name, |(class, _)| class))
}

fn unknown(error: &dyn fmt::Display) -> Fault {
    Fault::refused(RefusalKind::Unsupported, error.to_string())
}

fn mismatch(reply: &Reply) -> Fault {
    unknown(&Violation::new("a reply is of the kind of its request", format!("{reply:?}")))
}

impl fmt::Debug for FaultyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("FaultyStore")
            .field("seed", &self.seed)
            .field("faults", &state.faults)
            .field("objects", &state.bucket.len())
            .field("strays", &state.strays.len())
            .field("counts", &state.counts)
            .finish_non_exhaustive()
    }
}

impl Store for FaultyStore {
    fn get(&self, request: &Get, _until: Instant) -> Result<GetReply, Fault> {
        match self.attempt(Command::Get, request)? {
            Reply::Get(result) => result,
            other => Err(mismatch(&other)),
        }
    }

    fn stat(&self, request: &Stat, _until: Instant) -> Result<StatReply, Fault> {
        match self.attempt(Command::Stat, request)? {
            Reply::Stat(result) => result,
            other => Err(mismatch(&other)),
        }
    }

    fn list(&self, request: &List, _until: Instant) -> Result<ListReply, Fault> {
        if !(1..=1_000).contains(&request.limit) {
            return Err(Fault::refused(RefusalKind::Invalid, "a listing has 1 to 1,000 rows"));
        }
        match self.attempt(Command::List, request)? {
            Reply::List(result) => result,
            other => Err(mismatch(&other)),
        }
    }

    fn delete(&self, request: &Delete, _until: Instant) -> Result<(), Fault> {
        match self.attempt(Command::Delete, request)? {
            Reply::Delete(result) => result,
            other => Err(mismatch(&other)),
        }
    }

    fn create(&self, request: &Create, _until: Instant) -> Result<CreateReply, Fault> {
        match self.attempt(Command::Create, request)? {
            Reply::Create(result) => result,
            other => Err(mismatch(&other)),
        }
    }

    fn swap(&self, request: &Swap, _until: Instant) -> Result<SwapReply, Fault> {
        match self.attempt(Command::Swap, request)? {
            Reply::Swap(result) => result,
            other => Err(mismatch(&other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_do_not_tell_classes_apart_and_folders_do() {
        let class = |key: &str| class(&Key::from(key));
        assert_eq!(class("a/p1/seg-0001-e1-abc.plseg"), class("a/p1/seg-0002-e1-def.plseg"));
        assert_ne!(class("a/p1/seg-0001-e1-abc.plseg"), class("a/p2/seg-0001-e1-abc.plseg"));
        assert_ne!(class("a/p1/head.plc"), class("a/p1/leaf-1-2.plc"));
    }
}
