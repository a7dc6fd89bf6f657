//! What a head tells of a proposal whose fate is not known: the publish rules of design 4, in their order.
use crate::boundary::Version;
use crate::format::catalog::{Head, PageRef, SegmentEntry, Step};
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

/// Applies the rules to a head found at `token`; `step` is how far the tree was followed towards the base of the
/// proposal's last segment.
pub(super) fn classify(found: &Head, token: &Version, step: Step, proposed: Proposed<'_>) -> Finding {
    let is_ours = |entry: &SegmentEntry| entry == proposed.last;
    if found.last_segment.as_ref().is_some_and(is_ours) || mutant("every head that was read holds the proposal") {
        return Finding::Committed;
    }
    match step {
        Step::Segment(entry) if is_ours(&entry) && !mutant("equality instead of containment") => {
            return Finding::Committed;
        }
        Step::Page(page) => return Finding::NeedPage(page),
        Step::Segment(_) | Step::Missing => {}
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
