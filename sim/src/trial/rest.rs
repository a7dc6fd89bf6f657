//! The end of a trial: faults stop and everything comes to rest.
use super::Program;
use super::step::{Move, Step};
use super::world::World;
use crate::action::How;
use crate::check::{Violation, ensure};

/// Rounds of wake-ups, answers and timers until the world rests.
const MAX_ROUNDS: usize = 1_000;
/// Rounds in a row in which nothing happened.
const QUIET_ROUNDS: usize = 2;
/// Answers and messages that one node may need in one round.
const MAX_NEWS: usize = 10_000;

/// Looks at the world after each of its moves.
pub(super) type Look<'a, P> = &'a dyn Fn(&World<P>) -> Result<(), Violation>;

impl<P: Program> World<P> {
    /// Ends all faults and lets everything come to rest; twice, because a stray request may never land, or land after
    /// the rest.
    pub(super) fn quiesce(&mut self, look: Look<'_, P>, at_rest: Look<'_, P>) -> Result<(), Violation> {
        self.rest(look)?;
        at_rest(self)?;
        while self.shared.bucket.strays() > 0 {
            self.move_on(Move::Land, 0)?;
            look(self)?;
        }
        self.rest(look)?;
        at_rest(self)?;
        self.shared.bucket.check_all()
    }

    fn rest(&mut self, look: Look<'_, P>) -> Result<(), Violation> {
        for node in 0..self.nodes.len() {
            self.nodes[node].fuse = super::node::Fuse::default();
            self.move_on(Move::Thaw, node)?;
            self.move_on(Move::Restart, node)?;
        }
        let (mut rounds, mut quiet) = (0, 0);
        while quiet < QUIET_ROUNDS {
            ensure(rounds < MAX_ROUNDS, "without faults the world comes to rest", || format!("{rounds} rounds"))?;
            rounds += 1;
            let mut is_quiet = true;
            for node in 0..self.nodes.len() {
                self.shared.is_busy = false;
                let has_ticked = self.settle(node)?;
                is_quiet &= !(has_ticked || self.shared.is_busy);
                look(self)?;
            }
            quiet = if is_quiet { quiet + 1 } else { 0 };
        }
        Ok(())
    }

    /// Wakes a node, gives it all it waits for, and lets its time pass; whether its machines had a reason to.
    fn settle(&mut self, node: usize) -> Result<bool, Violation> {
        self.move_on(Move::Wake, node)?;
        for news in 0.. {
            ensure(news < MAX_NEWS, "without faults the world comes to rest", || format!("node {node} never waits"))?;
            let message = self.shared.messages.iter().position(|message| message.to == node);
            if !self.nodes[node].machines.flights.is_empty() {
                self.answer(node, 0, How::Done)?;
            } else if let Some(position) = message {
                self.move_on(Move::Deliver, position)?;
            } else {
                break;
            }
        }
        self.move_on(Move::Tick, node)
    }

    fn move_on(&mut self, what: Move, subject: usize) -> Result<bool, Violation> {
        self.step(Step::Move { what, subject })
    }
}
