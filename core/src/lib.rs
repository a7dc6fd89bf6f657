//! Sans-IO protocol core of bucketlog: durable, append-only logs that live in an object-store bucket, without a broker.
//!
//! The crate holds the byte formats and the state machines of the protocol. It performs no IO, asks no clock, starts no
//! thread and keeps no global state: a machine hands out [`boundary::Command`]s, a driver executes each with one
//! attempt and hands back what came of it. Ready drivers are other crates; this is a whole one, over a `BTreeMap`:
//!
//! ```
//! use bucketlog_core::boundary::*;
//! use bucketlog_core::format::keys::{LogKeys, StreamId};
//! use bucketlog_core::format::segment::{BlockCodec, Record};
//! use bucketlog_core::ids::{Lsn, Partition, TimestampMs};
//! use bucketlog_core::reader::{Answer, Freshness, ReadLimit, Reader, ReaderEvent, ReaderOptions};
//! use bucketlog_core::writer::{Writer, WriterEvent, WriterOptions};
//! use std::collections::BTreeMap;
//!
//! /// Objects; a version is the number of writes before it.
//! #[derive(Default)]
//! struct Bucket(BTreeMap<Key, (bytes::Bytes, usize)>, usize);
//!
//! impl Bucket {
//!     fn put(&mut self, key: Key, body: bytes::Bytes, expected: Option<Version>) -> Result<Option<Version>, Fault> {
//!         let found = self.0.get(&key).map(|(_, v)| Version::from(v.to_string()));
//!         if found != expected {
//!             return Err(Fault::refused(RefusalKind::Precondition, "the object is in another state"));
//!         }
//!         self.1 += 1;
//!         self.0.insert(key, (body, self.1));
//!         Ok(Some(Version::from(self.1.to_string())))
//!     }
//!
//!     fn get(&self, get: &Get) -> Result<GetReply, Fault> {
//!         let missing = || Fault::refused(RefusalKind::NotFound, "no such object");
//!         let (object, version) = self.0.get(&get.key).ok_or_else(missing)?;
//!         let size = object.len();
//!         let range = match get.range {
//!             ByteRange::All => 0..size,
//!             ByteRange::FromTo(from, to) => from as usize..size.min(to as usize),
//!             ByteRange::Suffix(n) => size.saturating_sub(n as usize)..size,
//!         };
//!         let version = Some(Version::from(version.to_string()));
//!         Ok(GetReply::Found { body: object.slice(range), version, total_size: size as u64 })
//!     }
//!
//!     /// Executes every command until the machine rests, then gives its events.
//!     fn run<M: Machine>(&mut self, machine: &mut M, now: Now) -> Vec<M::Event> {
//!         let mut codec = BlockCodec::new();
//!         while let Some(command) = machine.poll_command(now) {
//!             let completion = match command {
//!                 Command::Get(op) => { let (get, ticket) = op.split(); ticket.done(self.get(&get)) }
//!                 Command::Create(op) => {
//!                     let (create, ticket) = op.split();
//!                     let reply = self.put(create.key, create.body.concat().into(), None);
//!                     ticket.done(reply.map(|version| CreateReply { version }))
//!                 }
//!                 Command::Swap(op) => {
//!                     let (swap, ticket) = op.split();
//!                     let expected = match swap.condition {
//!                         SwapCondition::Absent => None,
//!                         SwapCondition::Matches(version) => Some(version),
//!                     };
//!                     ticket.done(self.put(swap.key, swap.body, expected).map(|version| SwapReply { version }))
//!                 }
//!                 Command::EncodeBlock(op) => { let (e, ticket) = op.split(); ticket.done(Ok(e.run(&mut codec))) }
//!                 Command::DecodeBlock(op) => { let (d, ticket) = op.split(); ticket.done(Ok(d.run(&mut codec))) }
//!                 _ => continue,
//!             };
//!             machine.complete(now, completion);
//!         }
//!         std::iter::from_fn(|| machine.poll_event()).collect()
//!     }
//! }
//!
//! let keys = LogKeys::new(&StreamId::new("orders").unwrap(), Partition(0));
//! let (mut bucket, now) = (Bucket::default(), Now::default());
//!
//! let mut writer = Writer::open(keys.clone(), WriterOptions::default(), [7; 32]).unwrap();
//! bucket.run(&mut writer, now);
//! let lsn = writer.append(now, Record::new(TimestampMs(0), "hello")).unwrap();
//! writer.flush(now);
//! assert_eq!(bucket.run(&mut writer, now), [WriterEvent::Committed { next_lsn: Lsn(1) }]);
//!
//! let mut reader = Reader::new(keys, ReaderOptions::default(), [8; 32]);
//! reader.read(lsn, ReadLimit::default(), Freshness::Latest);
//! let answers = bucket.run(&mut reader, now);
//! let [ReaderEvent::Done { result: Ok(Answer::Batch(batch)), .. }] = &answers[..] else { panic!("{answers:?}") };
//! assert_eq!(batch.records[0].1.value, "hello");
//! ```
//!
//! Where to look: [`boundary`] is everything that the author of a driver needs; [`writer`] and [`reader`] are the
//! machines; [`format`](mod@format) holds segformat v2, catformat v1 and the keys.
pub mod backoff;
pub mod boundary;
mod entropy;
pub mod format;
pub mod ids;
pub mod initialize;
pub mod limits;
pub mod metric;
#[doc(hidden)]
pub mod mutant;
pub mod pace;
pub mod reader;
pub mod writer;
