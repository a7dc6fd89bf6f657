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
