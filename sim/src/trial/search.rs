//! Trials: what is tried, which rules hold, and the search for a run that breaks one.
use super::Program;
use super::failure::{Failure, SEED, current_test};
use super::io::Io;
use super::journal::Journal;
use super::perils::{Doses, Peril};
use super::recording::TrialRecording;
use super::step::Step;
use super::world::{Start, World};
use crate::check::Violation;
use crate::choice::{Choices, Random, Seeded};
use crate::setup::Setup;
use crate::shrink::shortest;
use bucketlog_core::reader::ReaderOptions;
use bucketlog_core::writer::{TimestampPolicy, WriterOptions};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// Steps of a run before it is brought to rest, by default.
const STEPS: u64 = 400;
/// The rule that a panic breaks.
const PANICS: &str = "a program does not panic";

type Check<P> = Box<dyn Fn(&World<P>) -> Result<(), String>>;

/// A rule with its name.
struct Rule<P: Program> {
    name: &'static str,
    check: Check<P>,
}

/// Programs to try, and the rules that they must keep.
pub struct Trial<P: Program> {
    nodes: usize,
    start: Start<P>,
    always: Vec<Rule<P>>,
    at_rest: Vec<Rule<P>>,
    steps: u64,
    left_out: Vec<Peril>,
    writer: Option<WriterOptions>,
    reader: Option<ReaderOptions>,
}

/// What runs without a broken rule have gone through: rules that hold where nothing happened prove nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Runs.
    pub runs: u64,
    /// Steps of all runs, without those on the way to rest.
    pub steps: u64,
    /// How often each kind of step was done, by its word in recordings: `crash`, `lost`, `deliver` ...
    pub counts: BTreeMap<&'static str, u64>,
}

/// What came of a run.
struct Outcome {
    violation: Option<Violation>,
    hash: u64,
    trace: String,
}

impl<P: Program> Trial<P> {
    /// `nodes` nodes, numbered from 0, whose programs begin with `start`: at first, and again after every crash. What
    /// differs between nodes, and what a program reads back from its disk, is decided there.
    pub fn new(nodes: usize, start: impl Fn(usize, &mut Io<'_, P>) -> P + 'static) -> Self {
        Self {
            nodes,
            start: Rc::new(start),
            always: Vec::new(),
            at_rest: Vec::new(),
            steps: STEPS,
            left_out: Vec::new(),
            writer: None,
            reader: None,
        }
    }

    /// A rule that holds after every step.
    #[must_use]
    pub fn always(mut self, name: &'static str, check: impl Fn(&World<P>) -> Result<(), String> + 'static) -> Self {
        self.always.push(Rule { name, check: Box::new(check) });
        self
    }

    /// A rule that holds once faults have ended, every node runs, everybody was woken often enough and nobody has
    /// anything left to do.
    #[must_use]
    pub fn at_rest(mut self, name: &'static str, check: impl Fn(&World<P>) -> Result<(), String> + 'static) -> Self {
        self.at_rest.push(Rule { name, check: Box::new(check) });
        self
    }

    /// Steps of a run before it is brought to rest; by default 400.
    #[must_use]
    pub fn steps(mut self, steps: u64) -> Self {
        self.steps = steps;
        self
    }

    /// Leaves a fault out: a fate of requests ([`How`](crate::action::How)) or a [`Move`](super::Move).
    #[must_use]
    pub fn without(mut self, peril: impl Into<Peril>) -> Self {
        self.left_out.push(peril.into());
        self
    }

    /// Options of all writers. By default each run draws some that are small, so that little work reaches many states,
    /// and that never give up.
    #[must_use]
    pub fn writer_options(mut self, options: WriterOptions) -> Self {
        self.writer = Some(options);
        self
    }

    /// Options of all readers; see [`Trial::writer_options`].
    #[must_use]
    pub fn reader_options(mut self, options: ReaderOptions) -> Self {
        self.reader = Some(options);
        self
    }

    /// Lives through the runs of `seeds`, for use in a test. With `BUCKETLOG_SEED` in the environment it is that seed
    /// alone, and everything that happens is printed.
    ///
    /// # Panics
    /// If a rule is broken, with the seed, a short run that does so, and what to type; and if `BUCKETLOG_SEED` is no
    /// number.
    #[expect(clippy::must_use_candidate, reason = "its point is to panic")]
    pub fn run(&self, seeds: Range<u64>) -> Tally {
        let seeds = std::env::var(SEED).map_or(seeds, |text| {
            let seed = text.parse().unwrap_or_else(|_| panic!("{SEED} must be a number, and is {text:?}"));
            println!("{}", self.trace(seed));
            seed..seed + 1
        });
        self.search(seeds).unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Lives through the runs of `seeds` until one breaks a rule.
    ///
    /// # Errors
    /// That run, made short.
    pub fn search(&self, seeds: Range<u64>) -> Result<Tally, Box<Failure>> {
        let mut tally = Tally::default();
        for seed in seeds.clone() {
            let (recording, outcome) = self.explore(seed);
            if let Some(violation) = outcome.violation {
                return Err(self.failure(Some(seed), &violation, recording));
            }
            if seed == seeds.start && self.live(&recording, false).hash != outcome.hash {
                let violation = Violation::new("the same choices give the same run", "two runs of one seed differ");
                return Err(self.failure(Some(seed), &violation, recording));
            }
            tally.add(&recording);
        }
        Ok(tally)
    }

    /// Lives through a recorded run: keep the one that a [`Failure`] shows, so that it stays fixed.
    ///
    /// # Errors
    /// The run, made short, if it breaks a rule.
    pub fn replay(&self, recording: &TrialRecording) -> Result<(), Box<Failure>> {
        match self.live(recording, false).violation {
            Some(violation) => Err(self.failure(None, &violation, recording.clone())),
            None => Ok(()),
        }
    }

    /// Everything that happens in the run of a seed.
    #[must_use]
    pub fn trace(&self, seed: u64) -> String {
        self.live(&self.explore(seed).0, true).trace
    }

    fn explore(&self, seed: u64) -> (TrialRecording, Outcome) {
        let mut random = Random::new(seed);
        let processes = u8::try_from(self.nodes).unwrap_or(u8::MAX);
        // A program's writers have no budget that ends, nor a pace: what it waits for would be the options', not its own.
        let setup = Setup { processes, appends: 0, temper: 0, haste: 0, ..Setup::draw(&mut random) };
        let doses = Doses::draw(&mut random, &self.left_out);
        let mut choices = Seeded::new(random.next_u64(), self.steps);
        let mut recording = TrialRecording { setup, steps: Vec::new(), quiesce: true };
        let mut offers = Vec::new();
        let mut next = |world: &World<P>| {
            offers.clear();
            world.offers(&doses, &mut offers);
            let picked = choices.pick(&mut offers.iter().map(|(_, weight)| *weight))?;
            offers.get(picked).map(|(step, _)| *step)
        };
        let mut steps = Vec::new();
        let outcome = self.go(setup, true, false, &mut |world| next(world).inspect(|step| steps.push(*step)));
        recording.steps = steps;
        (recording, outcome)
    }

    fn live(&self, recording: &TrialRecording, keeps_lines: bool) -> Outcome {
        let mut steps = recording.steps.iter().copied();
        self.go(recording.setup, recording.quiesce, keeps_lines, &mut |_| steps.next())
    }

    fn go(
        &self,
        setup: Setup,
        quiesce: bool,
        keeps_lines: bool,
        next: &mut dyn FnMut(&World<P>) -> Option<Step>,
    ) -> Outcome {
        let mut trace = format!("setup {setup}\n");
        let writer = WriterOptions { timestamps: TimestampPolicy::Clamp, ..setup.writer() };
        let options = (self.writer.clone().unwrap_or(writer), self.reader.clone().unwrap_or_else(|| setup.reader()));
        let made = World::new(self.nodes, Rc::clone(&self.start), setup, options, Journal::new(keeps_lines));
        let mut world = match made {
            Ok(world) => world,
            Err(violation) => return Outcome { violation: Some(violation), hash: 0, trace },
        };
        let result = guarded(|| self.go_on(&mut world, quiesce, next));
        let hash = world.shared.journal.hash();
        for line in world.shared.journal.into_lines() {
            // Writing to a string can't fail.
            let _ = writeln!(trace, "{line}");
        }
        Outcome { violation: result.err(), hash, trace }
    }

    fn go_on(
        &self,
        world: &mut World<P>,
        quiesce: bool,
        next: &mut dyn FnMut(&World<P>) -> Option<Step>,
    ) -> Result<(), Violation> {
        world.start_all()?;
        broken(&self.always, world)?;
        while let Some(step) = next(world) {
            world.shared.journal.heading(format_args!("{step}"));
            world.step(step)?;
            broken(&self.always, world)?;
        }
        if quiesce {
            world.shared.journal.heading(format_args!("quiesce"));
            world.quiesce(&|world| broken(&self.always, world), &|world| broken(&self.at_rest, world))?;
        }
        Ok(())
    }

    fn failure(&self, seed: Option<u64>, violation: &Violation, recording: TrialRecording) -> Box<Failure> {
        let steps = recording.steps.len();
        let recording = self.minimised(recording, violation.rule);
        let again = self.live(&recording, true);
        let violation = again.violation.unwrap_or_else(|| {
            let detail = format!("{violation}; but not when the run was repeated");
            Violation::new("the same choices give the same run", detail)
        });
        Box::new(Failure { seed, violation, recording, steps, trace: again.trace, test: current_test() })
    }

    /// A panic prints what it has to say each time: such a run is left as it is.
    fn minimised(&self, recording: TrialRecording, rule: &str) -> TrialRecording {
        let fails = |run: &TrialRecording| self.live(run, false).violation.is_some_and(|found| found.rule == rule);
        if rule == PANICS || !fails(&recording) {
            return recording;
        }
        let hasty = TrialRecording { quiesce: false, ..recording.clone() };
        let best = if fails(&hasty) { hasty } else { recording };
        let with = |steps: &[Step]| TrialRecording { steps: steps.to_vec(), ..best };
        with(&shortest(best.steps.clone(), |steps| fails(&with(steps))))
    }
}

impl<P: Program> fmt::Debug for Trial<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = |rules: &[Rule<P>]| rules.iter().map(|rule| rule.name).collect::<Vec<_>>();
        f.debug_struct("Trial")
            .field("nodes", &self.nodes)
            .field("always", &names(&self.always))
            .field("at_rest", &names(&self.at_rest))
            .field("left_out", &self.left_out)
            .finish_non_exhaustive()
    }
}

impl Tally {
    fn add(&mut self, recording: &TrialRecording) {
        self.runs += 1;
        self.steps += recording.steps.len() as u64;
        for step in &recording.steps {
            let word = match step {
                Step::Answer { how, .. } => how.word(),
                Step::Move { what, .. } => what.word(),
            };
            *self.counts.entry(word).or_default() += 1;
        }
    }

    /// How often a kind of step was done.
    #[must_use]
    pub fn count(&self, word: &str) -> u64 {
        self.counts.get(word).copied().unwrap_or(0)
    }
}

/// The first of the rules that does not hold.
fn broken<P: Program>(rules: &[Rule<P>], world: &World<P>) -> Result<(), Violation> {
    rules.iter().try_for_each(|rule| (rule.check)(world).map_err(|detail| Violation::new(rule.name, detail)))
}

/// Makes a panic of the program a broken rule, so that its seed is told. The world is only looked at afterwards.
fn guarded(run: impl FnOnce() -> Result<(), Violation>) -> Result<(), Violation> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| Err(Violation::new(PANICS, message(&*panic))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
