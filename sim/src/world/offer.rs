//! What may happen next.
use super::World;
use crate::action::{Action, Call, How, Kind, Turn};
use crate::process::Role;
use crate::setup::{Knob, Weights};
use crate::store::Versions;
use bucketlog_core::boundary::Command;

/// Readers alive at the same time.
const MAX_READERS: usize = 2;
/// Initialisers, living or done.
const MAX_INITIALIZERS: usize = 2;
/// Turns that concern no process that is there.
const STARTS_AND_HANDS: [Turn; 8] = [
    Turn::StartWriter,
    Turn::StartReader,
    Turn::StartInitializer,
    Turn::Touch,
    Turn::RivalTrim,
    Turn::Restore,
    Turn::Delete,
    Turn::ExpireUploads,
];
/// Times that a rival from elsewhere takes the log over.
const MAX_RIVALS: u8 = 8;

impl World {
    /// Every action that is possible now and has weight, with its weight.
    pub fn offers(&self, weights: &Weights, offers: &mut Vec<(Action, u32)>) {
        let is_unborn = self.log.head().is_none();
        let is_lonely = !self.sites.iter().any(|site| site.role.can_write());
        let mut offer = |action: Action, knob: Knob| {
            let boost = match knob {
                Knob::Turn(Turn::StartWriter) if is_lonely => 20,
                Knob::Turn(Turn::StartInitializer) if is_unborn => 10,
                _ => 1,
            };
            let weight = weights.of(knob) * boost;
            if weight > 0 {
                offers.push((action, weight));
            }
        };
        for (site, found) in (0..).zip(&self.sites) {
            if !found.frozen {
                let mut call = |call: Call| offer(Action::Call { call, site }, Knob::Call(call));
                found.role.offers(self.setup.appends, &mut call);
            }
            let mut seen = [0_u8; Kind::ALL.len()];
            for (position, flight) in found.flights.iter().enumerate() {
                let nth = seen[flight.kind as usize];
                seen[flight.kind as usize] += 1;
                for how in How::ALL.iter().copied().filter(|how| self.may_answer(site, position, *how)) {
                    // A request that nobody waits for is as good as a stray one.
                    let knob = if flight.given_up { Knob::Turn(Turn::Land) } else { Knob::How(how) };
                    offer(Action::Answer { site, kind: flight.kind, nth, how }, knob);
                }
            }
            for turn in [Turn::Tick, Turn::Crash, Turn::Freeze, Turn::Thaw, Turn::ClockBack, Turn::ClockAhead] {
                if weights.of(Knob::Turn(turn)) > 0 && self.may_turn(turn, site) {
                    offer(Action::Turn { turn, subject: site }, Knob::Turn(turn));
                }
            }
        }
        for subject in (0..).take(self.strays.len()) {
            offer(Action::Turn { turn: Turn::Land, subject }, Knob::Turn(Turn::Land));
        }
        for turn in STARTS_AND_HANDS {
            if self.may_turn(turn, 0) {
                offer(Action::Turn { turn, subject: 0 }, Knob::Turn(turn));
            }
        }
    }

    /// Position of the `nth` request of a kind, counted from the oldest.
    pub(super) fn position(&self, site: u8, kind: Kind, nth: u8) -> Option<usize> {
        let flights = self.sites.get(usize::from(site))?.flights.iter().enumerate();
        flights.filter(|(_, flight)| flight.kind == kind).map(|(position, _)| position).nth(nth.into())
    }

    pub(super) fn may_answer(&self, site: u8, position: usize, how: How) -> bool {
        let flight = &self.sites[usize::from(site)].flights[position];
        let is_write = flight.kind.is_write();
        match how {
            How::Done => true,
            How::Dropped => is_write,
            _ if flight.given_up => false,
            How::Lost | How::NotSent | How::Throttled | How::RetryAfter => true,
            How::Astray | How::Conflict | How::Mute => is_write,
            How::ServerError => self.would_refuse(&flight.command),
            How::Short | How::Flipped => flight.kind == Kind::Get,
        }
    }

    fn would_refuse(&self, command: &Command) -> bool {
        match command {
            Command::Swap(op) => self.store.would_refuse(&op.request().key, &op.request().condition),
            Command::Create(op) => self.store.object(op.request().key.as_str()).is_some(),
            Command::CompleteUpload(op) => self.store.object(op.request().key.as_str()).is_some(),
            _ => false,
        }
    }

    pub(super) fn may_turn(&self, turn: Turn, subject: u8) -> bool {
        let site = self.sites.get(usize::from(subject)).filter(|site| !site.is_gone());
        match turn {
            Turn::Land => usize::from(subject) < self.strays.len(),
            Turn::Tick => site.is_some_and(|site| !site.frozen && site.role.deadline().is_some()),
            Turn::StartWriter => self.sites.len() < self.setup.processes.into(),
            Turn::StartReader => {
                let readers = self.sites.iter().filter(|site| matches!(site.role, Role::Reader(_))).count();
                readers < MAX_READERS && self.sites.len() < self.setup.processes.into()
            }
            Turn::StartInitializer => {
                let others = self.sites.iter().filter(|site| matches!(site.role, Role::Initializer(_))).count();
                others < MAX_INITIALIZERS && self.sites.len() < self.setup.processes.into()
            }
            Turn::Crash => site.is_some(),
            Turn::ExpireUploads => self.store.has_uploads(),
            Turn::Freeze | Turn::ClockBack | Turn::ClockAhead => site.is_some_and(|site| !site.frozen),
            Turn::Thaw => site.is_some_and(|site| site.frozen),
            Turn::Touch => self.setup.versions == Versions::Unique && self.log.head().is_some(),
            Turn::RivalTrim => self.rivals < MAX_RIVALS && self.log.head().is_some(),
            // As for a restored head; and once is enough. A swap that the store must refuse because there is a head, for
            // a proof, puts one there where it was deleted meanwhile; nobody can guard against that.
            Turn::Delete => {
                let is_safe = self.setup.versions == Versions::Unique && !self.setup.proves_store();
                is_safe && !self.log.was_deleted() && self.log.head().is_some()
            }
            // Content-hash versions would revive tokens that are dead by now; nobody can guard against that.
            Turn::Restore => {
                let is_unique = self.setup.versions == Versions::Unique;
                is_unique && !self.log.was_restored() && self.log.previous().is_some()
            }
        }
    }

    pub(super) fn is_writer(&self, site: u8) -> bool {
        matches!(self.sites[usize::from(site)].role, Role::Writer(_))
    }
}
