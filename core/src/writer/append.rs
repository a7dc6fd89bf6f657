//! Records in: admission, the active segment, and when it is cut.
use super::segment::{Segment, Stage};
use super::{AppendError, AppendReason, BatchError, Metric, Status, TimestampPolicy, Writer, WriterEvent};
use crate::boundary::{MonoTime, Now};
use crate::format::segment::Record;
use crate::ids::{Lsn, TimestampMs};
use crate::mutant::mutant;
use std::ops::Range;

impl Writer {
    /// Accepts a record into memory and numbers it. It is durable once the committed watermark passes its LSN.
    ///
    /// # Errors
    /// The record comes back with the reason; nothing changed. [`AppendReason::Full`] is back-pressure: wait for
    /// [`WriterEvent::Room`].
    pub fn append(&mut self, now: Now, mut record: Record) -> Result<Lsn, AppendError> {
        match self.admit(now, &record) {
            Ok(timestamp) => record.timestamp = timestamp,
            Err(reason) => return Err(AppendError { record, reason }),
        }
        let lsn = self.accept(now, &record);
        self.measure(|writer| {
            let mut metric = Metric::new("writer.append", writer.keys.partition());
            (metric.start_lsn, metric.next_lsn) = (lsn, writer.accepted);
            (metric.records, metric.bytes) = (1, record.encoded_len());
            metric
        });
        Ok(lsn)
    }

    /// Whether an append of a record of `len` encoded bytes just adds it to the open block: then it looks at no clock and
    /// leaves nothing to poll for, so that a driver may call [`Writer::append`] with any earlier time and need not poll
    /// after it. A driver that never asks is right, too.
    #[must_use]
    pub fn appends_in_place(&self, len: u64) -> bool {
        let Some(active) = &self.active else { return false };
        let policy = &self.options.batch;
        let stays_open = active.records() + 1 < u64::from(policy.max_records)
            && active.raw_bytes + len < policy.max_bytes
            && active.fits_block(len, self.options.block_bytes as usize);
        let has_room = self.held + len <= self.options.pending.max_bytes && self.starved.is_none();
        let is_awaited = self.wanted > active.base;
        stays_open && has_room && !is_awaited && !self.options.metrics
    }

    /// Accepts all records or none, into one segment: a reader sees all of them or none of them.
    ///
    /// # Errors
    /// The records come back with the reason and the position of its cause; nothing changed.
    pub fn append_batch(&mut self, now: Now, mut records: Vec<Record>) -> Result<Range<Lsn>, BatchError> {
        match self.admit_batch(now, &mut records) {
            Ok(()) => {
                let base = self.accepted;
                for record in &records {
                    self.accept(now, record);
                    if mutant("half a batch is committed") {
                        self.cut_active(now);
                    }
                }
                Ok(base..self.accepted)
            }
            Err((_, reason)) if mutant("a refused batch leaves a record") && records.len() > 1 => {
                self.accept(now, &records[0]);
                Err(BatchError { records, index: 0, reason })
            }
            Err((index, reason)) => Err(BatchError { records, index, reason }),
        }
    }

    /// Closes the active segment, whatever its size; a no-op when it is empty. Where [`PendingLimits::max_batches`] wait
    /// for their upload already, that happens later by itself.
    ///
    /// [`PendingLimits::max_batches`]: super::PendingLimits::max_batches
    pub fn cut(&mut self, now: Now) {
        self.cut_asked = self.active.is_some();
        if self.has_room_for_batch() {
            self.cut_active(now);
        }
    }

    fn cut_active(&mut self, now: Now) {
        self.cut_asked = false;
        let Some(mut active) = self.active.take() else { return };
        let serial = active.serial;
        self.typical_block = active.open_block_len();
        if active.close_block() {
            self.to_encode.push_back((serial, active.blocks.len() - 1));
        }
        active.stage = Stage::Encoding;
        self.queue.push_back(active);
        self.lay_out(now, serial);
        self.measure(|writer| Metric::new("writer.cut", writer.keys.partition()));
    }

    /// Cuts everything accepted. It is durable once the committed watermark reaches the returned LSN.
    pub fn flush(&mut self, now: Now) -> Lsn {
        self.cut(now);
        self.measure(|writer| Metric::new("writer.flush", writer.keys.partition()));
        self.accepted
    }

    /// Asks that the records below `lsn` become durable soon. They are cut as soon as no earlier segment waits for its
    /// upload and as many records are there as were on their way at once before, so that callers who wait at the same
    /// time share a segment; at the latest after [`super::BatchPolicy::max_linger`]. A lone caller never lingers.
    pub fn want_durable(&mut self, lsn: Lsn) {
        self.wanted = self.wanted.max(lsn.min(self.accepted));
    }

    fn admit_status(&self) -> Result<(), AppendReason> {
        match &self.status {
            Status::Open { .. } => Ok(()),
            Status::Opening => Err(AppendReason::NotOpen),
            Status::Closing | Status::Closed => Err(AppendReason::Closed),
            Status::Halted(halted) => Err(AppendReason::Halted(Box::new(halted.cause.clone()))),
        }
    }

    /// The timestamp under which the record is accepted.
    fn admit(&mut self, now: Now, record: &Record) -> Result<TimestampMs, AppendReason> {
        self.admit_status()?;
        record.validate()?;
        let timestamp = self.ordered(record.timestamp, self.last_timestamp)?;
        self.admit_size(now, 1, record.encoded_len())?;
        self.last_timestamp = Some(timestamp);
        Ok(timestamp)
    }

    fn admit_batch(&mut self, now: Now, records: &mut [Record]) -> Result<(), (usize, AppendReason)> {
        self.admit_status().map_err(|reason| (0, reason))?;
        let (mut last, mut bytes) = (self.last_timestamp, 0);
        let mut clamped = Vec::new();
        for (index, record) in records.iter().enumerate() {
            record.validate().map_err(|reason| (index, reason.into()))?;
            let timestamp = self.ordered(record.timestamp, last).map_err(|reason| (index, reason))?;
            if timestamp != record.timestamp {
                clamped.push((index, timestamp));
            }
            last = Some(timestamp);
            bytes += record.encoded_len();
        }
        self.admit_size(now, records.len() as u64, bytes).map_err(|reason| (0, reason))?;
        for (index, timestamp) in clamped {
            records[index].timestamp = timestamp;
        }
        self.last_timestamp = last;
        Ok(())
    }

    /// The timestamp to store, by policy.
    fn ordered(&self, found: TimestampMs, last: Option<TimestampMs>) -> Result<TimestampMs, AppendReason> {
        match last {
            Some(last) if found < last && !mutant("timestamps may go back") => match self.options.timestamps {
                TimestampPolicy::Clamp => Ok(last),
                TimestampPolicy::Reject => Err(AppendReason::TimestampOrder { last, found }),
            },
            _ => Ok(found),
        }
    }

    /// Makes room for `records` more in the active segment, or says that there is none.
    fn admit_size(&mut self, now: Now, records: u64, bytes: u64) -> Result<(), AppendReason> {
        let policy = &self.options.batch;
        let max_records = policy.max_records;
        let max_bytes = if records > 1 { policy.max_bytes } else { self.options.pending.max_bytes };
        if bytes > max_bytes || records > u64::from(max_records) {
            return Err(AppendReason::TooLarge { bytes, records, max_bytes, max_records });
        }
        if self.accepted.checked_add(records).is_none() {
            return Err(AppendReason::LsnExhausted);
        }
        let overflows = |active: &Segment| {
            active.records() + records > u64::from(max_records) || active.raw_bytes + bytes > policy.max_bytes
        };
        let full = self.active.as_ref().is_some_and(overflows);
        if self.held + bytes > self.options.pending.max_bytes || (full && !self.has_room_for_batch()) {
            self.starved = Some(bytes);
            return Err(AppendReason::Full);
        }
        if full {
            self.cut_active(now);
        }
        Ok(())
    }

    fn has_room_for_batch(&self) -> bool {
        self.unstored() < self.options.pending.max_batches as usize
    }

    /// Cut segments that are not in the store yet.
    fn unstored(&self) -> usize {
        self.queue.iter().filter(|s| !matches!(s.stage, Stage::Stored(_))).count()
    }

    fn accept(&mut self, now: Now, record: &Record) -> Lsn {
        let lsn = self.accepted;
        let (target, capacity) = (self.options.block_bytes as usize, self.block_capacity(record));
        let serial = self.next_serial;
        let active = self.active.get_or_insert_with(|| Segment::new(serial, lsn, now.mono, now.wall));
        if active.serial == serial {
            self.next_serial += 1;
        }
        if active.push(record, target, capacity) {
            self.typical_block = target;
            self.to_encode.push_back((active.serial, active.blocks.len() - 1));
        }
        self.held += record.encoded_len();
        self.accepted.0 += u64::from(!(mutant("an LSN is given twice") && lsn.0 % 4 == 3));
        self.crowd = self.crowd.max(self.accepted.0 - self.committed.0);
        lsn
    }

    /// Room to reserve for the next block: a full block where blocks fill up, little where segments are tiny.
    fn block_capacity(&self, record: &Record) -> usize {
        let len = usize::try_from(record.encoded_len()).unwrap_or(0);
        self.typical_block.min(self.options.block_bytes as usize).max(len)
    }

    /// Cuts the active segment when it is full, old, awaited, asked for, or takes the room that an append lacks.
    pub(super) fn cut_if_due(&mut self, now: Now) {
        let Some(active) = &self.active else { return };
        let policy = &self.options.batch;
        let full = active.records() >= u64::from(policy.max_records) || active.raw_bytes >= policy.max_bytes;
        let aged = self.age_limit().is_some_and(|at| at <= now.mono);
        let lingered = self.linger_limit().is_some_and(|at| at <= now.mono);
        let complete = self.wanted > active.base && active.records() >= self.crowd;
        let pressed = full || self.cut_asked || self.starved.is_some();
        if (pressed && self.has_room_for_batch()) || ((aged || lingered || complete) && self.is_caught_up()) {
            // Who did not come in time is not waited for again.
            self.crowd = active.records().min(self.crowd);
            self.cut_active(now);
        }
    }

    /// Whether every cut segment is part of a proposal, so that a new one need not wait behind another.
    fn is_caught_up(&self) -> bool {
        self.queue.len() <= self.commit.segments()
    }

    fn age_limit(&self) -> Option<MonoTime> {
        if mutant("an old batch waits") {
            return None;
        }
        Some(self.active.as_ref()?.since.after(self.options.batch.max_age?))
    }

    /// Until when awaited records wait for company.
    fn linger_limit(&self) -> Option<MonoTime> {
        let active = self.active.as_ref().filter(|active| self.wanted > active.base)?;
        Some(active.since.after(self.options.batch.max_linger))
    }

    pub(super) fn cut_deadline(&self) -> Option<MonoTime> {
        let limits = [self.age_limit(), self.linger_limit()];
        limits.into_iter().flatten().min().filter(|_| self.is_caught_up())
    }

    pub(super) fn announce_room(&mut self) {
        let Some(bytes) = self.starved else { return };
        let pending = &self.options.pending;
        if self.held + bytes <= pending.max_bytes && self.has_room_for_batch() {
            self.starved = None;
            self.events.push_back(WriterEvent::Room);
        }
    }
}
