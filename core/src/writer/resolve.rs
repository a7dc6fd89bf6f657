//! What a head tells of a proposal whose fate is not known: the publish rules of design 4, in their order.
use crate::boundary::Version;
use crate::format::catalog::{Head, PageRef, Presence, SegmentEntry};
use crate::mutant::mutant;

/// What was proposed, as far as the rules need it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proposed<'a> {
    /// The last segment of the proposal.
    pub(super) last: &'a SegmentEntry,
    /// The version it was proposed against.
    pub(super) token: &'a Version,
    /// The head of that version.
    pub(super) predecessor: &'a Head,
}

/// The rule that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Rule 1: the proposal is in the log.
    Committed,
    /// Rule 1 can't be decided before this page is known.
    NeedPage(PageRef),
    /// Rule 2: nothing changed; repeat the same bytes with the same token.
    Repeat,
    /// Rule 3: only the token changed; propose again with the new one.
    Rebase,
    /// Rule 4: retention may have removed the proof.
    RetentionPassed,
    /// Rule 5: other records, or none, lie where the proposal would; it never landed and no longer can.
    Lost,
}

/// Applies the rules to a head found at `token`; `presence` is what the head, or a page below it, says of the proposal's
/// last segment.
pub(super) fn classify(found: &Head, token: &Version, presence: Presence, proposed: Proposed<'_>) -> Finding {
    if mutant("every head that was read holds the proposal") {
        return Finding::Committed;
    }
    let is_last = found.last_segment.as_ref() == Some(proposed.last);
    match presence {
        Presence::Present if mutant("equality instead of containment") && !is_last => {}
        Presence::Present => return Finding::Committed,
        Presence::Ask(page) => return Finding::NeedPage(page),
        Presence::Absent => {}
    }
    if token == proposed.token || mutant("a changed token is repeated") {
        return Finding::Repeat;
    }
    if found == proposed.predecessor || mutant("any other head is built on") {
        return Finding::Rebase;
    }
    if found.oldest_lsn > proposed.last.base_lsn && !mutant("absence below the oldest LSN is lost") {
        return Finding::RetentionPassed;
    }
    if mutant("what is lost is repeated") { Finding::Repeat } else { Finding::Lost }
}
