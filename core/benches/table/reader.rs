//! A reader over objects in memory.
use bucketlog_core::boundary::{ByteRange, Command, Get, GetReply, Key, Machine, Now};
use bucketlog_core::format::catalog::{CatalogLayout, Head};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::BlockCodec;
use bucketlog_core::ids::{Lsn, Partition, WriterId};
use bucketlog_core::reader::{Freshness, Reader, ReaderEvent, ReaderOptions};
use bytes::Bytes;
use std::collections::BTreeMap;

/// The log that all benches of readers read.
pub(crate) fn keys() -> LogKeys {
    LogKeys::new(&StreamId::new("bench").expect("a valid name"), Partition(0))
}

/// Its head, claimed and empty.
pub(crate) fn claimed_head(writer: WriterId) -> Head {
    let empty = Head::initial(*keys().identity(), CatalogLayout::default(), Lsn(0));
    empty.takeover(writer).expect("a first claim")
}

/// Objects, and what was read of them.
#[derive(Default)]
pub(crate) struct Bucket {
    pub(crate) objects: BTreeMap<Key, Bytes>,
    pub(crate) gets: u32,
    pub(crate) bytes: usize,
}

impl Bucket {
    /// A reader that knows the head and nothing else.
    pub(crate) fn reader(&mut self, head: &Head, options: ReaderOptions) -> Reader {
        self.objects.insert(keys().head().into(), head.encode());
        let mut reader = Reader::new(keys(), options, [0; 32]);
        reader.head(Freshness::Latest);
        self.drive(&mut reader, &mut BlockCodec::new());
        (self.gets, self.bytes) = (0, 0);
        reader
    }

    /// Serves the reader until it answers, or asks for an object that is not there.
    pub(crate) fn drive(&mut self, reader: &mut Reader, codec: &mut BlockCodec) -> Option<ReaderEvent> {
        let now = Now::default();
        while let Some(command) = reader.poll_command(now) {
            let completion = match command {
                Command::Get(op) => {
                    let (get, ticket) = op.split();
                    ticket.done(Ok(self.get(&get)?))
                }
                Command::DecodeBlock(op) => {
                    let (decode, ticket) = op.split();
                    ticket.done(Ok(decode.run(codec)))
                }
                Command::Cancel(_) => continue,
                other => panic!("a reader does not ask for {other:?}"),
            };
            reader.complete(now, completion);
        }
        reader.poll_event()
    }

    fn get(&mut self, get: &Get) -> Option<GetReply> {
        let object = self.objects.get(&get.key)?;
        let at = |offset: u64| usize::try_from(offset).expect("an object in memory").min(object.len());
        let body = match get.range {
            ByteRange::All => object.clone(),
            ByteRange::FromTo(from, to) => object.slice(at(from)..at(to)),
            ByteRange::Suffix(n) => object.slice(object.len() - at(n)..),
        };
        self.gets += 1;
        self.bytes += body.len();
        Some(GetReply::Found { body, version: None, total_size: object.len() as u64 })
    }
}
