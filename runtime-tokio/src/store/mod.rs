//! What the tokio driver needs of a store.
mod local;
pub mod s3;

pub use bucketlog_blocking::store::{LocalDir, LocalDirOptions, Memory, SyncPolicy};
pub use local::{Blocking, OpenStoreError, open_url};

use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, Create, CreateReply, CreateUpload, CreateUploadReply, Delete, DeleteMany,
    DeleteManyReply, Fault, Get, GetReply, List, ListReply, ListUploads, ListUploadsReply, Stat, StatReply, Swap,
    SwapReply, UploadPart, UploadPartReply,
};
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

/// An answer on its way. Dropping it gives the attempt up: a write may have been applied, or may be applied later.
pub type Attempt<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// Every request that a store is asked, once for all that treat them alike.
macro_rules! each_request { ($then:ident $($more:tt)*) => { $then! { $($more)*
    /// Reads an object or a part of it.
    get(Get) -> GetReply;
    /// Asks for size and version.
    stat(Stat) -> StatReply;
    /// Lists keys below a prefix, ascending.
    list(List) -> ListReply;
    /// Deletes an object; a missing one counts as deleted.
    delete(Delete) -> ();
    /// Deletes many objects; missing ones count as deleted.
    delete_many(DeleteMany) -> DeleteManyReply;
    /// Stores an immutable object if its key is free.
    create(Create) -> CreateReply;
    /// Replaces an object by compare-and-swap.
    swap(Swap) -> SwapReply;
    /// Begins the upload of an immutable object in parts; a store without them answers
    /// [`Unsupported`](bucketlog_core::boundary::RefusalKind::Unsupported), and writers store whole objects.
    create_upload(CreateUpload) -> CreateUploadReply;
    /// Stores one part of an upload.
    upload_part(UploadPart) -> UploadPartReply;
    /// Makes the parts of an upload an object if its key is free.
    complete_upload(CompleteUpload) -> CreateReply;
    /// Throws an upload and its parts away; one that does not exist counts as thrown away.
    abort_upload(AbortUpload) -> ();
    /// Lists the uploads below a prefix that are neither completed nor aborted.
    list_uploads(ListUploads) -> ListUploadsReply;
} } }
pub(crate) use each_request;

macro_rules! store_trait { ($($(#[$doc:meta])* $method:ident($request:ident) -> $reply:ty;)*) => {
    /// An object store. Every method makes **exactly one attempt**, ends by `until` at the latest (with
    /// [`Fault::Indeterminate`] if the request had left), and tells the three kinds of "no" apart. Strongly consistent: a
    /// read that starts after a write was answered sees it. The contract is that of the blocking
    /// [`Store`](bucketlog_blocking::store::Store), whose conformance suite checks this one too through [`Blocked`].
    pub trait Store: Debug + Send + Sync {
        $($(#[$doc])* fn $method<'a>(&'a self, request: &'a $request, until: Instant) -> Attempt<'a, $reply>;)*
    }

    impl<S: Store + ?Sized> Store for Arc<S> {
        $(fn $method<'a>(&'a self, request: &'a $request, until: Instant) -> Attempt<'a, $reply> {
            (**self).$method(request, until)
        })*
    }

    /// An async store for blocking callers, as the conformance suite of the blocking driver is one: each request runs to
    /// its end on the calling thread.
    ///
    /// # Panics
    /// Every method, when called on a thread that runs tasks.
    #[derive(Clone, Debug)]
    pub struct Blocked<S> {
        /// The store.
        pub store: S,
        /// The runtime that its requests need.
        pub runtime: tokio::runtime::Handle,
    }

    impl<S: Store> bucketlog_blocking::store::Store for Blocked<S> {
        $(fn $method(&self, request: &$request, until: Instant) -> Result<$reply, Fault> {
            self.runtime.block_on(self.store.$method(request, until))
        })*
    }
} }
each_request!(store_trait);
