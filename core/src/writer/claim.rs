//! Opening: one read of the head, one swap that names this writer as its owner.
use super::head::HeadRead;
use super::retry::Failures;
use super::{Note, Writer};
use crate::boundary::{Command, Fault, GetReply, MonoTime, Now, RefusalKind, SwapCondition, SwapReply, Version};
use crate::format::catalog::Head;
use crate::ids::{Epoch, Lsn, WriterId};
use crate::mutant::mutant;
use crate::writer::event::HaltCause;
use bytes::Bytes;

/// How far the claim has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Claim {
    pub(super) step: Step,
    /// The claim under way; the head may already carry it.
    candidate: Option<Candidate>,
    rounds: u32,
    failures: Failures,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    Read {
        at: MonoTime,
    },
    Reading,
    Swap {
        at: MonoTime,
    },
    Swapping,
    /// The claim has won; now the store must refuse a swap.
    Prove(Box<Proof>),
    Proving(Box<Proof>),
}

/// A claim that has won, and a swap of the same head that must fail.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Proof {
    head: Head,
    token: Version,
    condition: SwapCondition,
    at: MonoTime,
}

/// A head that names this writer, and the version it would replace; `None` is a key without an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Candidate {
    head: Head,
    bytes: Bytes,
    token: Option<Version>,
}

impl Claim {
    pub(super) fn new() -> Self {
        Self { step: Step::Read { at: MonoTime(0) }, candidate: None, rounds: 0, failures: Failures::default() }
    }

    pub(super) fn deadline(&self) -> Option<MonoTime> {
        match &self.step {
            Step::Read { at } | Step::Swap { at } => Some(*at),
            Step::Prove(proof) => Some(proof.at),
            Step::Reading | Step::Swapping | Step::Proving(_) => None,
        }
    }
}

impl Writer {
    pub(super) fn poll_claim(&mut self, now: Now) -> Option<Command> {
        let claim = self.claim.as_mut()?;
        match &claim.step {
            Step::Read { at } if *at <= now.mono => {
                claim.step = Step::Reading;
                Some(self.get_head(now, Note::ClaimRead))
            }
            Step::Swap { at } if *at <= now.mono => {
                claim.step = Step::Swapping;
                let Candidate { bytes, token, .. } = claim.candidate.clone()?;
                let condition = token.map_or(SwapCondition::Absent, SwapCondition::Matches);
                Some(self.swap_head(now, Note::ClaimSwap, bytes, condition))
            }
            Step::Prove(proof) if proof.at <= now.mono => {
                let proof = proof.clone();
                let (bytes, condition) = (proof.head.encode(), proof.condition.clone());
                claim.step = Step::Proving(proof);
                Some(self.swap_head(now, Note::ClaimProof, bytes, condition))
            }
            _ => None,
        }
    }

    pub(super) fn claim_read(&mut self, now: Now, result: Result<GetReply, Fault>) {
        let found = match self.decode_head(result) {
            Ok(found) => found,
            Err(HeadRead::Failed(fault)) => return self.claim_again(now, "reading", fault, |at| Step::Read { at }),
            Err(HeadRead::Unusable(cause)) => return self.halt(cause),
        };
        if found.is_none() && self.seen_generation.is_some() && !mutant("a deleted head is created again") {
            return self.halt(self.head_gone());
        }
        let Some(claim) = self.claim.as_mut() else { return };
        let Some(candidate) = claim.candidate.take() else { return self.rebuild_claim(now, found) };
        match &found {
            Some((head, token)) if owns(head, &candidate.head) => {
                self.won(head.clone(), token.clone(), candidate.token);
            }
            _ if candidate.token.as_ref() == found.as_ref().map(|(_, token)| token) => {
                claim.candidate = Some(candidate);
                let fault = Fault::indeterminate("the claim is not in the head yet");
                self.claim_again(now, "claiming", fault, |at| Step::Swap { at });
            }
            Some((head, _)) => self.claim_lost(now, head.writer_epoch, head.writer_id),
            None => self.rebuild_claim(now, None),
        }
    }

    /// Another writer moved the head first: back off, then claim what is there then.
    fn claim_lost(&mut self, now: Now, epoch: Epoch, writer: WriterId) {
        let Some(claim) = self.claim.as_mut() else { return };
        let attempts = claim.rounds;
        if attempts >= self.options.claim_attempts || mutant("the budget of tries ends at the first") {
            return self.halt(HaltCause::Contended { epoch, writer, attempts });
        }
        let lost = Fault::refused(RefusalKind::Precondition, "another writer claimed the head first");
        let delay = self.options.backoff.delay(attempts, &lost, &mut self.entropy);
        claim.step = Step::Read { at: now.mono.after(delay) };
    }

    fn rebuild_claim(&mut self, now: Now, found: Option<(Head, Version)>) {
        let (head, token) = match found {
            Some((head, token)) => (head, Some(token)),
            None => (Head::initial(*self.keys.identity(), self.options.layout, Lsn(0)), None),
        };
        let named = if mutant("a claim does not name its writer") { WriterId([9; 16]) } else { self.writer_id };
        let epoch = head.writer_epoch;
        match head.takeover(named) {
            Ok(mut head) => {
                if mutant("a claim keeps the epoch") && epoch > Epoch(0) {
                    head.writer_epoch = epoch;
                }
                if mutant("a claim skips an epoch") {
                    head.writer_epoch.0 += 1;
                }
                if mutant("a claim forgets the last segment") {
                    head.last_segment = None;
                }
                if mutant("a claim keeps the generation") {
                    head.generation.0 -= 1;
                }
                let Some(claim) = self.claim.as_mut() else { return };
                claim.rounds += 1;
                claim.step = Step::Swap { at: now.mono };
                claim.candidate = Some(Candidate { bytes: head.encode(), head, token });
            }
            Err(error) => self.halt(HaltCause::Catalog(error)),
        }
    }

    pub(super) fn claim_swapped(&mut self, now: Now, result: Result<SwapReply, Fault>) {
        let Some(claim) = self.claim.as_mut() else { return };
        match result {
            Ok(SwapReply { version: Some(token) }) => {
                let Some(candidate) = claim.candidate.take() else { return };
                self.won(candidate.head, token, candidate.token);
            }
            // The head must be read: for the version the store did not tell, or for who owns it now.
            Ok(SwapReply { version: None }) => {
                claim.step = Step::Read { at: now.mono };
                let won = claim.candidate.as_ref().map(|candidate| candidate.head.generation);
                if !mutant("a claim won without a version is not remembered") {
                    self.seen_generation = self.seen_generation.max(won);
                }
            }
            Err(fault) => match fault.refusal() {
                Some(RefusalKind::Precondition) if mutant("a claim lost is taken for won") => self.claim_unproven(),
                Some(RefusalKind::Precondition) => claim.step = Step::Read { at: now.mono },
                Some(RefusalKind::NotFound) => self.halt(self.head_gone()),
                None if mutant("a claim without an answer is taken for won") => self.claim_unproven(),
                None if matches!(fault, Fault::Indeterminate(_)) => {
                    self.claim_again(now, "claiming", fault, |at| Step::Read { at });
                }
                _ => self.claim_again(now, "claiming", fault, |at| Step::Swap { at }),
            },
        }
    }

    /// What broken variants do instead of looking.
    fn claim_unproven(&mut self) {
        if let Some(candidate) = self.claim.as_mut().and_then(|claim| claim.candidate.take()) {
            self.acquired(candidate.head, Version::from("never told"));
        }
    }

    /// The head names this writer; `stale` is the version that its claim replaced.
    fn won(&mut self, head: Head, token: Version, stale: Option<Version>) {
        match &mut self.claim {
            Some(claim) if self.options.prove_store && !mutant("the proof of the store is believed without asking") => {
                let condition = stale.map_or(SwapCondition::Absent, SwapCondition::Matches);
                claim.step = Step::Prove(Box::new(Proof { head, token, condition, at: MonoTime(0) }));
            }
            _ => self.acquired(head, token),
        }
    }

    /// A store that took a swap with a false condition is not fit. Whatever else it answered proves nothing against it:
    /// a swap that it did not take, or takes later, has a condition that stays false.
    pub(super) fn claim_proved(&mut self, now: Now, result: &Result<SwapReply, Fault>) {
        let Some(Claim { step: Step::Proving(proof), .. }) = &self.claim else { return };
        let mut proof = proof.clone();
        let Err(fault) = result else {
            return self.halt(HaltCause::ConditionsIgnored { key: self.head_name() });
        };
        if let Some(RefusalKind::Throttled(Some(asked))) = fault.refusal() {
            proof.at = now.mono.after(*asked);
            self.next_swap = self.next_swap.max(proof.at);
        }
        match (&mut self.claim, &proof.condition) {
            (Some(claim), SwapCondition::Matches(_)) => {
                claim.step = Step::Prove(Box::new(Proof { condition: SwapCondition::Absent, ..*proof }));
            }
            _ => self.acquired(proof.head, proof.token),
        }
    }

    /// Goes to `next` after a wait, unless the writer gives up.
    fn claim_again(&mut self, now: Now, operation: &'static str, fault: Fault, next: impl Fn(MonoTime) -> Step) {
        let Some(mut failures) = self.claim.as_ref().map(|claim| claim.failures) else { return };
        let key = self.head_key.clone();
        let Some(at) = self.retry(now, &mut failures, (operation, &key), fault) else { return };
        if let Some(claim) = self.claim.as_mut() {
            (claim.failures, claim.step) = (failures, next(at));
        }
    }
}

/// Whether `found` is owned by the very claim of `candidate`.
fn owns(found: &Head, candidate: &Head) -> bool {
    let is_named = found.writer_id == candidate.writer_id || mutant("a claim is recognised by its epoch alone");
    found.writer_epoch == candidate.writer_epoch && is_named
}
