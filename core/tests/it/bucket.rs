//! A bucket in memory that executes commands, for tests of the machines.
use bucketlog_core::boundary::{
    ByteRange, Command, CompleteUpload, Completion, CreateReply, CreateUploadReply, Fault, Get, GetReply, Key,
    ListReply, ObjectMeta, PartTag, RefusalKind, StatReply, SwapCondition, SwapReply, UploadId, UploadPart,
    UploadPartReply, Version,
};
use bucketlog_core::format::segment::BlockCodec;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Objects with unique versions, and a count of every request by kind.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a habit of some store")]
pub(crate) struct Bucket {
    /// Versions are hashes of the content.
    pub(crate) hashes_content: bool,
    /// Writes are answered without the version that they made.
    pub(crate) hides_versions: bool,
    /// The next swap is taken whatever its condition.
    pub(crate) ignores_a_condition: bool,
    /// There are no uploads in parts.
    pub(crate) takes_no_parts: bool,
    uploads: BTreeMap<UploadId, BTreeMap<u16, (PartTag, Bytes)>>,
    uploads_begun: u64,
    objects: BTreeMap<Key, (Bytes, u64)>,
    versions: u64,
    codec: BlockCodec,
    pub(crate) requests: BTreeMap<&'static str, usize>,
}

fn version(number: u64) -> Version {
    Version::from(format!("\"v{number}\""))
}

fn refused<T>(kind: RefusalKind) -> Result<T, Fault> {
    Err(Fault::refused(kind, "by the test's bucket"))
}

impl Bucket {
    /// Executes a command and answers it; `None` for a cancellation.
    pub(crate) fn execute(&mut self, command: Command) -> Option<Completion> {
        *self.requests.entry(kind(&command)).or_default() += 1;
        Some(match command {
            Command::Get(op) => {
                let (get, ticket) = op.split();
                ticket.done(self.get(&get))
            }
            Command::Stat(op) => {
                let (stat, ticket) = op.split();
                let meta = self.objects.get(&stat.key).map(|(body, v)| meta(&stat.key, body, *v));
                ticket.done(meta.map_or_else(|| refused(RefusalKind::NotFound), |meta| Ok(StatReply { meta })))
            }
            Command::List(op) => {
                let (list, ticket) = op.split();
                let rows = self.objects.iter().filter(|(key, _)| key.as_str().starts_with(list.prefix.as_str()));
                let rows = rows.filter(|(key, _)| list.after.as_ref().is_none_or(|after| *key > after));
                let objects = rows.map(|(key, (body, v))| meta(key, body, *v)).collect();
                ticket.done(Ok(ListReply { objects, more: false }))
            }
            Command::Delete(op) => {
                let (delete, ticket) = op.split();
                self.objects.remove(&delete.key);
                ticket.done(Ok(()))
            }
            Command::Create(op) => {
                let (create, ticket) = op.split();
                let reply = self.swap(create.key, create.body.concat().into(), &SwapCondition::Absent);
                ticket.done(reply.map(|version| CreateReply { version: self.shown(version) }))
            }
            Command::Swap(op) => {
                let (swap, ticket) = op.split();
                let reply = self.swap(swap.key, swap.body, &swap.condition);
                ticket.done(reply.map(|version| SwapReply { version: self.shown(version) }))
            }
            Command::CreateUpload(op) => {
                let (_, ticket) = op.split();
                ticket.done(self.begin_upload())
            }
            Command::UploadPart(op) => {
                let (part, ticket) = op.split();
                ticket.done(self.store_part(&part))
            }
            Command::CompleteUpload(op) => {
                let (complete, ticket) = op.split();
                let reply = self.complete(&complete);
                ticket.done(reply.map(|version| CreateReply { version: self.shown(version) }))
            }
            Command::AbortUpload(op) => {
                let (abort, ticket) = op.split();
                self.uploads.remove(&abort.upload);
                ticket.done(Ok(()))
            }
            Command::EncodeBlock(op) => {
                let (encode, ticket) = op.split();
                ticket.done(Ok(encode.run(&mut self.codec)))
            }
            Command::DecodeBlock(op) => {
                let (decode, ticket) = op.split();
                ticket.done(Ok(decode.run(&mut self.codec)))
            }
            Command::Cancel(_) => return None,
            other => panic!("no such command: {other:?}"),
        })
    }

    /// Does what a write asks for without answering it, as a request does that lands after its sender gave up.
    pub(crate) fn land(&mut self, write: Write) {
        match write {
            Write::Put { key, body, condition } => drop(self.swap(key, body, &condition)),
            Write::Begin => drop(self.begin_upload()),
            Write::Part(part) => drop(self.store_part(&part)),
            Write::Complete(complete) => drop(self.complete(&complete)),
        }
    }

    fn begin_upload(&mut self) -> Result<CreateUploadReply, Fault> {
        if self.takes_no_parts {
            return refused(RefusalKind::Unsupported);
        }
        self.uploads_begun += 1;
        let upload = UploadId::from(format!("upload {}", self.uploads_begun));
        self.uploads.insert(upload.clone(), BTreeMap::new());
        Ok(CreateUploadReply { upload })
    }

    fn store_part(&mut self, part: &UploadPart) -> Result<UploadPartReply, Fault> {
        let Some(parts) = self.uploads.get_mut(&part.upload) else { return refused(RefusalKind::NotFound) };
        self.versions += 1;
        let tag = PartTag::from(format!("part {}", self.versions));
        parts.insert(part.number, (tag.clone(), part.body.concat().into()));
        Ok(UploadPartReply { tag })
    }

    /// As the strictest of stores: the tags must be those of the parts as they are now.
    fn complete(&mut self, complete: &CompleteUpload) -> Result<Version, Fault> {
        let Some(parts) = self.uploads.get(&complete.upload) else { return refused(RefusalKind::NotFound) };
        let numbered = (1..).zip(complete.parts.iter());
        let bodies = numbered.map(|(number, tag)| parts.get(&number).filter(|(known, _)| known == tag));
        let Some(bodies) = bodies.collect::<Option<Vec<_>>>() else { return refused(RefusalKind::Invalid) };
        let body: Vec<u8> = bodies.into_iter().flat_map(|(_, body)| body.iter().copied()).collect();
        let version = self.swap(complete.key.clone(), body.into(), &SwapCondition::Absent)?;
        self.uploads.remove(&complete.upload);
        Ok(version)
    }

    /// Forgets every upload, as a lifecycle rule does.
    pub(crate) fn expire_uploads(&mut self) {
        self.uploads.clear();
    }

    /// Uploads neither completed nor aborted.
    pub(crate) fn open_uploads(&self) -> usize {
        self.uploads.len()
    }

    fn get(&self, get: &Get) -> Result<GetReply, Fault> {
        let Some((object, v)) = self.objects.get(&get.key) else { return refused(RefusalKind::NotFound) };
        if get.if_none_match.as_ref() == Some(&version(*v)) {
            return Ok(GetReply::NotModified);
        }
        if get.if_match.as_ref().is_some_and(|wanted| *wanted != version(*v)) {
            return refused(RefusalKind::Precondition);
        }
        let size = object.len() as u64;
        let (from, to) = match get.range {
            ByteRange::All => (0, size),
            ByteRange::FromTo(from, to) => (from, to.min(size)),
            ByteRange::Suffix(n) => (size.saturating_sub(n), size),
        };
        if from > to || to - from > get.max_len || (from == to && size > 0) {
            return refused(RefusalKind::Invalid);
        }
        let range = usize::try_from(from).unwrap()..usize::try_from(to).unwrap();
        Ok(GetReply::Found { body: object.slice(range), version: Some(version(*v)), total_size: size })
    }

    fn swap(&mut self, key: Key, body: Bytes, condition: &SwapCondition) -> Result<Version, Fault> {
        let present = self.objects.get(&key).map(|(_, v)| version(*v));
        if std::mem::take(&mut self.ignores_a_condition) {
            return Ok(self.put(key, body));
        }
        match (condition, present) {
            (SwapCondition::Absent, None) => {}
            (SwapCondition::Matches(wanted), Some(found)) if *wanted == found => {}
            (SwapCondition::Matches(_), None) => return refused(RefusalKind::NotFound),
            _ => return refused(RefusalKind::Precondition),
        }
        Ok(self.put(key, body))
    }

    /// Replaces an object without any condition, as an operator's hand does.
    pub(crate) fn put(&mut self, key: impl Into<Key>, body: Bytes) -> Version {
        self.versions += 1;
        let number = if self.hashes_content { content_hash(&body) } else { self.versions };
        self.objects.insert(key.into(), (body, number));
        version(number)
    }

    fn shown(&self, version: Version) -> Option<Version> {
        (!self.hides_versions).then_some(version)
    }

    /// Removes an object, as an operator's hand does.
    pub(crate) fn remove(&mut self, key: &str) -> Option<Bytes> {
        self.objects.remove(&Key::from(key)).map(|(body, _)| body)
    }

    pub(crate) fn body(&self, key: &str) -> Option<&Bytes> {
        self.objects.get(&Key::from(key)).map(|(body, _)| body)
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.objects.keys().map(Key::as_str)
    }
}

/// What a write does to a bucket, apart from who asked for it.
#[derive(Debug)]
pub(crate) enum Write {
    Put { key: Key, body: Bytes, condition: SwapCondition },
    Begin,
    Part(UploadPart),
    Complete(CompleteUpload),
}

impl Write {
    /// The write that a command asks for; a read asks for none.
    pub(crate) fn of(command: &Command) -> Option<Self> {
        match command {
            Command::Create(op) => {
                let create = op.request();
                let (key, body) = (create.key.clone(), create.body.concat().into());
                Some(Self::Put { key, body, condition: SwapCondition::Absent })
            }
            Command::Swap(op) => {
                let swap = op.request();
                Some(Self::Put { key: swap.key.clone(), body: swap.body.clone(), condition: swap.condition.clone() })
            }
            Command::CreateUpload(_) => Some(Self::Begin),
            Command::UploadPart(op) => Some(Self::Part(op.request().clone())),
            Command::CompleteUpload(op) => Some(Self::Complete(op.request().clone())),
            _ => None,
        }
    }
}

fn content_hash(body: &Bytes) -> u64 {
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    hasher.finish()
}

fn meta(key: &Key, body: &Bytes, v: u64) -> ObjectMeta {
    ObjectMeta { key: key.clone(), size: body.len() as u64, version: Some(version(v)), modified: None }
}

/// The command's kind, as scenarios write it.
pub(crate) fn kind(command: &Command) -> &'static str {
    match command {
        Command::Get(_) => "GET",
        Command::Stat(_) => "STAT",
        Command::List(_) => "LIST",
        Command::Delete(_) => "DELETE",
        Command::Create(_) => "CREATE",
        Command::Swap(_) => "SWAP",
        Command::EncodeBlock(_) => "ENCODE",
        Command::DecodeBlock(_) => "DECODE",
        Command::Cancel(_) => "CANCEL",
        Command::CreateUpload(_) => "BEGIN",
        Command::UploadPart(_) => "PART",
        Command::CompleteUpload(_) => "COMPLETE",
        Command::AbortUpload(_) => "ABORT",
        _ => "?",
    }
}
