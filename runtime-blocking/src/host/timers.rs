//! When which machine is to be polled again.
use super::HostId;
use super::pool::Driven;
use crate::sync::{Arc, Weak};
use bucketlog_core::boundary::MonoTime;
use std::collections::BTreeMap;

/// Deadlines, earliest first. A machine that nobody holds any more is forgotten.
#[derive(Default)]
pub(super) struct Timers(BTreeMap<(MonoTime, HostId), Weak<dyn Driven>>);

impl Timers {
    /// Sets a deadline of `host`, in place of the one it had.
    pub(super) fn set(&mut self, host: HostId, due: MonoTime, instead_of: Option<MonoTime>, driven: Weak<dyn Driven>) {
        if let Some(old) = instead_of {
            self.0.remove(&(old, host));
        }
        self.0.insert((due, host), driven);
    }

    pub(super) fn earliest(&self) -> Option<MonoTime> {
        self.0.first_key_value().map(|((due, _), _)| *due)
    }

    /// Takes a machine whose deadline has come.
    pub(super) fn take_due(&mut self, now: MonoTime) -> Option<Arc<dyn Driven>> {
        while self.earliest()? <= now {
            let (_, driven) = self.0.pop_first()?;
            if let Some(driven) = driven.upgrade() {
                return Some(driven);
            }
        }
        None
    }
}
