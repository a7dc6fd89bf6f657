//! What a driver needs of a store.
use bucketlog_core::boundary::{
    Create, CreateReply, Delete, Fault, Get, GetReply, List, ListReply, Stat, StatReply, Swap, SwapReply,
};
use std::{fmt::Debug, time::Instant};

/// An object store. Every method makes **exactly one attempt**, returns by `until` at the latest (with
/// [`Fault::Indeterminate`] if the request had left), and tells the three kinds of "no" apart. Strongly consistent: a
/// read that starts after a write was answered sees it.
pub trait Store: Debug + Send + Sync {
    /// Reads an object or a part of it.
    fn get(&self, request: &Get, until: Instant) -> Result<GetReply, Fault>;
    /// Asks for size and version.
    fn stat(&self, request: &Stat, until: Instant) -> Result<StatReply, Fault>;
    /// Lists keys below a prefix, ascending.
    fn list(&self, request: &List, until: Instant) -> Result<ListReply, Fault>;
    /// Deletes an object; a missing one counts as deleted.
    fn delete(&self, request: &Delete, until: Instant) -> Result<(), Fault>;
    /// Stores an immutable object if its key is free.
    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault>;
    /// Replaces an object by compare-and-swap.
    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault>;
}
