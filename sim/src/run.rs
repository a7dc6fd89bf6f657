//! Runs: from a seed, from any source of choices, or from a recording; and how a failing one is made small.
use crate::action::{Action, ActionError};
use crate::check::history::History;
use crate::check::{Violation, linear};
use crate::choice::{Choices, Random, Seeded};
use crate::news::News;
use crate::setup::{Knob, Setup, SetupError, Weights};
use crate::shrink::shortest;
use crate::world::World;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;
use twox_hash::XxHash64;

/// Steps between two comparisons of the whole log.
pub const FULL_CHECK_EVERY: u64 = 64;

/// A set-up and what happened: enough to live through the run again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// What the run begins with.
    pub setup: Setup,
    /// Its steps; those that are impossible when their turn comes are skipped.
    pub actions: Vec<Action>,
    /// Whether faults end after the last step and the world is brought to rest.
    pub quiesce: bool,
}

/// What came of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Steps done.
    pub steps: u64,
    /// Hash of everything that happened, in order.
    pub hash: u64,
    /// The broken rule, if one was.
    pub violation: Option<Violation>,
}

/// Looks on: step by step, what was done and what that let happen. The last news come without an action: they are of
/// the time after the faults.
pub type Watch<'a> = &'a mut dyn FnMut(Option<Action>, &[News]);

/// A run in progress.
struct Run<'a> {
    world: World,
    news: Vec<News>,
    hasher: XxHash64,
    steps: u64,
    history: History,
    watch: Watch<'a>,
}

impl<'a> Run<'a> {
    fn new(setup: Setup, watch: Watch<'a>) -> Result<Self, Violation> {
        Ok(Self {
            world: World::new(setup)?,
            news: Vec::new(),
            hasher: XxHash64::with_seed(0),
            steps: 0,
            history: History::default(),
            watch,
        })
    }

    fn step(&mut self, action: Action) -> Result<(), Violation> {
        self.news.clear();
        let result = self.world.step(action, &mut self.news);
        if result == Ok(false) {
            return Ok(());
        }
        self.steps += 1;
        self.publish(Some(action));
        result?;
        if self.steps.is_multiple_of(FULL_CHECK_EVERY) { self.world.check_all() } else { Ok(()) }
    }

    fn publish(&mut self, action: Option<Action>) {
        (action, &self.news).hash(&mut self.hasher);
        self.history.add(&self.news);
        (self.watch)(action, &self.news);
    }

    fn quiesce(&mut self) -> Result<(), Violation> {
        self.news.clear();
        let result = self.world.quiesce(&mut self.news);
        self.publish(None);
        result
    }

    /// What users saw must have an order, too, unless an operator had two histories told.
    fn end(self, result: Result<(), Violation>) -> Outcome {
        let is_one = !self.world.log().was_tampered_with();
        let result = result.and_then(|()| if is_one { linear::check(self.history.operations()) } else { Ok(()) });
        Outcome { steps: self.steps, hash: self.hasher.finish(), violation: result.err() }
    }
}

impl Recording {
    /// Lives through the run.
    pub fn replay(&self, watch: Watch<'_>) -> Outcome {
        let mut run = match Run::new(self.setup, watch) {
            Ok(run) => run,
            Err(violation) => return Outcome { steps: 0, hash: 0, violation: Some(violation) },
        };
        let mut result = self.actions.iter().try_for_each(|action| run.step(*action));
        if result.is_ok() && self.quiesce {
            result = run.quiesce();
        }
        run.end(result)
    }

    /// The world after the last step; no rest.
    ///
    /// # Errors
    /// A broken rule on the way.
    pub fn world(&self) -> Result<World, Violation> {
        let mut ignore = |_: Option<Action>, _: &[News]| {};
        let mut run = Run::new(self.setup, &mut ignore)?;
        self.actions.iter().try_for_each(|action| run.step(*action))?;
        Ok(run.world)
    }

    /// A run that breaks the same rule with as few steps as leaving steps out can reach (delta debugging).
    #[must_use]
    pub fn minimised(&self) -> Self {
        let Some(violation) = self.replay(&mut |_, _| {}).violation else { return self.clone() };
        let fails = |run: &Self| run.replay(&mut |_, _| {}).violation.is_some_and(|found| found.rule == violation.rule);
        let hasty = Self { quiesce: false, ..self.clone() };
        let best = if fails(&hasty) { hasty } else { self.clone() };
        let with = |actions: &[Action]| Self { actions: actions.to_vec(), ..best };
        with(&shortest(best.actions.clone(), |actions| fails(&with(actions))))
    }
}

/// Runs a world under `choices`, then brings it to rest; gives the recording too.
pub fn explore(setup: Setup, weights: &Weights, choices: &mut dyn Choices, watch: Watch<'_>) -> (Recording, Outcome) {
    let begin = Recording { setup, actions: Vec::new(), quiesce: true };
    explore_from(begin, weights, choices, watch)
}

/// [`explore`] from where a recorded run ends.
fn explore_from(
    begin: Recording,
    weights: &Weights,
    choices: &mut dyn Choices,
    watch: Watch<'_>,
) -> (Recording, Outcome) {
    let mut recording = Recording { quiesce: true, ..begin };
    let mut run = match Run::new(recording.setup, watch) {
        Ok(run) => run,
        Err(violation) => return (recording, Outcome { steps: 0, hash: 0, violation: Some(violation) }),
    };
    if let Err(violation) = recording.actions.iter().try_for_each(|action| run.step(*action)) {
        recording.quiesce = false;
        return (recording, run.end(Err(violation)));
    }
    let mut offers = Vec::new();
    let result = loop {
        offers.clear();
        run.world.offers(weights, &mut offers);
        let picked = choices.pick(&mut offers.iter().map(|(_, weight)| *weight));
        let Some((action, _)) = picked.and_then(|picked| offers.get(picked)) else { break run.quiesce() };
        recording.actions.push(*action);
        if let Err(violation) = run.step(*action) {
            recording.quiesce = false;
            break Err(violation);
        }
    };
    (recording, run.end(result))
}

/// A seeded run of `steps` steps, with a set-up and weights drawn from the same seed.
pub fn seeded(seed: u64, steps: u64, allowed: impl Fn(Knob) -> bool, watch: Watch<'_>) -> (Recording, Outcome) {
    let mut random = Random::new(seed);
    let setup = Setup::draw(&mut random);
    let weights = Weights::swarm(&mut random, allowed);
    explore(setup, &weights, &mut Seeded::new(random.next_u64(), steps), watch)
}

/// [`seeded`] from where a recorded run, the scenario, ends; its set-up counts.
pub fn seeded_from(
    scenario: &Recording,
    seed: u64,
    steps: u64,
    allowed: impl Fn(Knob) -> bool,
    watch: Watch<'_>,
) -> (Recording, Outcome) {
    let mut random = Random::new(seed);
    let weights = Weights::swarm(&mut random, allowed);
    explore_from(scenario.clone(), &weights, &mut Seeded::new(random.next_u64(), steps), watch)
}

impl fmt::Display for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "setup {}", self.setup)?;
        self.actions.iter().try_for_each(|action| writeln!(f, "{action}"))?;
        if self.quiesce { writeln!(f, "quiesce") } else { Ok(()) }
    }
}

/// A text that is no recording.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// It does not begin with a set-up.
    #[error("the first line is not `setup ...`")]
    NoSetup,
    /// Its set-up has a word that means nothing.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// A line is no action.
    #[error(transparent)]
    Action(#[from] ActionError),
}

impl FromStr for Recording {
    type Err = RecordingError;

    /// Empty lines and lines that begin with `#` mean nothing.
    fn from_str(text: &str) -> Result<Self, RecordingError> {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        let setup = lines.next().and_then(|line| line.strip_prefix("setup")).ok_or(RecordingError::NoSetup)?;
        let mut recording = Self { setup: setup.parse()?, actions: Vec::new(), quiesce: false };
        for line in lines {
            match line {
                "quiesce" => recording.quiesce = true,
                _ => recording.actions.push(line.parse()?),
            }
        }
        Ok(recording)
    }
}
