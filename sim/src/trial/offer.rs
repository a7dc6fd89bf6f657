//! What may happen next in a trial.
use super::Program;
use super::node::Node;
use super::perils::Doses;
use super::step::{Move, Step};
use super::world::World;
use crate::action::{How, Kind};

const OF_NODES: [Move; 9] = [
    Move::Wake,
    Move::Tick,
    Move::Crash,
    Move::Fuse,
    Move::Restart,
    Move::Freeze,
    Move::Thaw,
    Move::ClockBack,
    Move::ClockAhead,
];

impl<P: Program> World<P> {
    /// Every step that is possible now and has weight, with its weight.
    pub(super) fn offers(&self, doses: &Doses, offers: &mut Vec<(Step, u32)>) {
        for node in 0..self.nodes.len() {
            self.offer_answers(node, doses, offers);
            for what in OF_NODES {
                self.offer_move(what, node, doses, offers);
            }
        }
        for position in 0..self.shared.messages.len() {
            for what in [Move::Deliver, Move::Repeat, Move::Lose] {
                self.offer_move(what, position, doses, offers);
            }
        }
        for position in 0..self.shared.bucket.strays() {
            self.offer_move(Move::Land, position, doses, offers);
        }
    }

    fn offer_move(&self, what: Move, subject: usize, doses: &Doses, offers: &mut Vec<(Step, u32)>) {
        let weight = doses.of(what.into());
        if weight > 0 && self.may_move(what, subject) {
            offers.push((Step::Move { what, subject }, weight));
        }
    }

    fn offer_answers(&self, node: usize, doses: &Doses, offers: &mut Vec<(Step, u32)>) {
        let mut seen = [0; Kind::ALL.len()];
        for (position, flight) in self.nodes[node].machines.flights.iter().enumerate() {
            let (kind, nth) = (flight.kind, seen[flight.kind as usize]);
            seen[kind as usize] += 1;
            for how in How::ALL.iter().copied() {
                // A request that nobody waits for is as good as a stray one.
                let weight = doses.of(if flight.given_up { Move::Land.into() } else { how.into() });
                if weight > 0 && self.may_answer(node, position, how) {
                    offers.push((Step::Answer { node, kind, nth, how }, weight));
                }
            }
        }
    }

    pub(super) fn may_answer(&self, node: usize, position: usize, how: How) -> bool {
        let flight = &self.nodes[node].machines.flights[position];
        let is_write = flight.kind.is_write();
        match how {
            How::Done => true,
            How::Dropped => is_write,
            _ if flight.given_up => false,
            How::Lost | How::NotSent | How::Throttled | How::RetryAfter => true,
            How::Astray | How::Conflict | How::Mute => is_write,
            How::ServerError => self.shared.bucket.would_refuse(&flight.command),
            How::Short | How::Flipped => flight.kind == Kind::Get,
        }
    }

    pub(super) fn may_move(&self, what: Move, subject: usize) -> bool {
        let node = self.nodes.get(subject);
        let is_awake = node.is_some_and(Node::is_awake);
        match what {
            Move::Wake | Move::Fuse | Move::Freeze | Move::ClockBack | Move::ClockAhead => is_awake,
            Move::Tick => is_awake && node.is_some_and(|node| node.machines.deadline().is_some()),
            Move::Crash => node.is_some_and(|node| node.program.is_some()),
            Move::Restart => node.is_some_and(|node| node.program.is_none()),
            Move::Thaw => node.is_some_and(|node| node.is_frozen),
            Move::Lose => subject < self.shared.messages.len(),
            // Messages wait for a node that stands still; those to a dead one are lost.
            Move::Deliver | Move::Repeat => {
                let message = self.shared.messages.get(subject);
                message.is_some_and(|message| !self.nodes[message.to].is_frozen)
            }
            Move::Land => subject < self.shared.bucket.strays(),
        }
    }
}
