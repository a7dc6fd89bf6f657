//! The simulated bucket: plain data, strongly consistent, without any fault of its own.
//!
//! Faults are the world's business: it decides whether and when [`Store::apply`] is called for a command, and what the
//! command's sender is told.
use bucketlog_core::boundary::{
    ByteRange, Command, CompleteUpload, Completion, CreateReply, CreateUpload, CreateUploadReply, Fault, Get, GetReply,
    Key, List, ListReply, ListUploads, ListUploadsReply, ObjectMeta, PartTag, RefusalKind, Stat, StatReply, Swap,
    SwapCondition, SwapReply, UploadId, UploadMeta, UploadPart, UploadPartReply, Version,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use twox_hash::XxHash64;

/// How the store names the states of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Versions {
    /// Every write makes a version that never comes back, as generations do.
    #[default]
    Unique,
    /// The same bytes have the same version, as MD5 ETags do.
    ContentHash,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Object {
    body: Bytes,
    version: Version,
}

/// An upload that is neither completed nor thrown away.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Upload {
    key: Key,
    parts: BTreeMap<u16, (PartTag, Bytes)>,
}

/// A bucket in memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    objects: BTreeMap<Key, Object>,
    uploads: BTreeMap<UploadId, Upload>,
    versions: Versions,
    writes: u64,
    /// Whether the answer to a write names the version that it made.
    tells_versions: bool,
}

/// What the store says to a command.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reply {
    /// To a read.
    Get(Result<GetReply, Fault>),
    /// To a stat.
    Stat(Result<StatReply, Fault>),
    /// To a listing.
    List(Result<ListReply, Fault>),
    /// To a deletion.
    Delete(Result<(), Fault>),
    /// To a create.
    Create(Result<CreateReply, Fault>),
    /// To a swap.
    Swap(Result<SwapReply, Fault>),
    /// To the beginning of an upload.
    CreateUpload(Result<CreateUploadReply, Fault>),
    /// To a part.
    UploadPart(Result<UploadPartReply, Fault>),
    /// To a completion.
    CompleteUpload(Result<CreateReply, Fault>),
    /// To the throwing away of an upload.
    AbortUpload(Result<(), Fault>),
    /// To a listing of uploads.
    ListUploads(Result<ListUploadsReply, Fault>),
}

impl Reply {
    /// Answers `command` with this reply; `None` if it is the reply to a command of another kind.
    #[must_use]
    pub fn answer(self, command: Command) -> Option<Completion> {
        Some(match (self, command) {
            (Self::Get(result), Command::Get(op)) => op.split().1.done(result),
            (Self::Stat(result), Command::Stat(op)) => op.split().1.done(result),
            (Self::List(result), Command::List(op)) => op.split().1.done(result),
            (Self::Delete(result), Command::Delete(op)) => op.split().1.done(result),
            (Self::Create(result), Command::Create(op)) => op.split().1.done(result),
            (Self::Swap(result), Command::Swap(op)) => op.split().1.done(result),
            (Self::CreateUpload(result), Command::CreateUpload(op)) => op.split().1.done(result),
            (Self::UploadPart(result), Command::UploadPart(op)) => op.split().1.done(result),
            (Self::CompleteUpload(result), Command::CompleteUpload(op)) => op.split().1.done(result),
            (Self::AbortUpload(result), Command::AbortUpload(op)) => op.split().1.done(result),
            (Self::ListUploads(result), Command::ListUploads(op)) => op.split().1.done(result),
            _ => return None,
        })
    }

    /// Why the store refused, if it did.
    #[must_use]
    pub fn fault(&self) -> Option<&Fault> {
        match self {
            Self::Get(result) => result.as_ref().err(),
            Self::Stat(result) => result.as_ref().err(),
            Self::List(result) => result.as_ref().err(),
            Self::Delete(result) | Self::AbortUpload(result) => result.as_ref().err(),
            Self::Create(result) | Self::CompleteUpload(result) => result.as_ref().err(),
            Self::Swap(result) => result.as_ref().err(),
            Self::CreateUpload(result) => result.as_ref().err(),
            Self::UploadPart(result) => result.as_ref().err(),
            Self::ListUploads(result) => result.as_ref().err(),
        }
    }
}

impl Store {
    /// An empty bucket. `tells_versions`: whether the answer to a write names the version that it made; a read always
    /// does.
    #[must_use]
    pub fn new(versions: Versions, tells_versions: bool) -> Self {
        Self { objects: BTreeMap::new(), uploads: BTreeMap::new(), versions, writes: 0, tells_versions }
    }

    /// Does what a command asks for, once; `None` for what is not the store's business.
    pub fn apply(&mut self, command: &Command) -> Option<Reply> {
        Some(match command {
            Command::Get(op) => Reply::Get(self.get(op.request())),
            Command::Stat(op) => Reply::Stat(self.stat(op.request())),
            Command::List(op) => Reply::List(Ok(self.list(op.request()))),
            Command::Delete(op) => {
                self.objects.remove(&op.request().key);
                Reply::Delete(Ok(()))
            }
            Command::Create(op) => {
                let create = op.request();
                let version = self.write(&create.key, create.body.concat().into(), &SwapCondition::Absent);
                Reply::Create(version.map(|version| CreateReply { version: self.told(version) }))
            }
            Command::Swap(op) => {
                let Swap { key, body, condition } = op.request();
                let version = self.write(key, body.clone(), condition);
                Reply::Swap(version.map(|version| SwapReply { version: self.told(version) }))
            }
            Command::CreateUpload(op) => Reply::CreateUpload(Ok(self.begin(op.request()))),
            Command::UploadPart(op) => Reply::UploadPart(self.take_part(op.request())),
            Command::CompleteUpload(op) => {
                let version = self.complete(op.request());
                Reply::CompleteUpload(version.map(|version| CreateReply { version: self.told(version) }))
            }
            Command::AbortUpload(op) => {
                self.uploads.remove(&op.request().upload);
                Reply::AbortUpload(Ok(()))
            }
            Command::ListUploads(op) => Reply::ListUploads(Ok(self.list_uploads(op.request()))),
            _ => return None,
        })
    }

    /// Content and version of an object.
    #[must_use]
    pub fn object(&self, key: &str) -> Option<(&Bytes, &Version)> {
        self.objects.get(&Key::from(key)).map(|object| (&object.body, &object.version))
    }

    /// Whether a write under this condition would be refused now.
    #[must_use]
    pub fn would_refuse(&self, key: &Key, condition: &SwapCondition) -> bool {
        self.refusal(key, condition).is_some()
    }

    /// Number of objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Whether there is no object.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Writes without any condition, as an operator's hand does.
    pub fn put(&mut self, key: &str, body: Bytes) -> Version {
        self.store(&Key::from(key), body)
    }

    /// Deletes an object, as an operator's hand does.
    pub fn remove(&mut self, key: &str) {
        self.objects.remove(&Key::from(key));
    }

    /// Throws every unfinished upload away, as a lifecycle rule does.
    pub fn expire_uploads(&mut self) {
        self.uploads.clear();
    }

    /// Whether there are unfinished uploads.
    #[must_use]
    pub fn has_uploads(&self) -> bool {
        !self.uploads.is_empty()
    }

    /// Takes over one object as it is in another bucket, with its version.
    #[cfg(feature = "blocking")]
    pub(crate) fn copy_from(&mut self, other: &Self, key: &Key) {
        if let Some(object) = other.objects.get(key) {
            self.objects.insert(key.clone(), object.clone());
        }
    }

    fn told(&self, version: Version) -> Option<Version> {
        self.tells_versions.then_some(version)
    }

    fn get(&self, get: &Get) -> Result<GetReply, Fault> {
        let object = self.objects.get(&get.key).ok_or_else(|| refused(RefusalKind::NotFound))?;
        if get.if_none_match.as_ref() == Some(&object.version) {
            return Ok(GetReply::NotModified);
        }
        if get.if_match.as_ref().is_some_and(|wanted| *wanted != object.version) {
            return Err(refused(RefusalKind::Precondition));
        }
        let size = object.body.len();
        let position = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(size);
        let range = match get.range {
            ByteRange::All => 0..size,
            ByteRange::FromTo(from, to) => position(from)..position(to),
            ByteRange::Suffix(n) => size - position(n)..size,
        };
        let starts_past_the_end = range.is_empty() && get.range != ByteRange::All;
        if starts_past_the_end || range.len() as u64 > get.max_len {
            return Err(refused(RefusalKind::Invalid));
        }
        let (body, version) = (object.body.slice(range), Some(object.version.clone()));
        Ok(GetReply::Found { body, version, total_size: size as u64 })
    }

    fn stat(&self, stat: &Stat) -> Result<StatReply, Fault> {
        let object = self.objects.get(&stat.key).ok_or_else(|| refused(RefusalKind::NotFound))?;
        Ok(StatReply { meta: object.meta(&stat.key) })
    }

    fn list(&self, list: &List) -> ListReply {
        let is_listed = |key: &Key| {
            key.as_str().starts_with(list.prefix.as_str()) && list.after.as_ref().is_none_or(|after| key > after)
        };
        let mut rows = self.objects.iter().filter(|(key, _)| is_listed(key));
        let objects = rows.by_ref().take(list.limit.into()).map(|(key, object)| object.meta(key)).collect();
        ListReply { objects, more: rows.next().is_some() }
    }

    /// Names are given in ascending order.
    fn begin(&mut self, create: &CreateUpload) -> CreateUploadReply {
        self.writes += 1;
        let upload = UploadId::from(format!("u{:08}", self.writes));
        self.uploads.insert(upload.clone(), Upload { key: create.key.clone(), parts: BTreeMap::new() });
        CreateUploadReply { upload }
    }

    fn take_part(&mut self, part: &UploadPart) -> Result<UploadPartReply, Fault> {
        self.writes += 1;
        let body: Bytes = part.body.concat().into();
        let tag = PartTag::from(&*match self.versions {
            Versions::Unique => format!("p{}", self.writes),
            Versions::ContentHash => content_hash(&body),
        });
        let upload = self.uploads.get_mut(&part.upload).filter(|upload| upload.key == part.key);
        let upload = upload.ok_or_else(|| refused(RefusalKind::NotFound))?;
        upload.parts.insert(part.number, (tag.clone(), body));
        Ok(UploadPartReply { tag })
    }

    /// The tags must be those of the parts as they are now, as in the strictest of stores.
    fn complete(&mut self, complete: &CompleteUpload) -> Result<Version, Fault> {
        let upload = self.uploads.get(&complete.upload).filter(|upload| upload.key == complete.key);
        let upload = upload.ok_or_else(|| refused(RefusalKind::NotFound))?;
        let bodies = (1..).zip(&complete.parts).map(|(number, tag)| {
            upload.parts.get(&number).filter(|(known, _)| known == tag).map(|(_, body)| body.clone())
        });
        let bodies: Option<Vec<Bytes>> = bodies.collect();
        let body = bodies.filter(|bodies| !bodies.is_empty()).ok_or_else(|| refused(RefusalKind::Invalid))?.concat();
        let version = self.write(&complete.key, body.into(), &SwapCondition::Absent)?;
        self.uploads.remove(&complete.upload);
        Ok(version)
    }

    fn list_uploads(&self, list: &ListUploads) -> ListUploadsReply {
        let mut rows: Vec<_> = self.uploads.iter().map(|(upload, found)| (found.key.clone(), upload.clone())).collect();
        rows.sort();
        rows.retain(|row| row.0.as_str().starts_with(list.prefix.as_str()) && Some(row) > list.after.as_ref());
        let more = rows.len() > list.limit.into();
        rows.truncate(list.limit.into());
        let uploads = rows.into_iter().map(|(key, upload)| UploadMeta { key, upload, begun: None }).collect();
        ListUploadsReply { uploads, more }
    }

    fn refusal(&self, key: &Key, condition: &SwapCondition) -> Option<RefusalKind> {
        match (condition, self.objects.get(key)) {
            (SwapCondition::Absent, None) => None,
            (SwapCondition::Matches(wanted), Some(object)) if *wanted == object.version => None,
            (SwapCondition::Matches(_), None) => Some(RefusalKind::NotFound),
            (SwapCondition::Absent | SwapCondition::Matches(_), Some(_)) => Some(RefusalKind::Precondition),
        }
    }

    fn write(&mut self, key: &Key, body: Bytes, condition: &SwapCondition) -> Result<Version, Fault> {
        match self.refusal(key, condition) {
            Some(kind) => Err(refused(kind)),
            None => Ok(self.store(key, body)),
        }
    }

    fn store(&mut self, key: &Key, body: Bytes) -> Version {
        self.writes += 1;
        let version = match self.versions {
            Versions::Unique => Version::from(format!("v{}", self.writes)),
            Versions::ContentHash => Version::from(content_hash(&body)),
        };
        self.objects.insert(key.clone(), Object { body, version: version.clone() });
        version
    }
}

impl Object {
    fn meta(&self, key: &Key) -> ObjectMeta {
        let size = self.body.len() as u64;
        ObjectMeta { key: key.clone(), size, version: Some(self.version.clone()), modified: None }
    }
}

fn content_hash(body: &[u8]) -> String {
    format!("{:016x}", XxHash64::oneshot(0, body))
}

fn refused(kind: RefusalKind) -> Fault {
    Fault::refused(kind, "by the simulated store")
}
