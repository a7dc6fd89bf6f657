//! Blocks to workers, segments to the store.
use super::segment::{Block, Object, Stage};
use super::{Note, Writer};
use crate::boundary::{
    ByteRange, Command, Create, CreateReply, EncodeBlock, Fault, Get, GetReply, MonoTime, Now, RefusalKind,
};
use crate::format::FormatError;
use crate::format::segment::{SealedBlock, SegmentHeader, Trailer};
use crate::writer::event::HaltCause;

impl Writer {
    /// Position in the queue of the segment with this serial; the active segment is not in the queue.
    pub(super) fn position(&self, serial: u64) -> Option<usize> {
        let first = self.queue.front()?.serial;
        usize::try_from(serial.checked_sub(first)?).ok().filter(|i| *i < self.queue.len())
    }

    pub(super) fn poll_encode(&mut self, now: Now) -> Option<Command> {
        while self.encoding < self.options.parallel_encodes {
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
            // The work is pure: it is simply done again.
            Err(_) => self.to_encode.push_front((serial, block)),
            Ok(Err(error)) => self.halt(HaltCause::Encode(error)),
            Ok(Ok(sealed)) => {
                let Some(segment) = self.segment_mut(serial) else { return };
                let (freed, taken) = segment.seal(block, sealed);
                self.held = self.held - freed + taken;
                self.assemble_if_sealed(now, serial);
            }
        }
    }

    /// Lays a cut segment out under its key once its last block is sealed.
    pub(super) fn assemble_if_sealed(&mut self, now: Now, serial: u64) {
        let Some(index) = self.position(serial) else { return };
        let header = SegmentHeader {
            partition: self.keys.partition(),
            codec: self.options.codec,
            hash: self.options.hash,
            segment_id: self.entropy.segment_id(),
            writer_tag: self.writer_id,
            created: self.queue[index].created,
        };
        let epoch = self.head.writer_epoch;
        let segment = &mut self.queue[index];
        if segment.stage != Stage::Encoding || segment.unsealed > 0 {
            return;
        }
        match segment.assemble(&self.keys, header, epoch) {
            Ok(object) => segment.stage = Stage::Ready { object, at: now.mono, failures: 0, since: now.mono },
            Err(error) => self.halt(HaltCause::Encode(error)),
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
            Stage::Ready { object, failures, since, .. } => {
                let create = Create { key: object.key.clone(), body: object.pieces.clone() };
                segment.stage = Stage::Creating { object, failures, since };
                let note = Note::Create { serial };
                Some(Command::Create(self.outstanding.issue(now, self.options.patience, note, create)))
            }
            Stage::Occupied { object, failures, since, .. } => {
                let get = Get::new(object.key.clone(), ByteRange::Suffix(Trailer::LEN as u64), Trailer::LEN as u64);
                segment.stage = Stage::Verifying { object, failures, since };
                let note = Note::Verify { serial };
                Some(Command::Get(self.outstanding.issue(now, self.options.patience, note, get)))
            }
            other => {
                segment.stage = other;
                None
            }
        }
    }

    pub(super) fn created(&mut self, now: Now, serial: u64, result: Result<CreateReply, Fault>) {
        let Some(segment) = self.segment_mut(serial) else { return };
        let Stage::Creating { object, failures, since } = std::mem::replace(&mut segment.stage, Stage::Encoding) else {
            return;
        };
        match result {
            Ok(_) => self.stored(now, serial, &object, since),
            // Somebody stored this key: ourselves, in an attempt whose answer was lost, or a clone of ourselves.
            Err(fault) if fault.refusal() == Some(&RefusalKind::Precondition) => {
                segment.stage = Stage::Occupied { object, at: now.mono, failures, since };
            }
            Err(fault) => self.upload_failed(now, serial, (object, failures, since), fault, false),
        }
    }

    pub(super) fn verified(&mut self, now: Now, serial: u64, result: Result<GetReply, Fault>) {
        let Some(segment) = self.segment_mut(serial) else { return };
        let Stage::Verifying { object, failures, since } = std::mem::replace(&mut segment.stage, Stage::Encoding)
        else {
            return;
        };
        match result {
            Ok(GetReply::Found { body, total_size, .. }) => {
                if Trailer::decode(&body, total_size).is_ok_and(|found| found == object.trailer) {
                    self.stored(now, serial, &object, since);
                } else {
                    self.halt(HaltCause::KeyCollision { key: object.key.as_str().into() });
                }
            }
            Ok(GetReply::NotModified) => {
                let fault = Fault::indeterminate("not modified, though no version was named");
                self.upload_failed(now, serial, (object, failures, since), fault, true);
            }
            // Taken a moment ago and now absent: create it again.
            Err(fault) if fault.refusal() == Some(&RefusalKind::NotFound) => {
                self.upload_failed(now, serial, (object, failures, since), fault, false);
            }
            Err(fault) => self.upload_failed(now, serial, (object, failures, since), fault, true),
        }
    }

    fn upload_failed(
        &mut self,
        now: Now,
        serial: u64,
        (object, failures, since): (Object, u32, MonoTime),
        fault: Fault,
        occupied: bool,
    ) {
        let failures = failures + 1;
        let key = || object.key.as_str().into();
        if super::head::is_final(&fault) {
            return self.halt(HaltCause::Refused { operation: "storing", key: key(), fault });
        }
        if now.mono.since(since) >= self.options.budget {
            let cause = HaltCause::Unreachable { operation: "storing", key: key(), attempts: failures, fault };
            return self.halt(cause);
        }
        let at = now.mono.after(self.options.backoff.delay(failures, &fault, &mut self.entropy));
        let Some(segment) = self.segment_mut(serial) else { return };
        segment.stage = if occupied {
            Stage::Occupied { object, at, failures, since }
        } else {
            Stage::Ready { object, at, failures, since }
        };
    }

    fn stored(&mut self, now: Now, serial: u64, object: &Object, since: MonoTime) {
        self.measure(|_| {
            let mut metric = super::Metric::new("writer.segment_finalize", object.trailer.partition);
            (metric.start_lsn, metric.next_lsn) = (object.entry.base_lsn, object.entry.last_lsn);
            (metric.records, metric.bytes) = (u64::from(object.entry.record_count), object.entry.size_bytes);
            (metric.segments, metric.duration) = (1, now.mono.since(since));
            metric
        });
        if let Some(segment) = self.segment_mut(serial) {
            segment.stage = Stage::Stored(object.entry);
        }
    }

    fn can_upload(&self) -> bool {
        let out = self.queue.iter().filter(|s| matches!(s.stage, Stage::Creating { .. } | Stage::Verifying { .. }));
        out.count() < self.options.parallel_uploads as usize
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
}
