//! One check's view of the store: its own keys, and answers turned into messages.
use super::Races;
use crate::store::Store;
use crate::sync::{Mutex, lock};
use bucketlog_core::boundary::{
    AbortUpload, ByteRange, CompleteUpload, Create, CreateUpload, Delete, DeleteMany, Fault, Get, GetReply, Key, List,
    ListReply, ListUploads, ListUploadsReply, ObjectMeta, PartTag, RefusalKind, Stat, Swap, SwapCondition, UploadId,
    UploadPart, Version,
};
use bytes::Bytes;
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub(super) struct Case<'a> {
    store: &'a dyn Store,
    prefix: String,
    races: Races,
    /// What may exist by now.
    written: Mutex<BTreeSet<Key>>,
    /// Uploads begun.
    begun: Mutex<Vec<Upload>>,
    lacks_uploads: AtomicBool,
}

/// An upload and its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Upload {
    pub(super) key: Key,
    pub(super) id: UploadId,
}

pub(super) const NO_VERSION: &str = "a whole read of a small object tells no version, so it can't be swapped";

/// What a read gave.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) body: Bytes,
    pub(super) version: Option<Version>,
    pub(super) total_size: u64,
}

impl<'a> Case<'a> {
    pub(super) fn new(store: &'a dyn Store, prefix: &str, races: Races) -> Self {
        let (written, begun) = (Mutex::default(), Mutex::default());
        Self { store, prefix: prefix.to_owned(), races, written, begun, lacks_uploads: AtomicBool::new(false) }
    }

    pub(super) fn races(&self) -> Races {
        self.races
    }

    pub(super) fn key(&self, name: &str) -> Key {
        Key::from(format!("{}/{name}", self.prefix))
    }

    /// The key of an object that is about to be written.
    fn key_to_write(&self, name: &str) -> Key {
        let key = self.key(name);
        lock(&self.written).insert(key.clone());
        key
    }

    /// Throws away the uploads that are left: no listing of objects shows them, and they cost space.
    pub(super) fn end_uploads(&self) {
        for upload in std::mem::take(&mut *lock(&self.begun)) {
            let _ = self.abort(&upload);
        }
    }

    /// Deletes what was written; what the store does not delete stays.
    pub(super) fn clean(self) {
        for key in std::mem::take(&mut *lock(&self.written)) {
            let _ = self.store.delete(&Delete { key }, until());
        }
    }

    pub(super) fn create(&self, name: &str, body: &[u8]) -> Result<(), Fault> {
        self.create_pieces(name, vec![Bytes::copy_from_slice(body)])
    }

    pub(super) fn create_pieces(&self, name: &str, body: Vec<Bytes>) -> Result<(), Fault> {
        self.store.create(&Create { key: self.key_to_write(name), body }, until()).map(drop)
    }

    pub(super) fn swap(&self, name: &str, condition: SwapCondition, body: &[u8]) -> Result<Option<Version>, Fault> {
        let swap = Swap { key: self.key_to_write(name), body: Bytes::copy_from_slice(body), condition };
        Ok(self.store.swap(&swap, until())?.version)
    }

    /// Swaps and gives the version that a read tells then.
    pub(super) fn swapped(&self, name: &str, condition: SwapCondition, body: &[u8]) -> Result<Version, String> {
        let told = done("swap", self.swap(name, condition, body))?;
        let version = self.state(name, body)?;
        if let Some(told) = told {
            equal("version told by the swap", &told, &version)?;
        }
        Ok(version)
    }

    pub(super) fn delete(&self, name: &str) -> Result<(), Fault> {
        self.store.delete(&Delete { key: self.key(name) }, until())
    }

    pub(super) fn stat(&self, name: &str) -> Result<ObjectMeta, Fault> {
        Ok(self.store.stat(&Stat { key: self.key(name) }, until())?.meta)
    }

    pub(super) fn get(&self, get: &Get) -> Result<GetReply, Fault> {
        self.store.get(get, until())
    }

    /// A read without conditions.
    pub(super) fn read(&self, name: &str, range: ByteRange) -> Result<Found, Fault> {
        match self.get(&self.whole(name, range))? {
            GetReply::Found { body, version, total_size } => Ok(Found { body, version, total_size }),
            GetReply::NotModified => Err(Fault::indeterminate("NotModified for a read without a condition")),
        }
    }

    pub(super) fn whole(&self, name: &str, range: ByteRange) -> Get {
        Get::new(self.key(name), range, 1 << 20)
    }

    /// The version of an object that must hold exactly `body`.
    pub(super) fn state(&self, name: &str, body: &[u8]) -> Result<Version, String> {
        Ok(self.holds(name, body)?.version.ok_or(NO_VERSION)?)
    }

    /// The version of an object, whatever it holds.
    pub(super) fn version(&self, name: &str) -> Result<Version, String> {
        Ok(done("read", self.read(name, ByteRange::All))?.version.ok_or(NO_VERSION)?)
    }

    /// The object must hold exactly `body`.
    pub(super) fn holds(&self, name: &str, body: &[u8]) -> Result<Found, String> {
        let found = done("read", self.read(name, ByteRange::All))?;
        equal("content", &found.body.as_ref(), &body)?;
        equal("total size", &found.total_size, &(body.len() as u64))?;
        Ok(found)
    }

    /// Whether the check ended because the store has no uploads in parts.
    pub(super) fn lacks_uploads(&self) -> bool {
        self.lacks_uploads.load(Relaxed)
    }

    pub(super) fn begin(&self, name: &str) -> Result<Upload, String> {
        let key = self.key_to_write(name);
        let begun = self.store.create_upload(&CreateUpload { key: key.clone() }, until());
        if begun.as_ref().is_err_and(|fault| fault.refusal() == Some(&RefusalKind::Unsupported)) {
            self.lacks_uploads.store(true, Relaxed);
        }
        let upload = Upload { key, id: done("create upload", begun)?.upload };
        lock(&self.begun).push(upload.clone());
        Ok(upload)
    }

    pub(super) fn part(&self, upload: &Upload, number: u16, body: Bytes) -> Result<PartTag, Fault> {
        let Upload { key, id } = upload.clone();
        Ok(self.store.upload_part(&UploadPart { key, upload: id, number, body: vec![body] }, until())?.tag)
    }

    pub(super) fn complete(&self, upload: &Upload, parts: &[PartTag]) -> Result<(), Fault> {
        let Upload { key, id } = upload.clone();
        self.store.complete_upload(&CompleteUpload { key, upload: id, parts: parts.to_vec() }, until()).map(drop)
    }

    pub(super) fn abort(&self, upload: &Upload) -> Result<(), Fault> {
        let Upload { key, id } = upload.clone();
        self.store.abort_upload(&AbortUpload { key, upload: id }, until())
    }

    /// A page of the uploads whose keys begin with `prefix`, which is relative to the check's own.
    pub(super) fn list_uploads(
        &self,
        prefix: &str,
        after: Option<&Upload>,
        limit: u16,
    ) -> Result<ListUploadsReply, String> {
        let after = after.cloned().map(|Upload { key, id }| (key, id));
        let list = ListUploads { prefix: self.key(prefix), after, limit };
        done("list uploads", self.store.list_uploads(&list, until()))
    }

    pub(super) fn delete_many(&self, names: &[&str]) -> Result<Vec<Result<(), Fault>>, Fault> {
        let keys = names.iter().map(|name| self.key(name)).collect();
        Ok(self.store.delete_many(&DeleteMany { keys }, until())?.outcomes)
    }

    /// A page of the keys that begin with `prefix`, which is relative to the check's own.
    pub(super) fn list(&self, prefix: &str, after: Option<&str>, limit: u16) -> Result<ListReply, String> {
        let list = List { prefix: self.key(prefix), after: after.map(|after| self.key(after)), limit };
        done("list", self.store.list(&list, until()))
    }

    /// Names of listed objects, relative to the check's own prefix.
    pub(super) fn names(&self, reply: &ListReply) -> Vec<String> {
        let relative = |key: &str| key.strip_prefix(&format!("{}/", self.prefix)).unwrap_or(key).to_owned();
        reply.objects.iter().map(|row| relative(row.key.as_str())).collect()
    }
}

fn until() -> Instant {
    Instant::now() + Duration::from_secs(30)
}

/// What must be done is done.
pub(super) fn done<T>(what: &str, result: Result<T, Fault>) -> Result<T, String> {
    result.map_err(|fault| format!("{what}: {fault}"))
}

/// What must be refused is refused, in one of these ways.
pub(super) fn refused<T: Debug>(what: &str, result: Result<T, Fault>, kinds: &[RefusalKind]) -> Result<(), String> {
    match result {
        Err(fault) if fault.refusal().is_some_and(|kind| kinds.contains(kind)) => Ok(()),
        Err(fault) => Err(format!("{what}: expected a refusal of kind {kinds:?}, got {fault}")),
        Ok(reply) => Err(format!("{what}: expected a refusal of kind {kinds:?}, got {reply:?}")),
    }
}

pub(super) fn equal<T: PartialEq + Debug>(what: &str, actual: &T, expected: &T) -> Result<(), String> {
    if actual == expected { Ok(()) } else { Err(format!("{what}: expected {expected:?}, got {actual:?}")) }
}

/// The loser of a race of conditional writes.
pub(super) fn lost(fault: &Fault) -> bool {
    matches!(fault.refusal(), Some(RefusalKind::Precondition | RefusalKind::Conflict))
}
