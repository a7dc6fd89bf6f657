//! Counts of what passes through a store.
use super::Store;
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, Create, CreateReply, CreateUpload, CreateUploadReply, Delete, DeleteMany,
    DeleteManyReply, Fault, Get, GetReply, List, ListReply, ListUploads, ListUploadsReply, Stat, StatReply, Swap,
    SwapReply, UploadPart, UploadPartReply,
};
use bytes::Bytes;
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
    delete_many: AtomicU64,
    create: AtomicU64,
    swap: AtomicU64,
    create_upload: AtomicU64,
    upload_part: AtomicU64,
    complete_upload: AtomicU64,
    abort_upload: AtomicU64,
    list_uploads: AtomicU64,
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
    /// Deletes of single objects.
    pub delete: u64,
    /// Deletes of many objects, each counted once.
    pub delete_many: u64,
    /// Creates.
    pub create: u64,
    /// Swaps.
    pub swap: u64,
    /// Uploads begun.
    pub create_upload: u64,
    /// Parts of uploads.
    pub upload_part: u64,
    /// Uploads completed.
    pub complete_upload: u64,
    /// Uploads thrown away.
    pub abort_upload: u64,
    /// Pages of listings of uploads.
    pub list_uploads: u64,
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
        let counters = &self.counters;
        Counts {
            get: counters.get.load(Relaxed),
            stat: counters.stat.load(Relaxed),
            list: counters.list.load(Relaxed),
            delete: counters.delete.load(Relaxed),
            delete_many: counters.delete_many.load(Relaxed),
            create: counters.create.load(Relaxed),
            swap: counters.swap.load(Relaxed),
            create_upload: counters.create_upload.load(Relaxed),
            upload_part: counters.upload_part.load(Relaxed),
            complete_upload: counters.complete_upload.load(Relaxed),
            abort_upload: counters.abort_upload.load(Relaxed),
            list_uploads: counters.list_uploads.load(Relaxed),
            bytes_in: counters.bytes_in.load(Relaxed),
            bytes_out: counters.bytes_out.load(Relaxed),
        }
    }
}

impl Counts {
    /// Requests of every kind.
    #[must_use]
    pub fn requests(&self) -> u64 {
        let objects = self.get + self.stat + self.list + self.delete + self.delete_many + self.create + self.swap;
        let uploads = self.create_upload + self.upload_part + self.complete_upload + self.abort_upload;
        objects + uploads + self.list_uploads
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
            delete_many: self.delete_many - earlier.delete_many,
            create: self.create - earlier.create,
            swap: self.swap - earlier.swap,
            create_upload: self.create_upload - earlier.create_upload,
            upload_part: self.upload_part - earlier.upload_part,
            complete_upload: self.complete_upload - earlier.complete_upload,
            abort_upload: self.abort_upload - earlier.abort_upload,
            list_uploads: self.list_uploads - earlier.list_uploads,
            bytes_in: self.bytes_in - earlier.bytes_in,
            bytes_out: self.bytes_out - earlier.bytes_out,
        }
    }
}

fn add(counter: &AtomicU64, n: usize) {
    counter.fetch_add(n as u64, Relaxed);
}

fn total(pieces: &[Bytes]) -> usize {
    pieces.iter().map(Bytes::len).sum()
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

    fn delete_many(&self, request: &DeleteMany, until: Instant) -> Result<DeleteManyReply, Fault> {
        add(&self.counters.delete_many, 1);
        self.store.delete_many(request, until)
    }

    fn create(&self, request: &Create, until: Instant) -> Result<CreateReply, Fault> {
        add(&self.counters.create, 1);
        add(&self.counters.bytes_in, total(&request.body));
        self.store.create(request, until)
    }

    fn swap(&self, request: &Swap, until: Instant) -> Result<SwapReply, Fault> {
        add(&self.counters.swap, 1);
        add(&self.counters.bytes_in, request.body.len());
        self.store.swap(request, until)
    }
    fn create_upload(&self, request: &CreateUpload, until: Instant) -> Result<CreateUploadReply, Fault> {
        add(&self.counters.create_upload, 1);
        self.store.create_upload(request, until)
    }

    fn upload_part(&self, request: &UploadPart, until: Instant) -> Result<UploadPartReply, Fault> {
        add(&self.counters.upload_part, 1);
        add(&self.counters.bytes_in, total(&request.body));
        self.store.upload_part(request, until)
    }

    fn complete_upload(&self, request: &CompleteUpload, until: Instant) -> Result<CreateReply, Fault> {
        add(&self.counters.complete_upload, 1);
        self.store.complete_upload(request, until)
    }

    fn abort_upload(&self, request: &AbortUpload, until: Instant) -> Result<(), Fault> {
        add(&self.counters.abort_upload, 1);
        self.store.abort_upload(request, until)
    }

    fn list_uploads(&self, request: &ListUploads, until: Instant) -> Result<ListUploadsReply, Fault> {
        add(&self.counters.list_uploads, 1);
        self.store.list_uploads(request, until)
    }
}
