//! Counts of what passes through a store.
use super::Store;
use bucketlog_core::boundary::{
    Create, CreateReply, Delete, Fault, Get, GetReply, List, ListReply, Stat, StatReply, Swap, SwapReply,
};
use std::ops::Sub;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Any store, with its requests counted: tests hold costs to a number with it.
#[derive(Debug, Default)]
pub struct Counted<S> {
    store: S,
    counters: Counters,
}

#[derive(Debug, Default)]
struct Counters {
    get: AtomicU64,
    stat: AtomicU64,
    list: AtomicU64,
    delete: AtomicU64,
    create: AtomicU64,
    swap: AtomicU64,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
}

/// Requests made so far, whatever their outcome. The difference of two snapshots is what happened between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Reads.
    pub get: u64,
    /// Questions for size and version.
    pub stat: u64,
    /// Pages of listings.
    pub list: u64,
    /// Deletes.
    pub delete: u64,
    /// Creates.
    pub create: u64,
    /// Swaps.
    pub swap: u64,
    /// Bytes of bodies sent to the store, also in requests that it refused.
    pub bytes_in: u64,
    /// Bytes of bodies that the store gave.
    pub bytes_out: u64,
}

impl<S> Counted<S> {
    /// Counts from zero.
    pub fn new(store: S) -> Self {
        Self { store, counters: Counters::default() }
    }

    /// The store itself; what is asked of it directly is not counted.
    pub fn inner(&self) -> &S {
        &self.store
    }

    /// The counts at this moment. Each is exact; requests under way may show in some and not yet in others.
    pub fn counts(&self) -> Counts {
        let Counters { get, stat, list, delete, create, swap, bytes_in, bytes_out } = &self.counters;
        Counts {
            get: get.load(Relaxed),
            stat: stat.load(Relaxed),
            list: list.load(Relaxed),
            delete: delete.load(Relaxed),
            create: create.load(Relaxed),
            swap: swap.load(Relaxed),
            bytes_in: bytes_in.load(Relaxed),
            bytes_out: bytes_out.load(Relaxed),
        }
    }
}

impl Counts {
    /// Requests of every kind.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.get + self.stat + self.list + self.delete + self.create + self.swap
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            get: self.get - earlier.get,
            stat: self.stat - earlier.stat,
            list: self.list - earlier.list,
            delete: self.delete - earlier.delete,
            create: self.create - earlier.create,
            swap: self.swap - earlier.swap,
            bytes_in: self.bytes_in - earlier.bytes_in,
            bytes_out: self.bytes_out - earlier.bytes_out,
        }
    }
}

fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Relaxed);
}

impl<S: Store> Store for Counted<S> {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        add(&self.counters.get, 1);
        let reply = self.store.get(request, until)?;
        if let GetReply::Found { body, .. } = &reply {
            add(&self.counters.bytes_out, body.len());
        }
        Ok(reply)
    }

    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        add(&self.counters.stat, 1);
        self.store.stat(request, until)
    }

    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        add(&self.counters.list, 1);
        self.store.list(request, until)
    }

    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        add(&self.counters.delete, 1);
        self.store.delete(request, until)
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        add(&self.counters.create, 1);
        add(&self.counters.bytes_in, request.body.iter().map(bytes::Bytes::len).sum());
        self.store.create(request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        add(&self.counters.swap, 1);
        add(&self.counters.bytes_in, request.body.len());
        self.store.swap(request, until)
    }
}
