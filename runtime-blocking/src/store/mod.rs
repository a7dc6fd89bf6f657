//! What a driver needs of a store.
use bucketlog_core::boundary::{
    Create, CreateReply, Delete, Fault, Get, GetReply, List, ListReply, Stat, StatReply, Swap, SwapReply,
};
use std::{fmt::Debug, sync::Arc, time::Instant};

pub mod conformance;
mod counted;
pub mod doctor;
mod local;
mod memory;
mod rules;
#[cfg(feature = "s3")]
pub mod s3;
mod url;

pub use counted::{Counted, Counts};
pub use local::{LocalDir, LocalDirOptions, SyncPolicy};
pub use memory::Memory;
pub use url::{OpenStoreError, open_url};

/// An object store. Every method makes **exactly one attempt**, returns by `until` at the latest (with
/// [`Fault::Indeterminate`] if the request had left), and tells the three kinds of "no" apart. Strongly consistent: a
/// read that starts after a write was answered sees it.
///
/// [`conformance`] checks an implementation of one's own; [`Memory`] is the shortest to copy from.
pub trait Store: Debug + Send + Sync {
    /// Reads an object or a part of it.
    ///
    /// # Errors
    /// A missing object, a false `if_match`, a range without a byte of the object, a body above `max_len`.
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault>;
    /// Asks for size and version.
    ///
    /// # Errors
    /// A missing object.
    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault>;
    /// Lists keys below a prefix, ascending.
    ///
    /// # Errors
    /// A limit outside 1 to 1,000, or a prefix that no key of this store can have.
    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault>;
    /// Deletes an object; a missing one counts as deleted.
    ///
    /// # Errors
    /// A key that this store can't have.
    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault>;
    /// Stores an immutable object if its key is free.
    ///
    /// # Errors
    /// [`Precondition`](bucketlog_core::boundary::RefusalKind::Precondition) if the key exists.
    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault>;
    /// Replaces an object by compare-and-swap.
    ///
    /// # Errors
    /// [`Precondition`](bucketlog_core::boundary::RefusalKind::Precondition) if the condition is false;
    /// [`NotFound`](bucketlog_core::boundary::RefusalKind::NotFound) if an object to replace is missing.
    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault>;
}

impl<S: Store + ?Sized> Store for Arc<S> {
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault> {
        (**self).get(request, until)
    }

    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault> {
        (**self).stat(request, until)
    }

    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault> {
        (**self).list(request, until)
    }

    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault> {
        (**self).delete(request, until)
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        (**self).create(request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        (**self).swap(request, until)
    }
}
