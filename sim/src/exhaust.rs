//! Every run of a few steps from a prepared state; states that were seen before are not gone through again.
use crate::action::Action;
use crate::check::Violation;
use crate::run::Recording;
use crate::setup::Weights;
use crate::world::World;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use twox_hash::XxHash64;

/// What a search has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Distinct states.
    pub states: u64,
    /// Steps done.
    pub steps: u64,
    /// States that were brought to rest and checked there.
    pub rests: u64,
    /// Whether the search ended before it had seen everything.
    pub is_cut: bool,
    /// The first run that broke a rule.
    pub failure: Option<(Recording, Violation)>,
}

/// A depth-first search.
#[derive(Debug)]
struct Search<'a> {
    weights: &'a Weights,
    max_states: u64,
    /// Steps that were left when a state was last gone through; states by their 64-bit hash.
    seen: HashMap<u64, u32>,
    path: Recording,
    report: Report,
}

/// Goes through every run of at most `depth` steps that begins with `prefix`; every step of positive weight is taken.
/// Each state at full depth, and each without a next step, is also brought to rest. Stops after `max_states`.
#[must_use]
pub fn exhaust(prefix: &Recording, weights: &Weights, depth: u32, max_states: u64) -> Report {
    let path = Recording { quiesce: false, ..prefix.clone() };
    let mut search = Search { weights, max_states, seen: HashMap::new(), path, report: Report::default() };
    let result = search.path.world().and_then(|world| search.visit(&world, depth));
    let mut report = search.report;
    report.failure = result.err().map(|violation| (search.path, violation));
    report
}

impl Search<'_> {
    fn visit(&mut self, world: &World, left: u32) -> Result<(), Violation> {
        if !self.is_new(world, left) {
            return Ok(());
        }
        let mut offers = Vec::new();
        if left > 0 {
            world.offers(self.weights, &mut offers);
        }
        if offers.is_empty() {
            return self.rest(world);
        }
        for (action, _) in offers {
            let mut next = world.clone();
            self.path.actions.push(action);
            self.step(&mut next, action)?;
            self.visit(&next, left - 1)?;
            self.path.actions.pop();
        }
        Ok(())
    }

    fn step(&mut self, world: &mut World, action: Action) -> Result<(), Violation> {
        self.report.steps += 1;
        world.step(action, &mut Vec::new())?;
        Ok(())
    }

    /// Whether the state was never gone through with that many steps left.
    fn is_new(&mut self, world: &World, left: u32) -> bool {
        if self.report.states >= self.max_states {
            self.report.is_cut = true;
            return false;
        }
        let mut hasher = XxHash64::with_seed(0);
        world.hash(&mut hasher);
        match self.seen.insert(hasher.finish(), left) {
            None => {
                self.report.states += 1;
                true
            }
            Some(before) if before < left => true,
            Some(before) => {
                self.seen.insert(hasher.finish(), before);
                false
            }
        }
    }

    fn rest(&mut self, world: &World) -> Result<(), Violation> {
        self.report.rests += 1;
        self.path.quiesce = true;
        world.clone().quiesce(&mut Vec::new())?;
        self.path.quiesce = false;
        Ok(())
    }
}
