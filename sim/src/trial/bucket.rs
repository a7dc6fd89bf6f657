//! The bucket of a trial: its store, requests that went astray, and what its logs hold.
use super::machines::{SimLog, computed};
use crate::action::Kind;
use crate::check::{Violation, ensure};
use crate::setup::Setup;
use crate::store::{Reply, Store};
use bucketlog_core::boundary::{Command, Machine, Now, SwapCondition};
use bucketlog_core::format::keys::{LogKeys, StreamId};
use bucketlog_core::format::segment::Record;
use bucketlog_core::ids::{Lsn, Partition};
use bucketlog_core::reader::{Answer, Freshness, ReadLimit, Reader, ReaderEvent, ReaderOptions};
use std::collections::BTreeMap;

/// Stray requests that are kept; the oldest is forgotten, as if it never landed.
const MAX_STRAYS: usize = 16;

/// A write that nobody waits for; it may land at any time.
#[derive(Clone, Debug)]
pub(super) struct Stray {
    pub(super) node: usize,
    pub(super) command: Command,
    pub(super) kind: Kind,
}

/// A log as one who sees everything at once sees it.
#[derive(Debug)]
struct Followed {
    keys: LogKeys,
    reader: Reader,
    committed: Vec<Record>,
}

#[derive(Debug)]
pub(super) struct Bucket {
    store: Store,
    strays: Vec<Stray>,
    stream: StreamId,
    logs: BTreeMap<SimLog, Followed>,
}

impl Bucket {
    pub(super) fn new(setup: Setup) -> Result<Self, Violation> {
        let stream = StreamId::new("trial").map_err(|error| Violation::new("the stream's name is valid", error))?;
        let store = Store::new(setup.versions, setup.tells_versions());
        Ok(Self { store, strays: Vec::new(), stream, logs: BTreeMap::new() })
    }

    /// The keys of a log, which is followed from now on.
    pub(super) fn keys(&mut self, log: SimLog) -> LogKeys {
        let followed = self.logs.entry(log).or_insert_with(|| {
            let keys = LogKeys::new(&self.stream, Partition(log.0));
            Followed { reader: follower(&keys), keys, committed: Vec::new() }
        });
        followed.keys.clone()
    }

    pub(super) fn committed(&self, log: SimLog) -> &[Record] {
        self.logs.get(&log).map_or(&[], |followed| &followed.committed)
    }

    pub(super) fn record(&self, log: SimLog, lsn: Lsn) -> Option<&Record> {
        self.committed(log).get(usize::try_from(lsn.0).ok()?)
    }

    /// Executes a request. Whoever changes a head is followed to where it leads.
    pub(super) fn reach(&mut self, command: &Command) -> Result<Reply, Violation> {
        let reply = self.store.apply(command);
        let reply = reply.ok_or_else(|| Violation::new("the store knows every request", format!("{command:?}")))?;
        if let (Command::Swap(op), None) = (command, reply.fault()) {
            let key = &op.request().key;
            let store = &mut self.store;
            let changed = self.logs.values_mut().find(|followed| followed.keys.head() == key.as_str());
            changed.map_or(Ok(()), |followed| followed.catch_up(store))?;
        }
        Ok(reply)
    }

    /// Whether the store would refuse a write now.
    pub(super) fn would_refuse(&self, command: &Command) -> bool {
        match command {
            Command::Swap(op) => self.store.would_refuse(&op.request().key, &op.request().condition),
            Command::Create(op) => self.store.would_refuse(&op.request().key, &SwapCondition::Absent),
            _ => false,
        }
    }

    pub(super) fn strays(&self) -> usize {
        self.strays.len()
    }

    /// Keeps a write that may land later; a read without a reader means nothing.
    pub(super) fn stray(&mut self, stray: Stray) {
        if stray.kind.is_write() {
            if self.strays.len() == MAX_STRAYS {
                self.strays.remove(0);
            }
            self.strays.push(stray);
        }
    }

    pub(super) fn take_stray(&mut self, position: usize) -> Option<Stray> {
        (position < self.strays.len()).then(|| self.strays.remove(position))
    }

    /// Reads every log anew from its beginning.
    pub(super) fn check_all(&mut self) -> Result<(), Violation> {
        for (log, followed) in &self.logs {
            let mut again =
                Followed { reader: follower(&followed.keys), keys: followed.keys.clone(), committed: Vec::new() };
            again.catch_up(&mut self.store)?;
            let is_same = again.committed == followed.committed;
            ensure(is_same, "no committed record is lost or changed", || log)?;
        }
        Ok(())
    }
}

fn follower(keys: &LogKeys) -> Reader {
    Reader::new(keys.clone(), ReaderOptions::default(), [0; 32])
}

impl Followed {
    /// Reads on to the end of the log, with the shipped reader.
    fn catch_up(&mut self, store: &mut Store) -> Result<(), Violation> {
        let broken = |found: &dyn std::fmt::Display| Violation::new("a log can be read back", found.to_string());
        loop {
            let from = Lsn(self.committed.len() as u64);
            self.reader.read(from, ReadLimit::default(), Freshness::Latest);
            match run(&mut self.reader, store) {
                Some(ReaderEvent::Done { result: Ok(Answer::Batch(batch)), .. }) => {
                    self.committed.extend(batch.records.into_iter().map(|(_, record)| record));
                    if batch.next_lsn >= batch.head.next_lsn {
                        return Ok(());
                    }
                }
                Some(ReaderEvent::Done { result: Err(error), .. }) => return Err(broken(&error)),
                other => return Err(broken(&format!("{other:?}"))),
            }
        }
    }
}

/// Drives a reader in a world where nothing fails and no time passes, until it has something to say.
fn run(reader: &mut Reader, store: &mut Store) -> Option<ReaderEvent> {
    let now = Now::default();
    while let Some(command) = reader.poll_command(now) {
        let completion = match store.apply(&command) {
            Some(reply) => reply.answer(command),
            None => computed(command),
        };
        completion.into_iter().for_each(|completion| reader.complete(now, completion));
    }
    reader.poll_event()
}
