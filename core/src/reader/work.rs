//! Operations: which are sent, and what their answers change.
use super::loads::{LoadKey, Want};
use super::stock::{OpenSegment, SegmentName, Value};
use super::transfer::{self, Transfer};
use super::{ReadError, Reader, ReaderEvent, metrics};
use crate::boundary::{Answer, Command, DecodeBlock, Fault, Get, GetReply, MonoTime, Now, RefusalKind};
use crate::format::FormatError;
use crate::format::segment::DecodedBlock;
use crate::limits::BLOCK_PREAMBLE_LEN;
use crate::mutant::mutant;
use bytes::Bytes;
use std::ops::Range;
use std::sync::Arc;

/// What an operation in flight is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Work {
    Transfer(Transfer),
    /// The decoding of one block.
    Decode(Arc<OpenSegment>, usize),
}

impl Work {
    /// The loads that it serves.
    pub(super) fn keys(&self) -> Vec<LoadKey> {
        match self {
            Self::Transfer(transfer) => transfer.keys(),
            Self::Decode(segment, index) => vec![block_key(segment, *index)],
        }
    }
}

fn block_key(segment: &OpenSegment, index: usize) -> LoadKey {
    LoadKey::Block(SegmentName::from(&segment.entry), index)
}

fn count<'w>(works: impl Iterator<Item = &'w Work>, is_such: impl Fn(LoadKey) -> bool) -> u32 {
    let is_counted = |work: &Work| matches!(work, Work::Transfer(transfer) if is_such(transfer.first_key()));
    works.map(|work| u32::from(is_counted(work))).sum()
}

impl Reader {
    /// The next command, as long as there may be more in flight. Decoding comes first: it frees memory.
    pub(super) fn issue(&mut self, now: Now) -> Option<Command> {
        if self.outstanding.in_flight() >= self.options.max_in_flight.max(1) {
            return None;
        }
        if let Some((Want::Block(segment, index), stored)) = self.loads.next_decodable() {
            return Some(self.issue_decode(segment, index, stored, now));
        }
        if let Some(twin) = self.next_twin(now.mono) {
            let request = twin.request(&self.stock, &self.options);
            let patience = self.options.request_timeout;
            return Some(Command::Get(self.outstanding.issue(now, patience, Work::Transfer(twin), request)));
        }
        if self.transfers(|_| true) >= self.window.size() {
            return None;
        }
        let ahead = self.transfers(|key| self.loads.is_ahead(key));
        let may_look_ahead = (ahead as usize) < self.options.max_ahead.max(1) || mutant("looking ahead has no bound");
        let transfer = match self.loads.next_queued(may_look_ahead)? {
            Want::Head => {
                self.stock.head_requests += 1;
                Transfer::Head(self.stock.head_requests)
            }
            Want::Page(reference) => Transfer::Page(*reference),
            Want::Segment(entry) => Transfer::Segment(*entry),
            Want::Block(segment, first) => {
                let blocks = self.loads.queued_run(segment, *first, self.options.merge_bytes);
                Transfer::Blocks(segment.clone(), blocks)
            }
        };
        Some(self.issue_get(transfer, now))
    }

    /// Requests in flight whose first load is such.
    fn transfers(&self, is_such: impl Fn(LoadKey) -> bool) -> u32 {
        count(self.outstanding.notes(), is_such)
    }

    /// A request in flight that takes so long that it is made once more.
    fn next_twin(&mut self, now: MonoTime) -> Option<Transfer> {
        while let Some(key) = self.hedge.next_due(now) {
            let of_key = |work: &Work| match work {
                Work::Transfer(transfer) => Some(transfer).filter(|transfer| transfer.first_key() == key).cloned(),
                Work::Decode(..) => None,
            };
            if let Some(transfer) = self.outstanding.notes().find_map(of_key) {
                self.hedge.doubles(key);
                return Some(transfer);
            }
        }
        None
    }

    fn issue_get(&mut self, transfer: Transfer, now: Now) -> Command {
        for key in transfer.keys() {
            self.loads.asked(key, now.mono);
        }
        self.hedge.begins(transfer.first_key(), now.mono);
        let request = transfer.request(&self.stock, &self.options);
        let patience = self.options.request_timeout;
        Command::Get(self.outstanding.issue(now, patience, Work::Transfer(transfer), request))
    }

    fn issue_decode(&mut self, segment: Arc<OpenSegment>, index: usize, stored: Bytes, now: Now) -> Command {
        let entry = &segment.index.entries[index];
        let request = DecodeBlock {
            meta: entry.meta,
            stored,
            codec: segment.entry.codec,
            hash: segment.entry.hash,
            offset: entry.offset + BLOCK_PREAMBLE_LEN as u64,
        };
        let patience = self.options.request_timeout;
        Command::DecodeBlock(self.outstanding.issue(now, patience, Work::Decode(segment, index), request))
    }

    /// Looks at one answer.
    pub(super) fn absorb(&mut self, work: &Work, answer: Answer, now: MonoTime) {
        match work {
            Work::Decode(segment, index) => match answer.to::<DecodeBlock>() {
                Ok(block) => self.absorb_block(segment, *index, block, now),
                Err(fault) => self.set_back(work.keys(), &fault, now),
            },
            Work::Transfer(transfer) => {
                let result = answer.to::<Get>();
                let has_twin = self.hedge.ends(transfer.first_key(), now, result.is_ok());
                self.pace(result.as_ref().err());
                match result {
                    Ok(reply) => {
                        if has_twin {
                            self.outstanding.forget(|other| other == work);
                        }
                        self.absorb_reply(transfer, reply, now);
                    }
                    Err(fault) => self.absorb_fault(transfer, &fault, now),
                }
            }
        }
    }

    /// Fewer requests at once where the store finds that there are too many.
    fn pace(&mut self, fault: Option<&Fault>) {
        match fault.map(Fault::refusal) {
            None => self.window.succeeded(),
            Some(Some(RefusalKind::Throttled(_))) => {
                self.throttles += 1;
                // Also those whose answers came together with this one.
                self.window.throttled(self.transfers(|_| true) + count(self.outstanding.unseen(), |_| true));
            }
            Some(_) => self.window.failed(),
        }
    }

    fn absorb_reply(&mut self, transfer: &Transfer, reply: GetReply, now: MonoTime) {
        let (stock, options) = (&self.stock, &self.options);
        match transfer {
            Transfer::Head(request) => {
                let snapshot = transfer::read_head(stock, *request, reply);
                self.finish(LoadKey::Head, &snapshot.map(Value::Head), now);
            }
            Transfer::Page(reference) => {
                let body = transfer.body(reply, stock, options);
                let page = body.and_then(|body| transfer::read_page(stock, reference, &body));
                self.finish(LoadKey::Page(reference.page_id), &page, now);
            }
            Transfer::Segment(entry) => {
                let body = transfer.body(reply, stock, options);
                let segment = body.and_then(|body| transfer::read_segment(stock, entry, body, options));
                self.finish(LoadKey::Segment(SegmentName::from(entry)), &segment, now);
            }
            Transfer::Blocks(segment, blocks) => {
                let body = transfer.body(reply, stock, options);
                self.absorb_blocks(segment, blocks.clone(), &body, now);
            }
        }
    }

    fn absorb_blocks(
        &mut self,
        segment: &OpenSegment,
        blocks: Range<usize>,
        body: &Result<Bytes, ReadError>,
        now: MonoTime,
    ) {
        let start = segment.index.block_range(blocks.start).map_or(0, |range| range.start);
        for index in blocks {
            let key = block_key(segment, index);
            let body = body.as_ref().map_err(Clone::clone);
            match body.and_then(|body| transfer::stored_block(&self.stock, segment, index, body, start)) {
                Ok(stored) => self.loads.stored(key, stored),
                Err(error) => self.finish(key, &Err(error), now),
            }
        }
    }

    fn absorb_block(
        &mut self,
        segment: &OpenSegment,
        index: usize,
        block: Result<Arc<DecodedBlock>, FormatError>,
        now: MonoTime,
    ) {
        let value = block
            .map(|block| Value::Block(SegmentName::from(&segment.entry), index, block))
            .map_err(|error| self.stock.corrupt_segment(&segment.entry, error));
        self.finish(block_key(segment, index), &value, now);
    }

    fn absorb_fault(&mut self, transfer: &Transfer, fault: &Fault, now: MonoTime) {
        if let Transfer::Head(request) = transfer
            && fault.refusal() == Some(&RefusalKind::NotFound)
        {
            let snapshot = transfer::read_missing_head(&self.stock, *request);
            return self.finish(LoadKey::Head, &snapshot.map(Value::Head), now);
        }
        match transfer.refusal(fault, &self.stock) {
            None => self.set_back(transfer.keys(), fault, now),
            Some(error) => {
                for key in transfer.keys() {
                    self.finish(key, &Err(error.clone()), now);
                }
            }
        }
    }

    /// Lets loads rest before their next request.
    fn set_back(&mut self, keys: Vec<LoadKey>, fault: &Fault, now: MonoTime) {
        let attempts = keys.iter().filter_map(|key| self.loads.get(*key)).map(|load| load.attempts).max();
        let pause = self.options.backoff.delay(attempts.unwrap_or(1), fault, &mut self.entropy);
        for key in keys {
            self.loads.set_back(key, fault, now.after(pause));
        }
    }

    /// Ends a load: its value goes to the stock and to every call that waits for it.
    fn finish(&mut self, key: LoadKey, result: &Result<Value, ReadError>, now: MonoTime) {
        let Some((load, waiters)) = self.loads.finish(key) else { return };
        if self.options.metrics {
            let metric = metrics::of_load(&load, result, self.stock.keys.partition(), now);
            self.events.extend(metric.map(ReaderEvent::Metric));
        }
        if let Ok(value) = result {
            self.stock.keep(value);
        }
        for id in waiters {
            self.hand_over(id, key, result.clone());
        }
    }
}
