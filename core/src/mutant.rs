//! Broken variants of the protocol at its decision points, for tests of the tests: a checker that lets one of them pass
//! is missing something. Without the hidden feature `mutants` nothing is left of them.

/// Whether the broken variant of this name is switched on.
#[cfg(not(feature = "mutants"))]
#[inline]
pub(crate) const fn mutant(_name: &str) -> bool {
    false
}

#[cfg(feature = "mutants")]
pub(crate) use switch::mutant;
#[cfg(feature = "mutants")]
pub use switch::{MUTANTS, switch_on};

#[cfg(feature = "mutants")]
mod switch {
    use std::cell::Cell;

    thread_local! {
        static ON: Cell<&'static str> = const { Cell::new("") };
    }

    /// Names of all of them.
    pub const MUTANTS: &[&str] = &[
        "equality instead of containment",
        "absence below the oldest LSN is lost",
        "a changed token is repeated",
        "an indeterminate answer is success",
        "a 412 is a lost fence",
        "propose anew without reading",
        "a doubt is forgotten",
        "a 409 settles earlier attempts",
        "committed, and the fence is overlooked",
        "commit on a rival's head",
        "a claim does not name its writer",
        "a claim keeps the epoch",
        "a claim is recognised by its epoch alone",
        "pages after the head",
        "a lost create is stored",
        "a 409 on create means stored",
        "an older head is accepted",
        "a halt knows of no doubt",
        "a halt doubts what was never sent",
        "a timeout means not sent",
        "a reader takes an older head",
        "a latest read is served from the cache",
        "a claim lost is taken for won",
        "a claim without an answer is taken for won",
        "an opened writer begins at LSN 0",
        "a halt proves what is only accepted",
        "a writer closes before everything is committed",
        "acknowledged before the swap",
        "a group counts as one generation",
        "a self-takeover keeps the epoch",
        "a self-takeover drops the last segment",
        "a rebase forgets the new token",
        "a proof below a page is not looked for",
        "any head tells the version",
        "a self-takeover keeps the old addresses",
        "a definite refusal is doubted",
        "a commit acknowledges what comes after it",
        "any other head is built on",
        "every head that was read holds the proposal",
        "what is lost is repeated",
        "a segment that was not sent is stored",
        "a throttled create is stored",
        "segments name the first epoch",
        "acknowledged at the upload",
        "a lost page is stored",
        "a refused page is stored",
        "an LSN is given twice",
        "timestamps may go back",
        "the first failure is the last",
        "what has expired is not yet written",
        "a claim skips an epoch",
        "a claim forgets the last segment",
        "a claim keeps the generation",
        "a claim won without a version is not remembered",
        "a commit keeps the generation",
        "a commit raises the epoch",
        "a group counts one segment too many",
        "a group counts one segment too few",
        "a self-takeover names somebody else",
        "a rival's claim is taken for a self-takeover",
        "a read begins one record late",
        "a read gives a record twice",
        "heads of one generation are not compared",
        "Retry-After is ignored",
        "a deleted head is created again",
        "the budget of tries ends at the first",
        "a 412 is a head of ours",
        "an initialiser that gives up has no doubt",
        "an initialiser creates a deleted head again",
        "every head that is found was created by this call",
        "a fetch trusts the head it has",
        "fetch returns the neighbour",
        "a search by time ends one block early",
        "the proof of the store is believed without asking",
        "commits do not keep their distance",
        "an old batch waits",
        "a throttle never slows the head",
        "the window never narrows",
        "second requests have no bound",
        "looking ahead has no bound",
        "an upload completes without the parts that miss",
        "parts are completed in reverse",
        "a lost completion is stored",
        "the completion of a vanished upload is stored",
        "a 409 on completion means stored",
        "a takeover is folded with an append",
        "a negative read is final",
        "a log that was begun anew is a rival's",
        "half a batch is committed",
        "a refused batch leaves a record",
    ];

    /// Switches one variant on for this thread, and every other one off; an empty name switches all off.
    pub fn switch_on(name: &'static str) {
        ON.set(name);
    }

    pub(crate) fn mutant(name: &str) -> bool {
        debug_assert!(MUTANTS.contains(&name), "{name} is not listed");
        ON.get() == name
    }
}
