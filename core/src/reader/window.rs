//! A read in progress: segments in order, loaded ahead in parallel, delivered one record after the other.
use super::call::Progress;
use super::loads::{LoadKey, Want};
use super::part::{Part, Room};
use super::stock::{Stock, Value};
use super::walk::{Located, Target, Walk};
use super::{ReadError, ReadLimit, ReaderOptions};
use crate::format::catalog::Head;
use crate::format::segment::{DecodedBlock, Record};
use crate::format::{FormatError, FormatErrorKind, Section};
use crate::ids::Lsn;
use crate::mutant::mutant;
use std::collections::VecDeque;

/// The records from one position on, up to a limit, under one head.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Window {
    /// The next record to deliver.
    at: Lsn,
    /// No record from here on is wanted.
    end: Lsn,
    /// The first record whose segment is not looked up yet.
    ahead: Lsn,
    max_bytes: u64,
    bytes: u64,
    records: Vec<(Lsn, Record)>,
    parts: VecDeque<Part>,
    walk: Walk,
    /// Why nothing at or after `ahead` can be looked up.
    failure: Option<ReadError>,
    full: bool,
}

impl Window {
    /// Nothing delivered yet; `first` is the segment of `from`, where that is known already.
    pub(super) fn new(head: &Head, from: Lsn, limit: ReadLimit, first: Option<Part>) -> Self {
        let end = from.0.saturating_add(limit.records.into()).min(head.next_lsn.0);
        let parts: VecDeque<Part> = first.into_iter().filter(|part| part.entry.last_lsn >= from).collect();
        let at = Lsn(from.0 + u64::from(mutant("a read begins one record late")));
        Self {
            at,
            end: Lsn(end),
            ahead: parts.back().map_or(from, |part| Lsn(part.entry.last_lsn.0 + 1)),
            max_bytes: limit.bytes,
            bytes: 0,
            records: Vec::new(),
            parts,
            walk: Walk::default(),
            failure: None,
            full: false,
        }
    }

    /// Takes something loaded.
    pub(super) fn accept(&mut self, key: LoadKey, result: Result<Value, ReadError>, stock: &Stock) {
        match (key, result) {
            (LoadKey::Page(_), Ok(Value::Page(page))) => self.walk.accept(Ok(page)),
            (LoadKey::Page(_), Err(error)) => self.walk.accept(Err(error)),
            (LoadKey::Segment(name) | LoadKey::Block(name, _), result) => {
                if let Some(part) = self.parts.iter_mut().find(|part| part.name() == name) {
                    part.accept(key, result, stock);
                }
            }
            (LoadKey::Head | LoadKey::Page(_), _) => {}
        }
    }

    /// Delivers what is there and asks for what comes next. An object that can't be read ends the batch before it;
    /// only a batch that begins there fails.
    pub(super) fn step(
        &mut self,
        head: &Head,
        stock: &mut Stock,
        options: &ReaderOptions,
    ) -> Result<Progress<()>, ReadError> {
        loop {
            let mut wants = Vec::new();
            self.reach(head, stock, options, &mut wants);
            let before = self.at;
            match self.deliver() {
                Err(_) if !self.records.is_empty() => return Ok(Progress::Ready(())),
                Err(error) => return Err(error),
                Ok(()) if self.is_full() => return Ok(Progress::Ready(())),
                Ok(()) if self.at == before => return Ok(Progress::Wait(wants)),
                Ok(()) => {}
            }
        }
    }

    /// Records delivered and the position after them.
    pub(super) fn take(&mut self) -> (Vec<(Lsn, Record)>, Lsn) {
        (std::mem::take(&mut self.records), self.at)
    }

    pub(super) fn has_records(&self) -> bool {
        !self.records.is_empty()
    }

    fn is_full(&self) -> bool {
        self.full || self.at >= self.end
    }

    fn reach(&mut self, head: &Head, stock: &mut Stock, options: &ReaderOptions, wants: &mut Vec<Want>) {
        let bytes = options.prefetch_bytes.min(self.max_bytes - self.bytes).max(1);
        let mut room = Room { bytes, count: options.prefetch_count.max(1) };
        for index in 0.. {
            if room.is_used_up() || (index == self.parts.len() && !self.extend(head, stock, wants)) {
                return;
            }
            let Some(part) = self.parts.get_mut(index) else { return };
            if !part.reach(self.at, self.end, &mut room, stock, wants) {
                return;
            }
        }
    }

    /// Looks up the next segment.
    fn extend(&mut self, head: &Head, stock: &mut Stock, wants: &mut Vec<Want>) -> bool {
        if self.ahead >= self.end || self.failure.is_some() {
            return false;
        }
        match self.walk.locate(head, Target::Lsn(self.ahead), stock) {
            Ok(Located::Segment(entry)) => {
                self.ahead = Lsn(entry.last_lsn.0.saturating_add(1));
                self.parts.push_back(Part::new(entry));
                return true;
            }
            Ok(Located::Page(reference)) => wants.push(Want::Page(reference)),
            Ok(Located::Nowhere) => self.failure = Some(stock.corrupt_head(no_segment(self.ahead))),
            Err(error) => self.failure = Some(error),
        }
        false
    }

    fn deliver(&mut self) -> Result<(), ReadError> {
        while !self.is_full() {
            let Some(part) = self.parts.front_mut() else {
                return self.failure.clone().map_or(Ok(()), Err);
            };
            let Some(block) = part.block_of(self.at)? else { return Ok(()) };
            let last = part.entry.last_lsn;
            self.deliver_from(&block);
            if self.at > last {
                self.parts.pop_front();
            } else if let Some(part) = self.parts.front_mut() {
                part.release_below(self.at);
            }
        }
        Ok(())
    }

    fn deliver_from(&mut self, block: &DecodedBlock) {
        while self.at < self.end
            && let Some(record) = block.record(self.at)
        {
            let bytes = self.bytes.saturating_add(record.encoded_len());
            if bytes > self.max_bytes && !self.records.is_empty() {
                self.full = true;
                return;
            }
            self.bytes = bytes.min(self.max_bytes);
            if mutant("a read gives a record twice") {
                self.records.push((self.at, record.clone()));
            }
            self.records.push((self.at, record));
            self.at = Lsn(self.at.0 + 1);
        }
        self.full |= self.bytes >= self.max_bytes;
    }
}

fn no_segment(lsn: Lsn) -> FormatError {
    let detail = format!("no segment holds LSN {lsn}, which the head says is committed");
    FormatError::new(FormatErrorKind::Mismatch, Section::HeadHeader, 0, detail)
}
