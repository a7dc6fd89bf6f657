//! What runs have exercised: a run that breaks no rule proves nothing about rules that never applied.
use crate::action::{How, Kind};
use crate::news::News;
use std::collections::BTreeMap;

/// How often each thing happened.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// By row of the rule book.
    pub rules: BTreeMap<&'static str, u64>,
    /// By kind of request and fate.
    pub fates: BTreeMap<(Kind, How), u64>,
    /// By what machines said.
    pub events: BTreeMap<&'static str, u64>,
}

/// Rows of the rule book (design, section 4) as far as writers and readers have them; each must be exercised.
pub const ROWS: &[&str] = &[
    "first attempt",
    "repeat",
    "rebase",
    "committed by read",
    "committed, then superseded",
    "retention passed",
    "lost after a doubt",
    "superseded without a doubt",
    "self-takeover begun",
    "self-takeover repeated",
    "self-takeover won",
    "self-takeover found by read",
    "committed by read in a self-takeover",
    "claim won",
    "claim found by read",
    "claim repeated",
    "claim rebuilt",
    "store proved",
    "commit paced",
    "cut by age",
    "batch too large",
    "create found its key taken",
    "aborted in doubt",
    "older head refused",
    "head gone",
    "head gone, commit in doubt",
    "a reader is told that the head is gone",
    "budget spent",
    "budget spent, commit in doubt",
    "races lost",
    "a read ran out of time",
    "initialised",
    "found initialised",
    "an initialiser gave up",
    "fetched",
    "fetch of what has expired",
    "fetch of what is not yet written",
    "found by time",
    "no record so late",
    "read from a time",
    "upload completed",
    "completion refused",
    "late request landed",
    "late request refused",
];

impl Stats {
    /// Counts what a step let happen.
    pub fn add(&mut self, news: &[News]) {
        for item in news {
            let event = match item {
                News::Rule(rule) => {
                    *self.rules.entry(rule).or_default() += 1;
                    continue;
                }
                News::Fate { kind, how, .. } => {
                    *self.fates.entry((*kind, *how)).or_default() += 1;
                    continue;
                }
                News::Reached { late, accepted, .. } => {
                    let row = if *accepted { "late request landed" } else { "late request refused" };
                    *self.rules.entry(row).or_default() += u64::from(*late);
                    continue;
                }
                News::Sent { .. } => "request sent",
                News::Accepted { .. } => "record accepted",
                News::Declined { .. } => "record declined",
                News::Opened { .. } => "writer opened",
                News::Renewed { .. } => "writer renewed",
                News::Committed { .. } => "commit reported",
                News::Closed { .. } => "writer closed",
                News::Halted { .. } => "writer halted",
                News::Asked { .. } => "read asked",
                News::Read { .. } => "read answered",
                News::ReadFailed { .. } => "read failed",
                News::Found { .. } => "record looked up",
                News::Initializing { .. } => "initialiser went on",
                News::Initialized { .. } => "initialiser done",
                News::InitializeFailed { .. } => "initialiser failed",
            };
            *self.events.entry(event).or_default() += 1;
        }
    }

    /// Adds the counts of other runs.
    pub fn merge(&mut self, other: &Self) {
        other.rules.iter().for_each(|(key, count)| *self.rules.entry(key).or_default() += count);
        other.fates.iter().for_each(|(key, count)| *self.fates.entry(*key).or_default() += count);
        other.events.iter().for_each(|(key, count)| *self.events.entry(key).or_default() += count);
    }

    /// Rows that were exercised fewer than `least` times.
    #[must_use]
    pub fn rows_below(&self, least: u64) -> Vec<(&'static str, u64)> {
        let count = |row: &&'static str| (*row, self.rules.get(row).copied().unwrap_or(0));
        ROWS.iter().map(count).filter(|(_, count)| *count < least).collect()
    }
}
