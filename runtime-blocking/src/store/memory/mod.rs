//! Objects in memory.
mod uploads;

use super::{Store, rules};
use bucketlog_core::boundary::{
    AbortUpload, CompleteUpload, Create, CreateReply, CreateUpload, CreateUploadReply, Delete, Fault, Get, GetReply,
    Key, List, ListReply, ListUploads, ListUploadsReply, ObjectMeta, RefusalKind, Stat, StatReply, Swap, SwapCondition,
    SwapReply, UploadPart, UploadPartReply, Version,
};
use bucketlog_core::ids::TimestampMs;
use bytes::{Bytes, BytesMut};
use std::collections::{BTreeMap, btree_map::Entry};
use std::ops::{Bound, Range};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Instant, SystemTime};
use std::{fmt, mem};
use uploads::Uploads;

/// A store that lives and dies with its process: for tests, benchmarks and first steps.
///
/// Bodies are kept as they came, without a copy; only a read that crosses the pieces of a created object copies the
/// range asked for. Version tokens are unique for the lifetime of the store, also across deletes. Requests never wait
/// for anything but each other, so `until` plays no part.
#[derive(Default)]
pub struct Memory {
    state: RwLock<State>,
    keep_body: Option<KeepBody>,
}

type KeepBody = Box<dyn Fn(&Key) -> bool + Send + Sync>;

#[derive(Default)]
struct State {
    objects: BTreeMap<Key, Object>,
    uploads: Uploads,
    writes: u64,
}

struct Object {
    body: Body,
    version: Version,
    modified: TimestampMs,
}

#[derive(Debug)]
enum Body {
    Whole(Bytes),
    Pieces { pieces: Box<[Bytes]>, size: u64 },
    Discarded { size: u64 },
}

impl Memory {
    /// An empty store that keeps everything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that keeps a body only where `keep_body` says so, and of every other object just its size, so
    /// that a benchmark can write without end. Reading such an object is [`RefusalKind::Unsupported`]; everything else
    /// works on it.
    #[must_use]
    pub fn discarding(keep_body: impl Fn(&Key) -> bool + Send + Sync + 'static) -> Self {
        Self { state: RwLock::default(), keep_body: Some(Box::new(keep_body)) }
    }

    fn body(&self, key: &Key, pieces: &[Bytes]) -> Body {
        let discard = self.keep_body.as_ref().is_some_and(|keep| !keep(key));
        match pieces {
            _ if discard => Body::Discarded { size: total(pieces) },
            [] => Body::Whole(Bytes::new()),
            [whole] => Body::Whole(whole.clone()),
            several => Body::Pieces { pieces: several.into(), size: total(several) },
        }
    }

    // A panic can't leave a map half changed: every critical section changes each in one step.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("objects", &self.read().objects.len()).finish_non_exhaustive()
    }
}

impl State {
    fn object(&self, key: &Key) -> Result<&Object, Fault> {
        self.objects.get(key).ok_or_else(rules::not_found)
    }

    fn next_version(&mut self) -> Version {
        self.writes += 1;
        version(self.writes)
    }

    fn insert_absent(&mut self, key: &Key, body: Body, modified: TimestampMs) -> Result<Version, Fault> {
        let version = self.next_version();
        match self.objects.entry(key.clone()) {
            Entry::Occupied(_) => Err(rules::precondition("the key exists")),
            Entry::Vacant(free) => {
                free.insert(Object { body, version: version.clone(), modified });
                Ok(version)
            }
        }
    }

    /// Gives the new version and the old object, which the caller drops after it has let go of the lock.
    fn replace(
        &mut self,
        key: &Key,
        expected: &Version,
        body: Body,
        modified: TimestampMs,
    ) -> Result<(Version, Object), Fault> {
        let version = self.next_version();
        let object = self.objects.get_mut(key).ok_or_else(rules::not_found)?;
        if object.version != *expected {
            return Err(rules::precondition("the object has another version"));
        }
        let new = Object { body, version: version.clone(), modified };
        Ok((version, mem::replace(object, new)))
    }
}

impl Object {
    fn meta(&self, key: &Key) -> ObjectMeta {
        ObjectMeta {
            key: key.clone(),
            size: self.body.size(),
            version: Some(self.version.clone()),
            modified: Some(self.modified),
        }
    }
}

impl Body {
    /// The concatenation; one that was not all kept is not kept.
    fn join(parts: &[&Self]) -> Self {
        let size = parts.iter().map(|part| part.size()).sum();
        let pieces = parts.iter().map(|part| part.pieces()).collect::<Option<Vec<_>>>();
        pieces.map_or(Self::Discarded { size }, |pieces| Self::Pieces { pieces: pieces.concat().into(), size })
    }

    /// `None` if they were not kept.
    fn pieces(&self) -> Option<&[Bytes]> {
        match self {
            Self::Whole(bytes) => Some(std::slice::from_ref(bytes)),
            Self::Pieces { pieces, .. } => Some(pieces),
            Self::Discarded { .. } => None,
        }
    }

    fn size(&self) -> u64 {
        match self {
            Self::Whole(bytes) => bytes.len() as u64,
            Self::Pieces { size, .. } | Self::Discarded { size } => *size,
        }
    }

    fn slice(&self, range: &Range<usize>) -> Result<Bytes, Fault> {
        match self {
            Self::Whole(bytes) => Ok(bytes.slice(range.clone())),
            Self::Pieces { pieces, .. } => Ok(slice_pieces(pieces, range)),
            Self::Discarded { .. } => Err(Fault::refused(RefusalKind::Unsupported, "this body was not kept")),
        }
    }
}

fn slice_pieces(pieces: &[Bytes], range: &Range<usize>) -> Bytes {
    let mut copied = BytesMut::new();
    let mut begin = 0;
    for piece in pieces {
        let end = begin + piece.len();
        if begin <= range.start && range.end <= end {
            return piece.slice(range.start - begin..range.end - begin);
        }
        if range.start < end && begin < range.end {
            copied.reserve(range.len() - copied.len());
            let from = range.start.max(begin) - begin;
            let to = range.end.min(end) - begin;
            copied.extend_from_slice(&piece[from..to]);
        }
        begin = end;
    }
    copied.freeze()
}

fn total(pieces: &[Bytes]) -> u64 {
    pieces.iter().map(|piece| piece.len() as u64).sum()
}

fn now() -> TimestampMs {
    rules::timestamp(SystemTime::now())
}

/// Decimal digits, written without the formatting machinery: a version is made on every commit.
fn version(mut n: u64) -> Version {
    let mut digits = [b'0'; 20];
    let mut begin = digits.len();
    while n > 0 || begin == digits.len() {
        begin -= 1;
        digits[begin] = b'0' + (n % 10) as u8;
        n /= 10;
    }
    Version::from(std::str::from_utf8(&digits[begin..]).unwrap_or_default())
}

impl Store for Memory {
    fn get(&self, request: &Get, _until: Instant) -> Result<GetReply, Fault> {
        let state = self.read();
        let object = state.object(&request.key)?;
        if !rules::wants_body(request, &object.version)? {
            return Ok(GetReply::NotModified);
        }
        let total_size = object.body.size();
        let range = rules::range(request.range, total_size, request.max_len)?;
        let body = object.body.slice(&rules::in_memory(&range)?)?;
        Ok(GetReply::Found { body, version: Some(object.version.clone()), total_size })
    }

    fn stat(&self, request: &Stat, _until: Instant) -> Result<StatReply, Fault> {
        Ok(StatReply { meta: self.read().object(&request.key)?.meta(&request.key) })
    }

    fn list(&self, request: &List, _until: Instant) -> Result<ListReply, Fault> {
        let limit = rules::limit(request.limit)?;
        let from = match &request.after {
            Some(after) if *after >= request.prefix => Bound::Excluded(after),
            _ => Bound::Included(&request.prefix),
        };
        let state = self.read();
        let mut rows = state
            .objects
            .range::<Key, _>((from, Bound::Unbounded))
            .take_while(|(key, _)| key.as_str().starts_with(request.prefix.as_str()));
        let objects = rows.by_ref().take(limit).map(|(key, object)| object.meta(key)).collect();
        Ok(ListReply { objects, more: rows.next().is_some() })
    }

    fn delete(&self, request: &Delete, _until: Instant) -> Result<(), Fault> {
        let deleted = self.write().objects.remove(&request.key);
        drop(deleted);
        Ok(())
    }

    fn create(&self, request: &Create, _until: Instant) -> Result<CreateReply, Fault> {
        let body = self.body(&request.key, &request.body);
        let version = self.write().insert_absent(&request.key, body, now())?;
        Ok(CreateReply { version: Some(version) })
    }

    fn swap(&self, request: &Swap, _until: Instant) -> Result<SwapReply, Fault> {
        let body = self.body(&request.key, std::slice::from_ref(&request.body));
        let version = match &request.condition {
            SwapCondition::Absent => self.write().insert_absent(&request.key, body, now())?,
            SwapCondition::Matches(expected) => {
                let (version, _old) = self.write().replace(&request.key, expected, body, now())?;
                version
            }
        };
        Ok(SwapReply { version: Some(version) })
    }

    fn create_upload(&self, request: &CreateUpload, _until: Instant) -> Result<CreateUploadReply, Fault> {
        Ok(self.begin(request))
    }

    fn upload_part(&self, request: &UploadPart, _until: Instant) -> Result<UploadPartReply, Fault> {
        self.put_part(request)
    }

    fn complete_upload(&self, request: &CompleteUpload, _until: Instant) -> Result<CreateReply, Fault> {
        self.complete(request)
    }

    fn abort_upload(&self, request: &AbortUpload, _until: Instant) -> Result<(), Fault> {
        self.abort(request);
        Ok(())
    }

    fn list_uploads(&self, request: &ListUploads, _until: Instant) -> Result<ListUploadsReply, Fault> {
        self.page_of_uploads(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_decimal_counts() {
        for n in [0, 1, 9, 10, 1_234_567_890, u64::MAX] {
            assert_eq!(version(n).as_str(), n.to_string());
        }
    }

    #[test]
    fn every_slice_of_several_pieces_equals_the_slice_of_their_concatenation() {
        let pieces: Vec<Bytes> = ["abc", "", "d", "efgh"].map(Bytes::from).into();
        let whole = pieces.concat();
        for from in 0..=whole.len() {
            for to in from..=whole.len() {
                assert_eq!(slice_pieces(&pieces, &(from..to)), whole[from..to], "{from}..{to}");
            }
        }
    }

    #[test]
    fn a_slice_inside_one_piece_is_not_copied() {
        let pieces = [Bytes::from(vec![1; 4]), Bytes::from(vec![2; 4])];
        assert_eq!(slice_pieces(&pieces, &(5..7)).as_ptr(), pieces[1][1..].as_ptr());
    }
}
