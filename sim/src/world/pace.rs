//! Whether a process asks no faster than it may.
use super::Flight;
use super::answer::is_throttle;
use crate::action::{How, Kind};
use crate::check::{Violation, ensure};
use crate::process::reader::MAX_CALLS;
use crate::setup::{MAX_AHEAD, Setup};
use bucketlog_core::boundary::{Command, Key, MonoTime};
use std::time::Duration;

/// Least distance of two swaps of one head after a throttle.
const DISTANCE: Duration = Duration::from_millis(64);

/// What a process has sent and was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Pace {
    /// Reads and creates.
    sent: u64,
    /// When the head was swapped last, and whether that followed a throttle.
    swapped: Option<(MonoTime, bool)>,
    swap_throttled: bool,
    /// A create was throttled, and none has succeeded since.
    create_throttled: bool,
}

impl Pace {
    /// Checks a request that is about to join those in flight.
    pub(super) fn send(
        &mut self,
        (kind, about): (Kind, &Key),
        hedges: u64,
        flights: &[Flight],
        setup: Setup,
    ) -> Result<(), Violation> {
        let others = || flights.iter().filter(|flight| !flight.given_up && flight.kind == kind);
        if matches!(kind, Kind::Get | Kind::Create) {
            self.sent += 1;
            let share = setup.hedge().map_or(0, |policy| u64::from(policy.percent));
            let firsts = self.sent - hedges.min(self.sent);
            ensure(hedges * 100 <= firsts * share, "second requests stay within their share", || about)?;
        }
        if kind == Kind::Get && setup.hedge().is_none() && about.as_str().ends_with(".plseg") {
            let awaited = MAX_CALLS - 1;
            let others = others().filter(|flight| is_segment(flight)).count();
            ensure(others <= MAX_AHEAD + awaited, "what is loaded ahead is bounded", || about)?;
        }
        // With twins, throttles of before a success may come after it.
        if kind == Kind::Create && setup.hedge().is_none() && about.as_str().ends_with(".plseg") {
            let is_alone = !others().any(is_segment);
            ensure(is_alone || !self.create_throttled, "who is throttled stores one segment after the other", || {
                about
            })?;
        }
        Ok(())
    }

    /// Checks a swap of the head by a writer that has opened.
    pub(super) fn swap(&mut self, now: MonoTime) -> Result<(), Violation> {
        let keeps_distance = self.swapped.is_none_or(|(last, slow)| !slow || now.since(last) >= DISTANCE);
        ensure(keeps_distance, "a head that was throttled is swapped more slowly", || "")?;
        self.swapped = Some((now, std::mem::take(&mut self.swap_throttled)));
        Ok(())
    }

    /// A process learns what became of its request.
    pub(super) fn told(&mut self, kind: Kind, is_segment: bool, how: How, is_good: bool) {
        let is_throttled = is_throttle(how);
        match kind {
            Kind::Swap => self.swap_throttled |= is_throttled,
            Kind::Create if is_segment && is_throttled => self.create_throttled = true,
            Kind::Create if is_segment && is_good => self.create_throttled = false,
            _ => {}
        }
    }
}

pub(super) fn is_segment(flight: &Flight) -> bool {
    match &flight.command {
        Command::Get(op) => op.request().key.as_str().ends_with(".plseg"),
        Command::Create(op) => op.request().key.as_str().ends_with(".plseg"),
        _ => false,
    }
}
