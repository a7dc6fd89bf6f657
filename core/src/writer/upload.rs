//! Blocks to workers, segments to the store.
use super::retry::Failures;
use super::segment::{Block, Object, Stage};
use super::{Note, Writer};
use crate::boundary::{
    ByteRange, Command, Create, CreateReply, EncodeBlock, Fault, Get, GetReply, MonoTime, Now, RefusalKind,
};
use crate::format::FormatError;
use crate::format::segment::{SealedBlock, Trailer};
use crate::mutant::mutant;
use crate::writer::event::HaltCause;
use std::time::Duration;

impl Writer {
    /// Position in the queue of the segment with this serial; the active segment is not in the queue.
    pub(super) fn position(&self, serial: u64) -> Option<usize> {
        let first = self.queue.front()?.serial;
        usize::try_from(serial.checked_sub(first)?).ok().filter(|i| *i < self.queue.len())
    }

    pub(super) fn poll_encode(&mut self, now: Now) -> Option<Command> {
        while self.encoding < self.options.parallel_encodes && self.encode_at <= now.mono {
            let (serial, block) = self.to_encode.pop_front()?;
            let Some(Block::Raw(raw)) = self.segment(serial).and_then(|s| s.blocks.get(block)) else { continue };
            let encode = EncodeBlock {
                block: raw.clone(),
                codec: self.options.codec,
                level: self.options.level,
                hash: self.options.hash,
            };
            self.encoding += 1;
            let note = Note::Encode { serial, block };
            return Some(Command::EncodeBlock(self.outstanding.issue(now, self.options.patience, note, encode)));
        }
        None
    }

    pub(super) fn encoded(
        &mut self,
        now: Now,
        (serial, block): (u64, usize),
        result: Result<Result<SealedBlock, FormatError>, Fault>,
    ) {
        self.encoding -= 1;
        match result {
            // The work is pure: it is done again.
            Err(fault) => {
                self.to_encode.push_front((serial, block));
                let (mut failures, key) = (self.encode_failures, self.head_key.clone());
                let Some(at) = self.retry(now, &mut failures, ("encoding", &key), fault) else { return };
                (self.encode_failures, self.encode_at) = (failures, at);
            }
            Ok(Err(error)) => self.halt(HaltCause::Encode(error)),
            Ok(Ok(sealed)) => {
                self.encode_failures = Failures::default();
                let Some(segment) = self.segment_mut(serial) else { return };
                let (freed, taken) = segment.seal(block, sealed);
                self.held = self.held - freed + taken;
                self.lay_out(now, serial);
            }
        }
    }

    /// The next create, or the next look at a key that was taken.
    pub(super) fn poll_upload(&mut self, now: Now) -> Option<Command> {
        if !self.can_upload() {
            return None;
        }
        let due =
            |stage: &Stage| matches!(stage, Stage::Ready { at, .. } | Stage::Occupied { at, .. } if *at <= now.mono);
        let segment = self.queue.iter_mut().find(|s| due(&s.stage))?;
        let serial = segment.serial;
        match std::mem::replace(&mut segment.stage, Stage::Encoding) {
            Stage::Ready { object, .. } => {
                let create = Create { key: object.key.clone(), body: object.pieces.clone() };
                segment.stage = Stage::Creating(object);
                self.hedge.begins(serial, now.mono);
                let note = Note::Create { serial };
                Some(Command::Create(self.outstanding.issue(now, self.options.patience, note, create)))
            }
            Stage::Occupied { object, .. } => {
                let get = Get::new(object.key.clone(), ByteRange::Suffix(Trailer::LEN as u64), Trailer::LEN as u64);
                segment.stage = Stage::Verifying(object);
                let note = Note::Verify { serial };
                Some(Command::Get(self.outstanding.issue(now, self.options.patience, note, get)))
            }
            other => {
                segment.stage = other;
                None
            }
        }
    }

    /// A second create of what takes unusually long; whichever is answered first counts.
    pub(super) fn poll_hedge(&mut self, now: Now) -> Option<Command> {
        while let Some(serial) = self.hedge.next_due(now.mono) {
            let Some(Stage::Creating(object)) = self.segment(serial).map(|segment| &segment.stage) else { continue };
            let create = Create { key: object.key.clone(), body: object.pieces.clone() };
            self.hedge.doubles(serial);
            let note = Note::Create { serial };
            return Some(Command::Create(self.outstanding.issue(now, self.options.patience, note, create)));
        }
        None
    }

    pub(super) fn created(&mut self, now: Now, serial: u64, result: Result<CreateReply, Fault>) {
        let has_twin = self.hedge.ends(serial, now.mono, result.is_ok());
        let others = self.uploads_out();
        match &result {
            Ok(_) => self.upload_window.succeeded(),
            Err(fault) if throttles(fault) => {
                self.stats.throttles += 1;
                self.upload_window.throttled(others);
            }
            Err(_) => self.upload_window.failed(),
        }
        let Some(segment) = self.segment_mut(serial) else { return };
        let object = match std::mem::replace(&mut segment.stage, Stage::Encoding) {
            Stage::Creating(object) => object,
            // Its twin was answered first, with a fault.
            Stage::Ready { object, .. } | Stage::Occupied { object, .. } if result.is_ok() => object,
            // Both failed; who was asked to wait waits.
            Stage::Ready { object, at } => {
                let asked = result.err().as_ref().and_then(retry_after).unwrap_or_default();
                segment.stage = Stage::Ready { object, at: at.max(now.mono.after(asked)) };
                return;
            }
            other => {
                segment.stage = other;
                return;
            }
        };
        if has_twin && result.is_ok() {
            self.outstanding.forget(|note| *note == Note::Create { serial });
        }
        let Some(segment) = self.segment_mut(serial) else { return };
        match result {
            Ok(_) => self.stored(now, serial, &object),
            Err(Fault::Indeterminate(_)) if mutant("a lost create is stored") => self.stored(now, serial, &object),
            Err(Fault::NotSent(_)) if mutant("a segment that was not sent is stored") => {
                self.stored(now, serial, &object);
            }
            Err(fault) if throttles(&fault) && mutant("a throttled create is stored") => {
                self.stored(now, serial, &object);
            }
            Err(fault) if fault.refusal() == Some(&RefusalKind::Conflict) && mutant("a 409 on create means stored") => {
                self.stored(now, serial, &object);
            }
            // Somebody stored this key: ourselves, in an attempt whose answer was lost, or a clone of ourselves.
            Err(fault) if fault.refusal() == Some(&RefusalKind::Precondition) => {
                segment.stage = Stage::Occupied { object, at: now.mono };
            }
            Err(fault) => self.upload_failed(now, serial, object, fault, ready),
        }
    }

    pub(super) fn verified(&mut self, now: Now, serial: u64, result: Result<GetReply, Fault>) {
        let Some(segment) = self.segment_mut(serial) else { return };
        let Stage::Verifying(object) = std::mem::replace(&mut segment.stage, Stage::Encoding) else { return };
        match result {
            Ok(GetReply::Found { body, total_size, .. }) => {
                if Trailer::decode(&body, total_size).is_ok_and(|found| found == object.trailer) {
                    self.stored(now, serial, &object);
                } else {
                    self.halt(HaltCause::KeyCollision { key: object.key.as_str().into() });
                }
            }
            Ok(GetReply::NotModified) => {
                let fault = Fault::indeterminate("not modified, though no version was named");
                self.upload_failed(now, serial, object, fault, occupied);
            }
            // Taken a moment ago, or perhaps completed, and now absent: again.
            Err(fault) if fault.refusal() == Some(&RefusalKind::NotFound) => {
                if segment.parts.is_some() {
                    self.complete_again(now, serial, object, fault);
                } else {
                    self.upload_failed(now, serial, object, fault, ready);
                }
            }
            Err(fault) => self.upload_failed(now, serial, object, fault, occupied),
        }
    }

    pub(super) fn upload_failed(
        &mut self,
        now: Now,
        serial: u64,
        mut object: Object,
        fault: Fault,
        next: impl Fn(Object, MonoTime) -> Stage,
    ) {
        let key = object.key.clone();
        let Some(at) = self.retry(now, &mut object.failures, ("storing", &key), fault) else { return };
        if let Some(segment) = self.segment_mut(serial) {
            segment.stage = next(object, at);
        }
    }

    pub(super) fn stored(&mut self, now: Now, serial: u64, object: &Object) {
        self.measure(|_| {
            let mut metric = super::Metric::new("writer.segment_finalize", object.trailer.partition);
            (metric.start_lsn, metric.next_lsn) = (object.entry.base_lsn, object.entry.last_lsn);
            (metric.records, metric.bytes) = (u64::from(object.entry.record_count), object.entry.size_bytes);
            (metric.segments, metric.duration) = (1, now.mono.since(object.since));
            metric
        });
        if mutant("acknowledged at the upload") {
            let next_lsn = object.entry.last_lsn.checked_add(1).unwrap_or_default();
            self.events.push_back(super::WriterEvent::Committed { next_lsn });
        }
        if let Some(segment) = self.segment_mut(serial) {
            (segment.stage, segment.parts) = (Stage::Stored(object.entry), None);
        }
    }

    fn can_upload(&self) -> bool {
        self.uploads_out() < self.upload_window.size()
    }

    /// Requests for whole segments whose answers are still to be looked at, twins included.
    fn uploads_out(&self) -> u32 {
        let is_upload = |note: &Note| matches!(note, Note::Create { .. } | Note::Verify { .. });
        let notes = self.outstanding.notes().chain(self.outstanding.unseen());
        notes.map(|note| u32::from(is_upload(note))).sum()
    }

    pub(super) fn upload_deadline(&self) -> Option<MonoTime> {
        if !self.can_upload() {
            return None;
        }
        let due = self.queue.iter().filter_map(|s| match s.stage {
            Stage::Ready { at, .. } | Stage::Occupied { at, .. } => Some(at),
            _ => None,
        });
        due.min()
    }

    pub(super) fn encode_deadline(&self) -> Option<MonoTime> {
        let waits = !self.to_encode.is_empty() && self.encoding < self.options.parallel_encodes;
        waits.then_some(self.encode_at)
    }
}

pub(super) fn throttles(fault: &Fault) -> bool {
    matches!(fault.refusal(), Some(RefusalKind::Throttled(_)))
}

fn retry_after(fault: &Fault) -> Option<Duration> {
    match fault.refusal() {
        Some(RefusalKind::Throttled(asked)) => *asked,
        _ => None,
    }
}

fn ready(object: Object, at: MonoTime) -> Stage {
    Stage::Ready { object, at }
}

pub(super) fn occupied(object: Object, at: MonoTime) -> Stage {
    Stage::Occupied { object, at }
}

pub(super) fn in_parts(object: Object, at: MonoTime) -> Stage {
    Stage::InParts { object, at }
}
