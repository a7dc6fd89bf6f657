//! Group commit: stored segments are folded into one head and published by one swap.
//!
//! Every unknown outcome is settled by reading the head and applying the rules of [`super::resolve`]. While an earlier
//! attempt on a token may still land, the same bytes are sent again and nothing else.
use super::head::HeadRead;
use super::resolve::{Finding, Proposed, classify};
use super::retry::Failures;
use super::segment::Stage as SegmentStage;
use super::upload::throttles;
use super::{Metric, Note, Writer};
use crate::boundary::{
    ByteRange, Command, Fault, Get, GetReply, MonoTime, Now, RefusalKind, SwapCondition, SwapReply, Version,
};
use crate::format::catalog::{Head, Page, PageRef, Presence, SegmentEntry};
use crate::ids::{Epoch, Lsn};
use crate::limits::MAX_PAGE_LEN;
use crate::mutant::mutant;
use crate::writer::event::{HaltCause, WriterEvent};
use bytes::Bytes;
use std::sync::Arc;

/// Where the head stands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Commit {
    /// Nothing is proposed.
    Idle,
    /// A commit won, but the store did not tell its version.
    Learn(Learn),
    /// A proposal is on its way.
    Proposed(Box<Proposal>),
}

/// A read of our own head, for its version.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Learn {
    at: Option<MonoTime>,
    failures: Failures,
}

/// A new head, and everything needed to find out what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Proposal {
    /// How many segments from the front of the queue it commits.
    segments: usize,
    /// The last of them.
    last: SegmentEntry,
    head: Arc<Head>,
    bytes: Bytes,
    /// The version it is proposed against; that of `Writer::head`.
    token: Version,
    pub(super) pages: super::pages::Pages,
    /// Once set, this claim of the writer against itself is repeated instead of the proposal.
    takeover: Option<(Arc<Head>, Bytes)>,
    stage: Stage,
    /// Whether an attempt on `token` may have landed or may yet land.
    unresolved: bool,
    doubts: u32,
    failures: Failures,
    since: MonoTime,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// Pages are being stored; they must precede the head.
    Pages,
    Swap {
        at: MonoTime,
    },
    Swapping,
    Read {
        at: MonoTime,
    },
    Reading,
    /// The tree below a head that was read is followed towards the proposal.
    Walk {
        at: MonoTime,
        walk: Walk,
    },
    Walking {
        walk: Walk,
    },
}

/// A head that was read, and the next page on the way to the proposal's base.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Walk {
    head: Arc<Head>,
    token: Version,
    page: PageRef,
    parent_epoch: Epoch,
}

impl Proposal {
    pub(super) fn end(&self) -> Lsn {
        self.head.next_lsn
    }

    /// Whether its records may be in the log although that is not proven.
    pub(super) fn may_have_landed(&self) -> bool {
        self.unresolved || self.stage == Stage::Swapping
    }

    fn deadline(&self, next_swap: MonoTime) -> Option<MonoTime> {
        match &self.stage {
            Stage::Pages => self.pages.deadline(),
            Stage::Swap { at } => Some(next_swap.max(*at)),
            Stage::Read { at } | Stage::Walk { at, .. } => Some(*at),
            Stage::Swapping | Stage::Reading | Stage::Walking { .. } => None,
        }
    }

    fn is_out(&self) -> bool {
        matches!(self.stage, Stage::Swapping | Stage::Reading | Stage::Walking { .. })
    }
}

impl Commit {
    pub(super) fn proposal(&self) -> Option<&Proposal> {
        match self {
            Self::Proposed(proposal) => Some(proposal),
            Self::Idle | Self::Learn(_) => None,
        }
    }

    pub(super) fn proposal_mut(&mut self) -> Option<&mut Proposal> {
        match self {
            Self::Proposed(proposal) => Some(proposal),
            Self::Idle | Self::Learn(_) => None,
        }
    }

    /// Segments that are part of the proposal.
    pub(super) fn segments(&self) -> usize {
        self.proposal().map_or(0, |p| p.segments)
    }
}

impl Writer {
    pub(super) fn commit_deadline(&self) -> Option<MonoTime> {
        match &self.commit {
            Commit::Idle => self.first_is_stored().then_some(self.next_swap),
            Commit::Learn(learn) => learn.at,
            Commit::Proposed(proposal) => proposal.deadline(self.next_swap),
        }
    }

    fn first_is_stored(&self) -> bool {
        self.queue.front().is_some_and(|s| matches!(s.stage, SegmentStage::Stored(_)))
    }

    pub(super) fn poll_commit(&mut self, now: Now) -> Option<Command> {
        if self.commit == Commit::Idle && self.next_swap <= now.mono && self.first_is_stored() {
            self.propose(now);
        }
        match &mut self.commit {
            Commit::Idle => None,
            Commit::Learn(learn) => {
                learn.at.filter(|at| *at <= now.mono)?;
                learn.at = None;
                Some(self.get_head(now, Note::Learn))
            }
            Commit::Proposed(_) => self.poll_proposal(now),
        }
    }

    /// Folds every stored segment at the front of the queue into one new head.
    fn propose(&mut self, now: Now) {
        let (mut head, mut pages, mut segments, mut last) = ((*self.head).clone(), Vec::new(), 0, None);
        for segment in self.queue.iter().take(self.options.max_group as usize) {
            let SegmentStage::Stored(entry) = segment.stage else { break };
            match head.append(entry, &mut pages) {
                Ok(()) => (segments, last) = (segments + 1, Some(entry)),
                Err(error) if segments == 0 => return self.halt(HaltCause::Catalog(error)),
                Err(_) => break,
            }
        }
        let Some(last) = last else { return };
        if mutant("acknowledged before the swap") {
            self.events.push_back(WriterEvent::Committed { next_lsn: head.next_lsn });
        }
        if mutant("a group counts as one generation") {
            head.generation.0 = self.head.generation.0 + 1;
        }
        if mutant("a commit keeps the generation") {
            head.generation = self.head.generation;
        }
        if mutant("a commit raises the epoch") {
            head.writer_epoch.0 += 1;
        }
        segments += usize::from(mutant("a group counts one segment too many"));
        segments -= usize::from(mutant("a group counts one segment too few"));
        self.commit = Commit::Proposed(Box::new(Proposal {
            segments,
            last,
            bytes: head.encode(),
            head: Arc::new(head),
            token: self.token.clone(),
            stage: if pages.is_empty() { Stage::Swap { at: now.mono } } else { Stage::Pages },
            pages: super::pages::Pages::new(pages, &self.keys, now),
            takeover: None,
            unresolved: false,
            doubts: 0,
            failures: Failures::default(),
            since: now.mono,
        }));
    }

    fn poll_proposal(&mut self, now: Now) -> Option<Command> {
        let patience = self.options.patience;
        let proposal = self.commit.proposal_mut()?;
        if proposal.stage == Stage::Pages {
            if !proposal.pages.all_stored() {
                return proposal.pages.poll(now, patience, &mut self.outstanding);
            }
            proposal.stage = Stage::Swap { at: now.mono };
        }
        if proposal.is_out() || proposal.deadline(self.next_swap).is_none_or(|at| at > now.mono) {
            return None;
        }
        match std::mem::replace(&mut proposal.stage, Stage::Reading) {
            Stage::Swap { .. } => {
                proposal.stage = Stage::Swapping;
                let body = proposal.takeover.as_ref().map_or(&proposal.bytes, |(_, bytes)| bytes).clone();
                let condition = SwapCondition::Matches(proposal.token.clone());
                Some(self.swap_head(now, Note::Swap, body, condition))
            }
            Stage::Walk { walk, .. } => {
                let key = self.keys.page(&walk.page).into();
                let get = Get::new(key, ByteRange::All, MAX_PAGE_LEN as u64);
                proposal.stage = Stage::Walking { walk };
                Some(Command::Get(self.outstanding.issue(now, patience, Note::Walk, get)))
            }
            _ => Some(self.get_head(now, Note::Resolve)),
        }
    }

    pub(super) fn swapped(&mut self, now: Now, result: Result<SwapReply, Fault>) {
        if self.commit.proposal().is_none_or(|p| p.stage != Stage::Swapping) {
            return;
        }
        let is_throttled = result.as_ref().is_err_and(throttles);
        self.pace_head(is_throttled);
        let Some(proposal) = self.commit.proposal_mut() else { return };
        let fault = match result {
            Ok(SwapReply { version }) => return self.swap_won(now, version),
            Err(fault) => fault,
        };
        proposal.stage = Stage::Read { at: now.mono };
        match fault.refusal() {
            Some(RefusalKind::Precondition) if mutant("a 412 is a lost fence") => {
                self.commit = Commit::Idle;
                self.halt(HaltCause::Superseded { epoch: self.head.writer_epoch, writer: self.head.writer_id });
            }
            Some(RefusalKind::Precondition) => {}
            Some(RefusalKind::NotFound) => {
                proposal.unresolved = true;
                self.halt(self.head_gone());
            }
            None if matches!(fault, Fault::Indeterminate(_)) && mutant("an indeterminate answer is success") => {
                self.swap_won(now, None);
            }
            None if matches!(fault, Fault::Indeterminate(_)) && mutant("propose anew without reading") => {
                self.commit = Commit::Idle;
            }
            None if matches!(fault, Fault::Indeterminate(_)) => {
                proposal.unresolved = !mutant("a doubt is forgotten");
                proposal.doubts += 1;
                self.stats.doubts += 1;
            }
            _ => {
                proposal.unresolved |= mutant("a definite refusal is doubted");
                proposal.unresolved &= !mutant("a 409 settles earlier attempts");
                self.publish_again(now, fault, |at| Stage::Swap { at });
            }
        }
    }

    /// The next swap keeps its distance from one that was throttled.
    fn pace_head(&mut self, is_throttled: bool) {
        if is_throttled {
            self.stats.throttles += 1;
            self.head_pace.throttled();
        } else {
            self.head_pace.passed();
        }
    }

    fn swap_won(&mut self, now: Now, version: Option<Version>) {
        let Some(proposal) = self.commit.proposal_mut() else { return };
        match (version, proposal.takeover.take()) {
            (Some(token), None) => self.committed(now, Some(token)),
            (None, None) => self.committed(now, None),
            (Some(token), Some((head, _))) => self.renewed(now, head, token),
            // Who owns the head and at which version, a read tells.
            (None, Some((head, bytes))) => {
                self.seen_generation = self.seen_generation.max(Some(head.generation));
                proposal.takeover = Some((head, bytes));
                proposal.stage = Stage::Read { at: now.mono };
            }
        }
    }

    pub(super) fn resolve_read(&mut self, now: Now, result: Result<GetReply, Fault>) {
        if self.commit.proposal().is_none_or(|p| p.stage != Stage::Reading) {
            return;
        }
        match self.decode_head(result) {
            Ok(Some((head, token))) => {
                let head = Arc::new(head);
                let Some(presence) = self.commit.proposal().map(|p| head.presence(&p.last)) else { return };
                self.resolve(now, &head, &token, presence, head.writer_epoch);
            }
            Ok(None) => {
                self.doubt();
                self.halt(self.head_gone());
            }
            Err(HeadRead::Failed(fault)) => self.publish_again(now, fault, |at| Stage::Read { at }),
            Err(HeadRead::Unusable(cause)) => self.halt(cause),
        }
    }

    /// Applies the rules to a head; `presence` is what it says of the proposal, or a page of `parent_epoch` below it.
    fn resolve(&mut self, now: Now, found: &Arc<Head>, token: &Version, presence: Presence, parent_epoch: Epoch) {
        let Some(proposal) = self.commit.proposal_mut() else { return };
        let is_mine = found.writer_id == self.writer_id;
        if let Some((candidate, _)) = &proposal.takeover
            && (is_mine || mutant("a rival's claim is taken for a self-takeover"))
            && found.writer_epoch == candidate.writer_epoch
        {
            return self.renewed(now, Arc::clone(found), token.clone());
        }
        let is_mine = is_mine && found.writer_epoch == self.head.writer_epoch;
        let proposed = Proposed { last: &proposal.last, token: &proposal.token, predecessor: &self.head };
        match classify(found, token, presence, proposed) {
            Finding::NeedPage(_) if mutant("a proof below a page is not looked for") => {
                self.commit = Commit::Idle;
                self.halt(self.usurped(found, false));
            }
            Finding::NeedPage(page) => {
                let walk = Walk { head: Arc::clone(found), token: token.clone(), page, parent_epoch };
                proposal.stage = Stage::Walk { at: now.mono, walk };
            }
            Finding::Committed
                if (is_mine && *found == proposal.head) || mutant("committed, and the fence is overlooked") =>
            {
                self.committed(now, Some(token.clone()));
            }
            Finding::Committed => {
                self.committed(now, Some(token.clone()));
                self.halt(self.usurped(found, is_mine));
            }
            Finding::Repeat => {
                proposal.unresolved &= !mutant("a negative read is final");
                self.repeat(now, found);
            }
            Finding::Rebase => self.rebase(now, token.clone()),
            Finding::RetentionPassed if proposal.unresolved => {
                self.halt(HaltCause::RetentionPassed { oldest: found.oldest_lsn });
            }
            // Nobody else commits under our name, and nobody opens an epoch that was open: what a log that was begun
            // anew means for the proposal can't be known.
            Finding::Lost | Finding::RetentionPassed if is_mine || self.is_begun_anew(found) => {
                self.doubt();
                self.halt(self.usurped(found, is_mine));
            }
            Finding::Lost | Finding::RetentionPassed if mutant("commit on a rival's head") => {
                (self.head, self.token, self.commit) = (Arc::clone(found), token.clone(), Commit::Idle);
            }
            // Without a doubt to settle, retention hides nothing: every attempt was refused.
            Finding::Lost | Finding::RetentionPassed => {
                self.commit = Commit::Idle;
                self.halt(self.usurped(found, false));
            }
        }
    }

    fn usurped(&self, found: &Head, is_mine: bool) -> HaltCause {
        if is_mine {
            HaltCause::ForeignCommit { key: self.head_name() }
        } else if self.is_begun_anew(found) {
            self.head_gone()
        } else {
            HaltCause::Superseded { epoch: found.writer_epoch, writer: found.writer_id }
        }
    }

    /// Whether the head is not the one that this writer owned: each epoch of that has one owner.
    fn is_begun_anew(&self, found: &Head) -> bool {
        let is_past = found.writer_epoch <= self.head.writer_epoch && found.writer_id != self.writer_id;
        is_past && !mutant("a log that was begun anew is a rival's")
    }

    /// Rule 2. After too many doubts the writer takes over from itself, on the very head it just read.
    fn repeat(&mut self, now: Now, found: &Head) {
        let (writer_id, limit) = (self.writer_id, self.options.self_takeover_after);
        let Some(proposal) = self.commit.proposal_mut() else { return };
        let last = proposal.last;
        if proposal.takeover.is_none() && proposal.unresolved && proposal.doubts >= limit {
            let mut found = found.clone();
            if mutant("a takeover is folded with an append") {
                drop(found.append(last, &mut Vec::new()));
            }
            proposal.takeover = found.takeover(writer_id).ok().map(|mut head| {
                if mutant("a self-takeover names somebody else") {
                    head.writer_id = crate::ids::WriterId([9; 16]);
                }
                if mutant("a self-takeover keeps the epoch") {
                    head.writer_epoch = found.writer_epoch;
                }
                if mutant("a self-takeover drops the last segment") {
                    head.last_segment = None;
                }
                let bytes = head.encode();
                (Arc::new(head), bytes)
            });
        }
        let fault = Fault::indeterminate("the head is unchanged after a swap without a clear answer");
        self.publish_again(now, fault, |at| Stage::Swap { at });
    }

    /// Rule 3: requests on the old token can no longer land.
    fn rebase(&mut self, now: Now, token: Version) {
        self.token = token.clone();
        let Some(proposal) = self.commit.proposal_mut() else { return };
        if !mutant("a rebase forgets the new token") {
            proposal.token = token;
        }
        proposal.unresolved = false;
        let fault = Fault::refused(RefusalKind::Precondition, "the version of the head changed, but not its content");
        self.publish_again(now, fault, |at| Stage::Swap { at });
    }

    pub(super) fn walked(&mut self, now: Now, result: Result<GetReply, Fault>) {
        let Some(proposal) = self.commit.proposal_mut() else { return };
        let Stage::Walking { walk } = std::mem::replace(&mut proposal.stage, Stage::Reading) else { return };
        let last = proposal.last;
        let page = match result {
            Ok(GetReply::Found { body, .. }) => Page::decode(&body)
                .and_then(|page| page.check(&walk.page, walk.parent_epoch, self.keys.identity()).map(|()| page)),
            // The head moved on and its pages may be gone: look at the head again.
            Err(fault) if fault.refusal() == Some(&RefusalKind::NotFound) => {
                return self.publish_again(now, fault, |at| Stage::Read { at });
            }
            Ok(GetReply::NotModified) => {
                let fault = Fault::indeterminate("not modified, though no version was named");
                return self.publish_again(now, fault, |at| Stage::Walk { at, walk: walk.clone() });
            }
            Err(fault) => return self.publish_again(now, fault, |at| Stage::Walk { at, walk: walk.clone() }),
        };
        match page {
            Ok(page) => self.resolve(now, &walk.head, &walk.token, page.presence(&last), page.writer_epoch),
            Err(error) => {
                let key = self.keys.page(&walk.page).into();
                self.halt(HaltCause::Corrupt { key, error });
            }
        }
    }

    /// Goes to `next` after a wait, unless the writer gives up.
    fn publish_again(&mut self, now: Now, fault: Fault, next: impl Fn(MonoTime) -> Stage) {
        let Some((mut failures, unresolved)) = self.commit.proposal().map(|p| (p.failures, p.unresolved)) else {
            return;
        };
        let (key, operation) = (self.head_key.clone(), "publishing");
        let at = if unresolved {
            self.persist(now, &mut failures, (operation, &key), fault)
        } else {
            self.retry(now, &mut failures, (operation, &key), fault)
        };
        if let (Some(at), Some(proposal)) = (at, self.commit.proposal_mut()) {
            (proposal.failures, proposal.stage) = (failures, next(at));
        }
    }

    /// The proposal may be in the log, whatever the answers said.
    fn doubt(&mut self) {
        if let Some(proposal) = self.commit.proposal_mut() {
            proposal.unresolved = true;
        }
    }

    /// End of the proposal if an attempt may have landed.
    pub(super) fn doubtful_end(&self) -> Option<Lsn> {
        if mutant("a halt knows of no doubt") {
            return None;
        }
        let doubts_all = mutant("a halt doubts what was never sent");
        self.commit.proposal().filter(|p| p.may_have_landed() || doubts_all).map(Proposal::end)
    }

    /// The proposal is in the log.
    fn committed(&mut self, now: Now, token: Option<Version>) {
        let Commit::Proposed(proposal) = std::mem::replace(&mut self.commit, Commit::Idle) else { return };
        self.stats.commits += 1;
        self.stats.segments += proposal.segments as u64;
        for segment in self.queue.drain(..proposal.segments.min(self.queue.len())) {
            self.held -= segment.held;
        }
        self.measure(|writer| {
            let mut metric = Metric::new("writer.segment_publish", proposal.head.identity.partition);
            (metric.start_lsn, metric.next_lsn) = (writer.committed, proposal.end());
            (metric.records, metric.bytes) = (proposal.end().0 - writer.committed.0, proposal.bytes.len() as u64);
            (metric.segments, metric.duration) = (proposal.segments as u64, now.mono.since(proposal.since));
            metric
        });
        self.committed = proposal.end();
        if mutant("a commit acknowledges what comes after it") {
            self.committed = self.accepted;
        }
        self.head = proposal.head;
        self.seen_generation = self.seen_generation.max(Some(self.head.generation));
        match token {
            Some(token) => self.token = token,
            None => self.commit = Commit::Learn(Learn { at: Some(now.mono), failures: Failures::default() }),
        }
        self.events.push_back(WriterEvent::Committed { next_lsn: self.committed });
    }

    /// The writer owns the log under a new epoch, and no older request can land: everything pending is addressed anew.
    fn renewed(&mut self, now: Now, head: Arc<Head>, token: Version) {
        // A clone of this writer went on under the name that both have.
        if head.next_lsn != self.committed {
            self.doubt();
            return self.halt(self.usurped(&head, true));
        }
        self.stats.self_takeovers += 1;
        self.seen_generation = self.seen_generation.max(Some(head.generation));
        self.events.push_back(WriterEvent::EpochRenewed { epoch: head.writer_epoch });
        (self.head, self.token) = (head, token);
        self.commit = Commit::Idle;
        self.opened_epoch();
        self.outstanding.forget(|note| matches!(note, Note::Page { .. }));
        if !mutant("a self-takeover keeps the old addresses") {
            self.lay_out_anew(now);
        }
    }

    pub(super) fn learnt(&mut self, now: Now, result: Result<GetReply, Fault>) {
        let Commit::Learn(_) = self.commit else { return };
        match self.decode_head(result) {
            Ok(Some((head, token))) if head == *self.head || mutant("any head tells the version") => {
                self.token = token;
                self.commit = Commit::Idle;
            }
            Ok(Some((head, _))) => {
                let is_mine = (head.writer_epoch, head.writer_id) == (self.head.writer_epoch, self.writer_id);
                self.halt(self.usurped(&head, is_mine));
            }
            Ok(None) => self.halt(self.head_gone()),
            Err(HeadRead::Unusable(cause)) => self.halt(cause),
            Err(HeadRead::Failed(fault)) => self.learn_again(now, fault),
        }
    }

    fn learn_again(&mut self, now: Now, fault: Fault) {
        let Commit::Learn(Learn { mut failures, .. }) = self.commit else { return };
        let key = self.head_key.clone();
        let at = self.retry(now, &mut failures, ("reading", &key), fault);
        if at.is_some() {
            self.commit = Commit::Learn(Learn { at, failures });
        }
    }
}
