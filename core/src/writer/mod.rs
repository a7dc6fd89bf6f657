//! The fenced writer: claims the head, turns records into segments, uploads them, and commits them by swaps of the head.
//!
//! ```text
//! append -> [active segment] -cut-> [encoding -> ready -> creating -> stored] -fold-> [proposal: pages, swap] -> committed
//!           accepted               cut                      uploaded                                     committed
//! ```
//! Records move from left to right; the four watermarks below the picture only grow, except that `uploaded` falls back
//! when the writer takes over from itself.
mod append;
mod claim;
mod commit;
mod event;
mod head;
mod layout;
mod multipart;
mod options;
mod pages;
mod parts;
mod resolve;
mod retry;
mod segment;
mod upload;

pub use event::{
    AppendError, AppendReason, BatchError, Fate, HaltCause, Halted, Status, Watermarks, WriterEvent, WriterStats,
};
pub use options::{BatchPolicy, OptionsError, PartPolicy, PendingLimits, TimestampPolicy, WriterOptions};

use crate::boundary::{
    Command, CompleteUpload, Completion, Create, CreateUpload, EncodeBlock, Get, Key, Machine, MonoTime, Now,
    Outstanding, Swap, UploadId, UploadPart, Version,
};
use crate::entropy::Entropy;
use crate::format::catalog::Head;
use crate::format::keys::LogKeys;
use crate::ids::{Epoch, Generation, Lsn, TimestampMs, WriterId};
use crate::metric::Metric;
use crate::mutant::mutant;
use crate::pace::{HeadPace, Hedge, Window};
use claim::Claim;
use commit::Commit;
use retry::Failures;
use segment::Segment;
use std::collections::VecDeque;
use std::sync::Arc;

/// What an answer is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Note {
    ClaimRead,
    ClaimSwap,
    ClaimProof,
    Encode { serial: u64, block: usize },
    Create { serial: u64 },
    Verify { serial: u64 },
    BeginUpload { serial: u64 },
    Part { serial: u64, number: u16 },
    CompleteUpload { serial: u64 },
    Abort,
    Page { index: usize, compare: bool },
    Swap,
    Resolve,
    Walk,
    Learn,
}

impl Note {
    /// Whether it belongs to the way of a segment to its key.
    fn is_upload(&self) -> bool {
        matches!(
            self,
            Self::Create { .. }
                | Self::Verify { .. }
                | Self::BeginUpload { .. }
                | Self::Part { .. }
                | Self::CompleteUpload { .. }
        )
    }
}

/// One incarnation of the owner of one partition. See the [module](self) for the way of a record through it.
#[expect(clippy::struct_field_names, reason = "`writer_id` is the protocol's name")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Writer {
    options: WriterOptions,
    keys: LogKeys,
    head_key: Key,
    writer_id: WriterId,
    entropy: Entropy,
    status: Status,
    outstanding: Outstanding<Note>,
    events: VecDeque<WriterEvent>,
    stats: WriterStats,

    /// Present until the claim is decided.
    claim: Option<Claim>,
    /// The head as this writer knows it, and its version.
    head: Arc<Head>,
    token: Version,
    /// Highest generation of a head that this writer knows to have been there.
    seen_generation: Option<Generation>,
    /// The head may be swapped again then.
    next_swap: MonoTime,
    head_pace: HeadPace,
    commit: Commit,

    /// The segment that takes records.
    active: Option<Segment>,
    /// Cut segments, oldest first, until they are committed.
    queue: VecDeque<Segment>,
    next_serial: u64,
    to_encode: VecDeque<(u64, usize)>,
    encoding: u32,
    encode_at: MonoTime,
    encode_failures: Failures,
    /// The store takes no parts.
    whole_objects: bool,
    /// Whole segments, and parts, that may be under way at once.
    upload_window: Window,
    part_window: Window,
    hedge: Hedge<u64>,
    /// Uploads that nobody needs any more.
    to_abort: VecDeque<(Key, UploadId)>,
    /// One of them is being thrown away.
    aborting: bool,
    /// Raw size of the last block, to size the next one's buffer.
    typical_block: usize,

    accepted: Lsn,
    committed: Lsn,
    last_timestamp: Option<TimestampMs>,
    /// A cut that was asked for waits for room.
    cut_asked: bool,
    /// Somebody waits for the records below this one, which may share a segment with later ones.
    wanted: Lsn,
    /// The most records that were accepted and not yet durable at once, as far as they keep coming.
    crowd: u64,
    /// Bytes in memory of everything not committed.
    held: u64,
    /// Bytes of an append that was refused for lack of room since room was last announced.
    starved: Option<u64>,
}

impl Writer {
    /// Begins to claim the partition. The claim fences the present owner, who learns of it at its next commit; even an
    /// `open` that is given up (dropped, or halted as unreachable) may fence it, now or later.
    ///
    /// `entropy` must be fresh: writer id, segment names and jitter derive from it, and two writers with the same bytes
    /// would claim to be one.
    ///
    /// # Errors
    /// An option outside its range.
    pub fn open(keys: LogKeys, options: WriterOptions, entropy: [u8; 32]) -> Result<Self, OptionsError> {
        options.validate()?;
        let entropy = Entropy::from_seed(entropy);
        Ok(Self {
            head_key: keys.head().into(),
            writer_id: entropy.writer_id(),
            status: Status::Opening,
            outstanding: Outstanding::default(),
            events: VecDeque::new(),
            stats: WriterStats::default(),
            claim: Some(Claim::new()),
            head: Arc::new(Head::initial(*keys.identity(), options.layout, Lsn(0))),
            token: Version::from(""),
            seen_generation: None,
            next_swap: MonoTime(0),
            head_pace: HeadPace::default(),
            commit: Commit::Idle,
            active: None,
            queue: VecDeque::new(),
            next_serial: 0,
            to_encode: VecDeque::new(),
            encoding: 0,
            encode_at: MonoTime(0),
            encode_failures: Failures::default(),
            whole_objects: false,
            upload_window: Window::new(options.parallel_uploads),
            part_window: Window::new(options.parts.map_or(1, |policy| policy.parallel)),
            hedge: Hedge::new(options.hedge),
            to_abort: VecDeque::new(),
            aborting: false,
            typical_block: 0,
            accepted: Lsn(0),
            committed: Lsn(0),
            last_timestamp: None,
            cut_asked: false,
            wanted: Lsn(0),
            crowd: 0,
            held: 0,
            starved: None,
            options,
            keys,
            entropy,
        })
    }

    /// Where the writer stands.
    #[must_use]
    pub fn status(&self) -> &Status {
        &self.status
    }

    /// Name of this incarnation, as it appears in the head once the claim holds.
    #[must_use]
    pub fn writer_id(&self) -> WriterId {
        self.writer_id
    }

    /// The epoch that this writer claimed last; 0 until its claim holds. It grows when the writer takes over from itself
    /// ([`WriterEvent::EpochRenewed`]), and stays when another takes over.
    #[must_use]
    pub fn epoch(&self) -> Epoch {
        self.head.writer_epoch
    }

    /// How far records have come.
    #[must_use]
    pub fn watermarks(&self) -> Watermarks {
        let stored = self.queue.iter().take_while(|s| matches!(s.stage, segment::Stage::Stored(_))).last();
        Watermarks {
            accepted: self.accepted,
            cut: self.active.as_ref().map_or(self.accepted, |active| active.base),
            uploaded: stored.map_or(self.committed, |segment| segment.next),
            committed: self.committed,
        }
    }

    /// Bytes in memory of records that are not yet committed.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        self.held
    }

    /// Counters since the writer was made.
    #[must_use]
    pub fn stats(&self) -> WriterStats {
        WriterStats { late_answers: self.outstanding.late(), hedges: self.hedge.hedges(), ..self.stats }
    }

    /// The head as this writer last committed or claimed it.
    #[must_use]
    pub fn head(&self) -> &Arc<Head> {
        &self.head
    }

    /// Cuts everything accepted and accepts nothing more. The writer is [`Status::Closed`] when all of it is durable,
    /// that is below the returned LSN. A claim under way is given up.
    pub fn close(&mut self, now: Now) -> Lsn {
        if matches!(self.status, Status::Opening | Status::Open { .. }) {
            self.cut(now);
            self.give_up_claim();
            self.status = Status::Closing;
            self.measure(|writer| Metric::new("writer.close", writer.keys.partition()));
        }
        self.accepted
    }

    fn give_up_claim(&mut self) {
        if self.claim.take().is_some() {
            self.outstanding.forget(|_| true);
        }
    }

    /// Stops at once. A swap under way may still land: its records are indeterminate, all later ones are not committed.
    pub fn abort(&mut self) {
        if !matches!(self.status, Status::Closed | Status::Halted(_)) {
            self.measure(|writer| Metric::new("writer.abort", writer.keys.partition()));
            self.halt(HaltCause::Aborted);
        }
    }

    /// The claim holds.
    fn acquired(&mut self, head: Head, token: Version) {
        self.claim = None;
        self.seen_generation = self.seen_generation.max(Some(head.generation));
        self.last_timestamp = head.last_timestamp();
        let next_lsn = if mutant("an opened writer begins at LSN 0") { Lsn(0) } else { head.next_lsn };
        (self.accepted, self.committed, self.wanted) = (next_lsn, next_lsn, next_lsn);
        (self.head, self.token) = (Arc::new(head), token);
        self.opened_epoch();
        let (epoch, writer_id, next_lsn) = (self.head.writer_epoch, self.writer_id, self.accepted);
        self.events.push_back(WriterEvent::Opened { epoch, writer_id, next_lsn });
    }

    fn opened_epoch(&mut self) {
        if !matches!(self.status, Status::Closing) {
            self.status = Status::Open { epoch: self.head.writer_epoch, writer_id: self.writer_id };
        }
    }

    /// Stops for good, tells what is known of every record, and lets go of all memory.
    fn halt(&mut self, cause: HaltCause) {
        if matches!(self.status, Status::Closed | Status::Halted(_)) {
            return;
        }
        let maybe = self.doubtful_end().unwrap_or(self.committed);
        let proves_too_much = mutant("a halt proves what is only accepted");
        let proven = if proves_too_much { self.accepted } else { self.committed };
        let halted = Halted { cause, proven, maybe, accepted: self.accepted };
        self.status = Status::Halted(halted.clone());
        self.events.push_back(WriterEvent::Halted(halted));
        self.claim = None;
        self.commit = Commit::Idle;
        (self.active, self.held, self.encoding) = (None, 0, 0);
        self.queue.clear();
        self.to_abort.clear();
        self.to_encode.clear();
        self.outstanding.forget(|_| true);
    }

    fn measure(&mut self, metric: impl FnOnce(&Self) -> Metric) {
        if self.options.metrics {
            let metric = metric(self);
            self.events.push_back(WriterEvent::Metric(metric));
        }
    }

    fn segment(&self, serial: u64) -> Option<&Segment> {
        match &self.active {
            Some(active) if active.serial == serial => Some(active),
            _ => self.position(serial).and_then(|i| self.queue.get(i)),
        }
    }

    fn segment_mut(&mut self, serial: u64) -> Option<&mut Segment> {
        let position = self.position(serial);
        match &mut self.active {
            Some(active) if active.serial == serial => Some(active),
            _ => self.queue.get_mut(position?),
        }
    }

    fn learn_answers(&mut self, now: Now) {
        self.outstanding.expire(now);
        while let Some((note, answer)) = self.outstanding.next_answer() {
            match note {
                Note::ClaimRead => self.claim_read(now, answer.to::<Get>()),
                Note::ClaimSwap => self.claim_swapped(now, answer.to::<Swap>()),
                Note::ClaimProof => self.claim_proved(now, &answer.to::<Swap>()),
                Note::Encode { serial, block } => self.encoded(now, (serial, block), answer.to::<EncodeBlock>()),
                Note::Create { serial } => self.created(now, serial, answer.to::<Create>()),
                Note::Verify { serial } => self.verified(now, serial, answer.to::<Get>()),
                Note::BeginUpload { serial } => self.upload_begun(now, serial, answer.to::<CreateUpload>()),
                Note::Part { serial, number } => self.part_stored(now, serial, number, answer.to::<UploadPart>()),
                Note::CompleteUpload { serial } => self.completed(now, serial, answer.to::<CompleteUpload>()),
                // What is not thrown away now is found by a scrub.
                Note::Abort => self.aborting = false,
                Note::Page { index, compare: false } => self.page_created(now, index, answer.to::<Create>()),
                Note::Page { index, compare: true } => self.page_compared(now, index, answer.to::<Get>()),
                Note::Swap => self.swapped(now, answer.to::<Swap>()),
                Note::Resolve => self.resolve_read(now, answer.to::<Get>()),
                Note::Walk => self.walked(now, answer.to::<Get>()),
                Note::Learn => self.learnt(now, answer.to::<Get>()),
            }
        }
    }

    fn is_live(&self) -> bool {
        !matches!(self.status, Status::Closed | Status::Halted(_))
    }

    fn finish_closing(&mut self) {
        let is_done = self.committed == self.accepted || mutant("a writer closes before everything is committed");
        if self.status == Status::Closing && is_done {
            self.status = Status::Closed;
            self.events.push_back(WriterEvent::Closed { next_lsn: self.committed });
        }
    }
}

impl Machine for Writer {
    type Event = WriterEvent;

    fn complete(&mut self, _now: Now, completion: Completion) {
        self.outstanding.record(completion);
    }

    fn poll_command(&mut self, now: Now) -> Option<Command> {
        self.learn_answers(now);
        if let Some(cancel) = self.outstanding.next_cancel() {
            return Some(cancel);
        }
        if !self.is_live() {
            return None;
        }
        if self.claim.is_some() {
            return self.poll_claim(now);
        }
        self.cut_if_due(now);
        let command = self
            .poll_commit(now)
            .or_else(|| self.poll_upload(now))
            .or_else(|| self.poll_multipart(now))
            .or_else(|| self.poll_hedge(now))
            .or_else(|| self.poll_encode(now));
        self.announce_room();
        self.finish_closing();
        command.or_else(|| self.outstanding.next_cancel())
    }

    fn poll_event(&mut self) -> Option<WriterEvent> {
        self.events.pop_front()
    }

    fn deadline(&self) -> Option<MonoTime> {
        if self.outstanding.has_news() {
            return Some(MonoTime(0));
        }
        if !self.is_live() {
            return None;
        }
        let claim = self.claim.as_ref().and_then(Claim::deadline);
        let rest = [
            self.outstanding.deadline(),
            claim,
            self.cut_deadline(),
            self.commit_deadline(),
            self.upload_deadline(),
            self.multipart_deadline(),
            self.hedge.deadline(),
            self.encode_deadline(),
        ];
        rest.into_iter().flatten().min()
    }
}
