//! What a driver needs of a store.
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, Create, CreateReply, CreateUpload, CreateUploadReply, Delete, DeleteMany,
    DeleteManyReply, Fault, Get, GetReply, Key, List, ListReply, ListUploads, ListUploadsReply, RefusalKind, Stat,
    StatReply, Swap, SwapReply, UploadPart, UploadPartReply,
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

    /// Deletes many objects; missing ones count as deleted. Unless implemented: one after the other.
    ///
    /// # Errors
    /// Whatever kept the store from answering for each key.
    fn delete_many(&self, request: &DeleteMany, until: Instant) -> Result<DeleteManyReply, Fault> {
        Ok(one_by_one(self, request, until))
    }

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

    /// Begins the upload of an immutable object in parts.
    ///
    /// # Errors
    /// Unless implemented: [`Unsupported`](RefusalKind::Unsupported), and writers store whole objects.
    fn create_upload(&self, _request: &CreateUpload, _until: Instant) -> Result<CreateUploadReply, Fault> {
        Err(no_parts())
    }

    /// Stores one part of an upload.
    ///
    /// # Errors
    /// Unless implemented: [`Unsupported`](RefusalKind::Unsupported), and writers store whole objects.
    fn upload_part(&self, _request: &UploadPart, _until: Instant) -> Result<UploadPartReply, Fault> {
        Err(no_parts())
    }

    /// Makes the parts of an upload an object if its key is free.
    ///
    /// # Errors
    /// Unless implemented: [`Unsupported`](RefusalKind::Unsupported), and writers store whole objects.
    fn complete_upload(&self, _request: &CompleteUpload, _until: Instant) -> Result<CreateReply, Fault> {
        Err(no_parts())
    }

    /// Throws an upload and its parts away; one that does not exist counts as thrown away.
    ///
    /// # Errors
    /// Unless implemented: [`Unsupported`](RefusalKind::Unsupported), and writers store whole objects.
    fn abort_upload(&self, _request: &AbortUpload, _until: Instant) -> Result<(), Fault> {
        Err(no_parts())
    }

    /// Lists the uploads below a prefix that are neither completed nor aborted.
    ///
    /// # Errors
    /// Unless implemented: [`Unsupported`](RefusalKind::Unsupported), and writers store whole objects.
    fn list_uploads(&self, _request: &ListUploads, _until: Instant) -> Result<ListUploadsReply, Fault> {
        Err(no_parts())
    }
}

fn one_by_one<S: Store + ?Sized>(store: &S, request: &DeleteMany, until: Instant) -> DeleteManyReply {
    let delete = |key: &Key| store.delete(&Delete { key: key.clone() }, until);
    DeleteManyReply { outcomes: request.keys.iter().map(delete).collect() }
}

fn no_parts() -> Fault {
    Fault::refused(RefusalKind::Unsupported, "this store takes whole objects only")
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

    fn delete_many(&self, request: &DeleteMany, until: Instant) -> Result<DeleteManyReply, Fault> {
        (**self).delete_many(request, until)
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        (**self).create(request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        (**self).swap(request, until)
    }

    fn create_upload(&self, request: &CreateUpload, until: Instant) -> Result<CreateUploadReply, Fault> {
        (**self).create_upload(request, until)
    }

    fn upload_part(&self, request: &UploadPart, until: Instant) -> Result<UploadPartReply, Fault> {
        (**self).upload_part(request, until)
    }

    fn complete_upload(&self, request: &CompleteUpload, until: Instant) -> Result<CreateReply, Fault> {
        (**self).complete_upload(request, until)
    }

    fn abort_upload(&self, request: &AbortUpload, until: Instant) -> Result<(), Fault> {
        (**self).abort_upload(request, until)
    }

    fn list_uploads(&self, request: &ListUploads, until: Instant) -> Result<ListUploadsReply, Fault> {
        (**self).list_uploads(request, until)
    }
}
