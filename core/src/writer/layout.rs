//! Sealed blocks become the bytes of an object.
use super::event::HaltCause;
use super::options::PartPolicy;
use super::parts::Parts;
use super::retry::Failures;
use super::segment::{Object, Segment, Stage};
use super::{Note, Writer};
use crate::boundary::{Key, MonoTime, Now};
use crate::format::FormatError;
use crate::format::catalog::SegmentEntry;
use crate::format::segment::{SegmentAssembler, SegmentHeader};
use crate::ids::{Epoch, Lsn, TimestampMs};
use crate::mutant::mutant;

/// A segment under its key, as far as its blocks are sealed in a row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Layout {
    key: Key,
    epoch: Epoch,
    assembler: SegmentAssembler,
    /// Blocks laid out.
    blocks: usize,
}

impl Layout {
    fn new(key: Key, epoch: Epoch, header: SegmentHeader) -> Self {
        Self { key, epoch, assembler: SegmentAssembler::new(header), blocks: 0 }
    }
}

impl Segment {
    /// Lays out the blocks that follow and takes full parts, if it is stored in parts. Gives the object once it is whole.
    fn extend(&mut self, now: MonoTime, policy: Option<PartPolicy>) -> Result<Option<Object>, FormatError> {
        let Some(mut layout) = self.layout.take() else { return Ok(None) };
        while let Some(block) = self.sealed(layout.blocks) {
            layout.assembler.push(block)?;
            layout.blocks += 1;
        }
        let trailer = if self.is_complete() { Some(layout.assembler.close()?) } else { None };
        if let Some(policy) = policy {
            if self.parts.is_none() && layout.assembler.remaining() > policy.threshold_bytes {
                self.parts = Some(Parts::new(layout.key.clone(), now));
            }
            if let Some(parts) = &mut self.parts {
                // What ends the object is never empty, so a part of full length is never the last by accident.
                while layout.assembler.remaining() > policy.part_bytes {
                    parts.push(layout.assembler.take(policy.part_bytes).unwrap_or_default(), now);
                }
            }
        }
        let Some(trailer) = trailer else {
            self.layout = Some(layout);
            return Ok(None);
        };
        let rest = layout.assembler.take(layout.assembler.remaining()).unwrap_or_default();
        let mut object = Object {
            key: layout.key,
            pieces: rest,
            trailer,
            entry: SegmentEntry::from_trailer(&trailer, layout.epoch),
            since: now,
            failures: Failures::default(),
        };
        if let Some(parts) = &mut self.parts {
            parts.push(std::mem::take(&mut object.pieces), now);
            object.since = parts.since();
        }
        Ok(Some(object))
    }
}

impl Writer {
    /// Lays a segment out under a fresh key as far as its blocks are sealed, and to its end once it is cut.
    pub(super) fn lay_out(&mut self, now: Now, serial: u64) {
        let Some(segment) = self.segment(serial) else { return };
        if !matches!(segment.stage, Stage::Filling | Stage::Encoding) {
            return;
        }
        let (base, created) = (segment.base, segment.created);
        let layout =
            (segment.layout.is_none() && segment.sealed(0).is_some()).then(|| self.begin_layout(base, created));
        let policy = self.part_policy();
        let Some(segment) = self.segment_mut(serial) else { return };
        segment.layout = layout.or(segment.layout.take());
        match segment.extend(now.mono, policy) {
            Ok(None) => {}
            Ok(Some(object)) if segment.parts.is_some() => segment.stage = Stage::InParts { object, at: now.mono },
            Ok(Some(object)) => segment.stage = Stage::Ready { object, at: now.mono },
            Err(error) => self.halt(HaltCause::Encode(error)),
        }
    }

    fn begin_layout(&mut self, base: Lsn, created: TimestampMs) -> Layout {
        let epoch = if mutant("segments name the first epoch") { Epoch(1) } else { self.head.writer_epoch };
        let header = SegmentHeader {
            partition: self.keys.partition(),
            codec: self.options.codec,
            hash: self.options.hash,
            segment_id: self.entropy.segment_id(),
            writer_tag: self.writer_id,
            created,
        };
        let key = self.keys.segment(base, epoch, &header.segment_id).into();
        Layout::new(key, epoch, header)
    }

    /// Gives every segment that is not committed a new key under the present epoch; what was begun under the old one is
    /// dropped.
    pub(super) fn lay_out_anew(&mut self, now: Now) {
        self.outstanding.forget(Note::is_upload);
        let serials: Vec<u64> = self.queue.iter().chain(&self.active).map(|segment| segment.serial).collect();
        for serial in serials {
            self.restart_layout(now, serial);
        }
    }

    /// Drops what was laid out of one segment and begins anew, under another key.
    pub(super) fn restart_layout(&mut self, now: Now, serial: u64) {
        let Some(segment) = self.segment_mut(serial) else { return };
        segment.layout = None;
        if segment.stage != Stage::Filling {
            segment.stage = Stage::Encoding;
        }
        let upload = segment.parts.take().and_then(Parts::into_upload);
        self.to_abort.extend(upload);
        self.lay_out(now, serial);
    }
}
