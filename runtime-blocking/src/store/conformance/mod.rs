//! What every store must do, as checks that the author of a store can run against it.
//!
//! ```
//! use bucketlog_blocking::store::{Memory, conformance};
//!
//! let report = conformance::check(&Memory::new(), "conformance");
//! assert!(report.passed(), "{report}");
//! ```
mod bulk;
mod case;
mod listings;
mod races;
mod reads;
mod uploads;
mod writes;

use super::Store;
use case::Case;
use std::fmt;

type Run = fn(&Case<'_>) -> Result<(), String>;

/// Name, and what is checked under it. Names are stable; new ones may come.
const CHECKS: &[(&str, Run)] = &[
    ("create-is-read-back", writes::create_is_read_back),
    ("create-concatenates-pieces", writes::create_concatenates_pieces),
    ("create-twice-is-refused", writes::create_twice_is_refused),
    ("swap-absent", writes::swap_absent),
    ("swap-matches", writes::swap_matches),
    ("swap-with-stale-version-is-refused", writes::swap_with_stale_version_is_refused),
    ("swap-of-missing-is-refused", writes::swap_of_missing_is_refused),
    ("swap-changes-version", writes::swap_changes_version),
    ("delete-is-idempotent", writes::delete_is_idempotent),
    ("delete-frees-the-key", writes::delete_frees_the_key),
    ("zero-length-objects", writes::zero_length_objects),
    ("odd-keys", writes::odd_keys),
    ("missing-object-is-not-found", reads::missing_object_is_not_found),
    ("ranges", reads::ranges),
    ("range-past-the-end-is-invalid", reads::range_past_the_end_is_invalid),
    ("max-len", reads::max_len),
    ("if-match", reads::if_match),
    ("if-none-match", reads::if_none_match),
    ("stat", reads::stat),
    ("list-is-ascending", listings::list_is_ascending),
    ("list-prefix-is-text", listings::list_prefix_is_text),
    ("list-after", listings::list_after),
    ("list-pages", listings::list_pages),
    ("list-tells-sizes", listings::list_tells_sizes),
    ("delete-many", bulk::delete_many),
    ("delete-many-of-a-thousand", bulk::delete_many_of_a_thousand),
    ("delete-many-of-none", bulk::delete_many_of_none),
    ("upload-joins-parts-in-order", uploads::upload_joins_parts_in_order),
    ("upload-part-is-replaced", uploads::upload_part_is_replaced),
    ("upload-with-replaced-tag-is-refused", uploads::upload_with_replaced_tag_is_refused),
    ("upload-with-wrong-tags-is-refused", uploads::upload_with_wrong_tags_is_refused),
    ("upload-is-completed-once", uploads::upload_is_completed_once),
    ("upload-onto-an-existing-key", uploads::upload_onto_an_existing_key),
    ("upload-abort-is-idempotent", uploads::upload_abort_is_idempotent),
    ("upload-is-gone-after-abort", uploads::upload_is_gone_after_abort),
    ("list-uploads-is-ascending", uploads::list_uploads_is_ascending),
    ("list-uploads-prefix-is-text", uploads::list_uploads_prefix_is_text),
    ("list-uploads-pages", uploads::list_uploads_pages),
    ("racing-creates-have-one-winner", races::racing_creates_have_one_winner),
    ("racing-swaps-lose-no-update", races::racing_swaps_lose_no_update),
    ("swap-races-have-one-winner", races::swap_races_have_one_winner),
    ("reads-are-never-torn", races::reads_are_never_torn),
];

/// Runs every check on objects below `prefix`, which should hold none yet and is not cleaned up, but for uploads.
///
/// Races use 16 threads at once. Every request has 30 s; a store that answers within them needs a few hundred
/// requests' time in all. Answers that the contract leaves open pass in either form: a swap of a missing object may be
/// `NotFound` or `Precondition`, the loser of a race `Precondition` or `Conflict`, a suffix of an empty object the empty
/// body or `Invalid`; an upload may replace an object, as some stores do not look at the condition, and be completed
/// again without effect.
pub fn check(store: &dyn Store, prefix: &str) -> Report {
    check_racing(store, prefix, Races::default())
}

/// [`check`] with other races, for a store that is slow where writers contend.
pub fn check_racing(store: &dyn Store, prefix: &str, races: Races) -> Report {
    let suite = Suite { store, prefix, races };
    Report { checks: CHECKS.iter().map(|check| suite.run(check).0).collect() }
}

#[cfg(test)]
pub(super) fn is_check(name: &str) -> bool {
    CHECKS.iter().any(|(known, _)| *known == name)
}

/// How hard stores are raced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Races {
    /// Threads at once, each with a request of its own under way; at least 2. Default 16.
    pub racers: usize,
    /// How often they race; at least 1. Default 8.
    pub rounds: usize,
}

impl Default for Races {
    fn default() -> Self {
        Self { racers: 16, rounds: 8 }
    }
}

/// The checks on one store.
pub(super) struct Suite<'a> {
    pub(super) store: &'a dyn Store,
    pub(super) prefix: &'a str,
    pub(super) races: Races,
}

impl Suite<'_> {
    /// Runs a check by name and deletes what it wrote, as far as the store lets it.
    pub(super) fn run_and_clean(&self, name: &str) -> Option<Check> {
        let (check, case) = CHECKS.iter().find(|(known, _)| *known == name).map(|check| self.run(check))?;
        case.clean();
        Some(check)
    }

    fn run(&self, &(name, run): &(&'static str, Run)) -> (Check, Case<'_>) {
        let case = Case::new(self.store, &format!("{}/{name}", self.prefix), self.races);
        let failure = run(&case).err();
        let skipped = case.lacks_uploads();
        case.end_uploads();
        (Check { name, failure: failure.filter(|_| !skipped), skipped }, case)
    }
}

/// What [`check`] found.
#[must_use = "a store that fails a check loses or tears data"]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Every check that ran, in order.
    pub checks: Vec<Check>,
}

/// One check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// Which.
    pub name: &'static str,
    /// What was expected and what came instead; `None` if the store passed.
    pub failure: Option<String>,
    /// Whether nothing was checked, as the store takes whole objects only; this is no failure.
    pub skipped: bool,
}

impl Report {
    /// Whether the store did everything right.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.failures().next().is_none()
    }

    /// Names and messages of the checks that failed.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.checks.iter().filter_map(|check| Some((check.name, check.failure.as_deref()?)))
    }
}

impl fmt::Display for Report {
    /// One line per failed check and one with the counts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, message) in self.failures() {
            writeln!(f, "{name}: {message}")?;
        }
        write!(f, "{} of {} checks failed", self.failures().count(), self.checks.len())?;
        match self.checks.iter().filter(|check| check.skipped).count() {
            0 => Ok(()),
            skipped => write!(f, ", {skipped} skipped: the store takes whole objects only"),
        }
    }
}
