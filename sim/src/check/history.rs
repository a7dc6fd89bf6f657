//! What users saw, as a list of calls and returns, for a check that knows nothing of bytes, heads or machines.
//!
//! The object is a log of constant size: its tail, the chained hash of all its records, and its epoch.
//!
//! | call | meaning |
//! |---|---|
//! | append | the tail was `lsn`; the record is chained to the hash; the tail is `lsn + 1` |
//! | read | the tail is `tail`, and the hash, where the reader knows it, is `hash` |
//! | create | nothing was done before; the tail is `lsn` |
//! | claim | the tail is `lsn`; the epoch, which was lower, is `epoch` |
//!
//! A history is linearizable if each call can be given one moment between its begin and its end so that all of this is
//! true in the order of the moments. A call without an end may have its moment at any time after its begin, or never.
use crate::news::News;
use crate::value::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// What a call did, as its user knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// A record was appended at a position.
    Append {
        /// The position.
        lsn: u64,
        /// The record.
        value: Value,
    },
    /// The end of the log was read.
    Read {
        /// The end.
        tail: u64,
        /// Chained hash of all records, if known.
        hash: Option<u64>,
    },
    /// The log was created.
    Create {
        /// Where it begins.
        lsn: u64,
    },
    /// An epoch was opened.
    Claim {
        /// The epoch.
        epoch: u64,
        /// The end of the log then.
        lsn: u64,
    },
}

/// A call; times are numbers of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Who called.
    pub site: u8,
    /// When it began.
    pub begin: u64,
    /// When it returned; `None` if it never did, or without telling what came of it.
    pub end: Option<u64>,
    /// What it did, or would do.
    pub deed: Deed,
}

/// The calls of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    operations: Vec<Operation>,
    /// Appends that have not returned, by writer and position.
    appends: BTreeMap<(u8, u64), usize>,
    /// Creations that have not returned.
    creates: BTreeMap<u8, usize>,
    started: BTreeMap<u8, u64>,
    asked: BTreeMap<u8, Vec<u64>>,
    time: u64,
}

impl History {
    /// Takes in what one step let happen.
    pub fn add(&mut self, news: &[News]) {
        self.time += 1;
        for item in news {
            self.add_one(item);
        }
    }

    fn add_one(&mut self, item: &News) {
        let time = self.time;
        match item {
            News::Sent { site, .. } => {
                self.started.entry(*site).or_insert(time);
            }
            News::Opened { site, epoch, next_lsn } => {
                let deed = Deed::Claim { epoch: epoch.0, lsn: next_lsn.0 };
                self.push(*site, self.started.get(site).copied().unwrap_or(0), Some(time), deed);
            }
            News::Accepted { site, lsn, value } => {
                self.appends.insert((*site, lsn.0), self.operations.len());
                self.push(*site, time, None, Deed::Append { lsn: lsn.0, value: *value });
            }
            News::Committed { site, next_lsn } => {
                let done: Vec<_> =
                    self.appends.range((*site, 0)..(*site, next_lsn.0)).map(|(key, i)| (*key, *i)).collect();
                for (key, index) in done {
                    self.appends.remove(&key);
                    self.operations[index].end = Some(time);
                }
            }
            News::Initializing { site, next_lsn } if !self.creates.contains_key(site) => {
                self.creates.insert(*site, self.operations.len());
                self.push(*site, time, None, Deed::Create { lsn: next_lsn.0 });
            }
            News::Initialized { site, created: true, .. } => {
                if let Some(index) = self.creates.get(site) {
                    self.operations[*index].end = Some(time);
                }
            }
            News::Asked { site } => self.asked.entry(*site).or_default().push(time),
            News::Read { site, tail, hash, is_latest, call, .. } => {
                let begin = self.asked.get(site).and_then(|asked| asked.get(*call)).copied();
                if let (true, Some(begin)) = (*is_latest, begin) {
                    self.push(*site, begin, Some(time), Deed::Read { tail: tail.0, hash: *hash });
                }
            }
            _ => {}
        }
    }

    fn push(&mut self, site: u8, begin: u64, end: Option<u64>, deed: Deed) {
        self.operations.push(Operation { site, begin, end, deed });
    }

    /// The calls, in the order of their begins or ends.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    /// One JSON object a line: `site`, `begin`, `end` (`null` if it never returned), `deed`, and the deed's numbers.
    #[must_use]
    pub fn to_jsonl(&self) -> String {
        let mut lines = String::new();
        for Operation { site, begin, end, deed } in &self.operations {
            let end = end.map_or_else(|| "null".to_owned(), |end| end.to_string());
            let deed = match deed {
                Deed::Append { lsn, value } => format!(r#""deed":"append","lsn":{lsn},"value":"{value}""#),
                Deed::Read { tail, hash: Some(hash) } => format!(r#""deed":"read","tail":{tail},"hash":"{hash:016x}""#),
                Deed::Read { tail, hash: None } => format!(r#""deed":"read","tail":{tail},"hash":null"#),
                Deed::Create { lsn } => format!(r#""deed":"create","lsn":{lsn}"#),
                Deed::Claim { epoch, lsn } => format!(r#""deed":"claim","epoch":{epoch},"lsn":{lsn}"#),
            };
            // Writing to a string can't fail.
            let _ = writeln!(lines, r#"{{"site":{site},"begin":{begin},"end":{end},{deed}}}"#);
        }
        lines
    }
}
