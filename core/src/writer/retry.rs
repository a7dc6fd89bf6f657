//! When a step that failed is tried again, and when the writer gives up.
use super::Writer;
use crate::boundary::{Fault, Key, MonoTime, Now};
use crate::mutant::mutant;
use crate::writer::event::HaltCause;

/// The failures of one step: a claim, an upload, a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Failures {
    count: u32,
    first: MonoTime,
}

impl Writer {
    /// When to try again after `fault`. `None`: the store refused for good or the budget is spent, and the writer halted.
    pub(super) fn retry(
        &mut self,
        now: Now,
        failures: &mut Failures,
        (operation, key): (&'static str, &Key),
        fault: Fault,
    ) -> Option<MonoTime> {
        if fault.is_final() {
            self.halt(HaltCause::Refused { operation, key: key.as_str().into(), fault });
            return None;
        }
        self.persist(now, failures, (operation, key), fault)
    }

    /// The same where even a final refusal settles nothing, because an earlier attempt is in doubt.
    pub(super) fn persist(
        &mut self,
        now: Now,
        failures: &mut Failures,
        (operation, key): (&'static str, &Key),
        fault: Fault,
    ) -> Option<MonoTime> {
        if failures.count == 0 {
            failures.first = now.mono;
        }
        failures.count = failures.count.saturating_add(1);
        if now.mono.since(failures.first) >= self.options.budget || mutant("the first failure is the last") {
            let (attempts, key) = (failures.count, key.as_str().into());
            self.halt(HaltCause::Unreachable { operation, key, attempts, fault });
            return None;
        }
        let delay = self.options.backoff.delay(failures.count, &fault, &mut self.entropy);
        // However long the store asks to wait, the last attempt is made when the budget ends.
        Some(now.mono.after(delay).min(failures.first.after(self.options.budget)))
    }
}
