//! A small bucket, a partition built with the format functions, and a driver without threads.
use bucketlog_core::boundary::{
    ByteRange, Command, Completion, Fault, Get, GetReply, Machine, Now, RefusalKind, Version,
};
use bucketlog_core::format::HashAlgo;
use bucketlog_core::format::catalog::{CatalogLayout, Head, Page, SealedPage, SegmentEntry, Trim, trim};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::{BlockBuilder, BlockCodec, Codec, Record, SegmentAssembler, SegmentHeader};
use bucketlog_core::ids::{Lsn, Partition, SegmentId, TimestampMs, WriterId};
use bucketlog_core::reader::{
    Answer, Batch, CallId, Freshness, ReadError, ReadLimit, Reader, ReaderEvent, ReaderOptions,
};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Objects with a version that grows with every change.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bucket {
    pub(crate) objects: BTreeMap<String, (Bytes, u64)>,
    versions: u64,
    /// Every read so far.
    pub(crate) gets: Vec<Get>,
}

impl Bucket {
    pub(crate) fn put(&mut self, key: &str, bytes: Bytes) {
        self.versions += 1;
        self.objects.insert(key.into(), (bytes, self.versions));
    }

    pub(crate) fn get(&mut self, get: &Get) -> Result<GetReply, Fault> {
        self.gets.push(get.clone());
        let Some((bytes, version)) = self.objects.get(get.key.as_str()) else {
            return Err(Fault::refused(RefusalKind::NotFound, "no such object"));
        };
        let version = Version::from(version.to_string());
        if get.if_none_match.as_ref() == Some(&version) {
            return Ok(GetReply::NotModified);
        }
        let size = bytes.len() as u64;
        let (from, to) = match get.range {
            ByteRange::All => (0, size),
            ByteRange::FromTo(from, to) => (from, to.min(size)),
            ByteRange::Suffix(n) => (size.saturating_sub(n), size),
        };
        if from > to || (from == to && size > 0) || to - from > get.max_len {
            return Err(Fault::refused(RefusalKind::Invalid, "the range is not satisfiable"));
        }
        let body = bytes.slice(usize::try_from(from).unwrap()..usize::try_from(to).unwrap());
        Ok(GetReply::Found { body, version: Some(version), total_size: size })
    }
}

/// One partition and its writer, with the records that a reader must find.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) keys: LogKeys,
    pub(crate) head: Head,
    pub(crate) bucket: Bucket,
    /// Record of LSN i at place i; the log begins at 0.
    pub(crate) records: Vec<Record>,
    codec: Codec,
    policy: u64,
    pages: BTreeMap<[u8; 16], Arc<Page>>,
}

pub(crate) const WRITER: WriterId = WriterId([9; 16]);

impl Log {
    /// A claimed, empty partition with small fan-outs.
    pub(crate) fn new(leaf_limit: u32, index_limit: u32, codec: Codec) -> Self {
        let keys = LogKeys::new(&StreamId::new("tests/reader").unwrap(), Partition(3));
        let layout = CatalogLayout { hash: HashAlgo::Xxh64, leaf_limit, index_limit };
        let head = Head::initial(*keys.identity(), layout, Lsn(0)).takeover(WRITER).unwrap();
        let bucket = Bucket::default();
        let mut log = Self { keys, head, bucket, records: Vec::new(), codec, policy: 0, pages: BTreeMap::new() };
        log.put_head();
        log
    }

    pub(crate) fn put_head(&mut self) {
        self.bucket.put(self.keys.head(), self.head.encode());
    }

    /// Commits one segment of these blocks.
    pub(crate) fn commit(&mut self, blocks: &[Vec<Record>]) -> SegmentEntry {
        let base = self.head.next_lsn;
        let mut id = [0xee; 16];
        id[..8].copy_from_slice(&base.0.to_be_bytes());
        let header = SegmentHeader {
            partition: self.keys.partition(),
            codec: self.codec,
            hash: HashAlgo::Xxh64,
            segment_id: SegmentId(id),
            writer_tag: self.head.writer_id,
            created: TimestampMs(0),
        };
        let mut assembler = SegmentAssembler::new(header);
        for block in blocks {
            let mut builder = BlockBuilder::new(Lsn(self.records.len() as u64), 64);
            for record in block {
                builder.push(record);
            }
            let sealed = BlockCodec::new().seal(&builder.finish(), self.codec, 3, HashAlgo::Xxh64).unwrap();
            assembler.push(&sealed).unwrap();
            self.records.extend_from_slice(block);
        }
        let segment = assembler.finish().unwrap();
        let entry = SegmentEntry::from_trailer(&segment.trailer, self.head.writer_epoch);
        self.bucket.put(&self.segment_key(&entry), segment.to_bytes());
        let mut pages = Vec::new();
        self.head.append(entry, &mut pages).unwrap();
        self.put_pages(&pages);
        self.put_head();
        entry
    }

    /// Commits one segment per number, of one block with so many records.
    pub(crate) fn commit_all(&mut self, counts: &[usize]) {
        for count in counts {
            let block = self.next_records(*count);
            self.commit(&[block]);
        }
    }

    /// Records that may come next: one per millisecond, values of ten bytes or so.
    pub(crate) fn next_records(&self, count: usize) -> Vec<Record> {
        let first = self.records.len();
        (first..first + count).map(record).collect()
    }

    /// Applies retention; what nothing refers to any more stays in the bucket.
    pub(crate) fn trim(&mut self, before: u64) {
        self.policy += 1;
        let known =
            |reference: &bucketlog_core::format::catalog::PageRef| self.pages.get(&reference.page_id.0).cloned();
        let Trim::Done { head, pages } = trim(&self.head, self.policy, Lsn(before), &known).unwrap() else {
            panic!("every page is known")
        };
        self.head = head;
        self.put_pages(&pages);
        self.put_head();
    }

    fn put_pages(&mut self, pages: &[SealedPage]) {
        for page in pages {
            self.pages.insert(page.reference.page_id.0, Arc::new(Page::decode(&page.bytes).unwrap()));
            self.bucket.put(&self.keys.page(&page.reference), page.bytes.clone());
        }
    }

    pub(crate) fn segment_key(&self, entry: &SegmentEntry) -> String {
        self.keys.segment(entry.base_lsn, entry.writer_epoch, &entry.segment_id)
    }

    /// The records `from..to`, as a batch has them.
    pub(crate) fn expected(&self, from: usize, to: usize) -> Vec<(Lsn, Record)> {
        (from..to).map(|i| (Lsn(i as u64), self.records[i].clone())).collect()
    }

    /// A reader on this log.
    pub(crate) fn reader(&self, options: ReaderOptions) -> World {
        World::new(self.clone(), options)
    }
}

/// The record of LSN `i`.
pub(crate) fn record(i: usize) -> Record {
    Record::new(TimestampMs(1000 + i64::try_from(i).unwrap()), format!("value {i:>4}").into_bytes())
}

/// Says what becomes of a read instead of the bucket, or nothing.
type Interference = Box<dyn FnMut(&Get, &mut Bucket) -> Option<Result<GetReply, Fault>>>;

/// A reader, its bucket, and a clock that jumps to the next deadline when nothing else is left to do.
pub(crate) struct World {
    pub(crate) log: Log,
    pub(crate) reader: Reader,
    pub(crate) now: Now,
    codec: BlockCodec,
    pub(crate) interference: Interference,
    pub(crate) events: Vec<ReaderEvent>,
    /// Blocks decoded.
    pub(crate) decoded: usize,
}

impl World {
    pub(crate) fn new(log: Log, options: ReaderOptions) -> Self {
        let reader = Reader::new(log.keys.clone(), options, [7; 32]);
        Self {
            log,
            reader,
            now: Now::default(),
            codec: BlockCodec::new(),
            interference: Box::new(|_, _| None),
            events: Vec::new(),
            decoded: 0,
        }
    }

    /// The commands that the reader issues now.
    pub(crate) fn poll(&mut self) -> Vec<Command> {
        let commands: Vec<Command> = std::iter::from_fn(|| self.reader.poll_command(self.now)).collect();
        self.events.extend(std::iter::from_fn(|| self.reader.poll_event()));
        commands
    }

    /// Executes one command.
    pub(crate) fn execute(&mut self, command: Command) -> Option<Completion> {
        match command {
            Command::Get(op) => {
                let (get, ticket) = op.split();
                let reply = (self.interference)(&get, &mut self.log.bucket);
                let reply = reply.unwrap_or_else(|| self.log.bucket.get(&get));
                Some(ticket.done(reply))
            }
            Command::DecodeBlock(op) => {
                self.decoded += 1;
                let (decode, ticket) = op.split();
                Some(ticket.done(Ok(decode.run(&mut self.codec))))
            }
            Command::Cancel(_) => None,
            other => panic!("a reader only reads: {other:?}"),
        }
    }

    /// Executes commands until there are none.
    pub(crate) fn settle(&mut self) {
        loop {
            let commands = self.poll();
            if commands.is_empty() {
                return;
            }
            for command in commands {
                if let Some(completion) = self.execute(command) {
                    self.reader.complete(self.now, completion);
                }
            }
        }
    }

    /// The answer to a call, if there is one already.
    pub(crate) fn answer(&mut self, call: CallId) -> Option<Result<Answer, ReadError>> {
        let place =
            self.events.iter().position(|e| matches!(e, ReaderEvent::Done { call: done, .. } if *done == call))?;
        match self.events.remove(place) {
            ReaderEvent::Done { result, .. } => Some(result),
            other => panic!("{other:?}"),
        }
    }

    /// Drives the reader until the call is answered.
    pub(crate) fn wait(&mut self, call: CallId) -> Result<Answer, ReadError> {
        loop {
            self.settle();
            if let Some(answer) = self.answer(call) {
                return answer;
            }
            let deadline = self.reader.deadline().expect("a call that is not answered has a deadline");
            assert!(deadline > self.now.mono, "the deadline {deadline:?} has passed without effect");
            self.now.mono = deadline;
        }
    }

    pub(crate) fn read(&mut self, from: u64, records: u32) -> Result<Batch, ReadError> {
        let call = self.reader.read(Lsn(from), ReadLimit::records(records), Freshness::OnTail);
        self.wait(call).map(batch)
    }

    pub(crate) fn read_time(&mut self, timestamp: i64, records: u32) -> Result<Batch, ReadError> {
        let call = self.reader.read_from_timestamp(TimestampMs(timestamp), ReadLimit::records(records));
        self.wait(call).map(batch)
    }

    pub(crate) fn fetch(&mut self, lsn: u64) -> Result<Record, ReadError> {
        let call = self.reader.fetch(Lsn(lsn));
        self.wait(call).map(|answer| match answer {
            Answer::Record(record) => record,
            other => panic!("{other:?}"),
        })
    }

    pub(crate) fn head(&mut self, freshness: Freshness) -> Result<Arc<Head>, ReadError> {
        let call = self.reader.head(freshness);
        self.wait(call).map(|answer| match answer {
            Answer::Head(head) => head,
            other => panic!("{other:?}"),
        })
    }

    /// Reads sent since the last look: of the head, of pages, of segments.
    pub(crate) fn requests(&mut self) -> [usize; 3] {
        let gets = std::mem::take(&mut self.log.bucket.gets);
        let count = |part: &str| gets.iter().filter(|get| get.key.as_str().contains(part)).count();
        [count("head.plc"), count("/pages/"), count("/segments/")]
    }
}

pub(crate) fn batch(answer: Answer) -> Batch {
    match answer {
        Answer::Batch(batch) => batch,
        other => panic!("{other:?}"),
    }
}

/// Options that read every segment by ranges.
pub(crate) fn ranged() -> ReaderOptions {
    ReaderOptions { whole_segment_max: 0, ..ReaderOptions::default() }
}
