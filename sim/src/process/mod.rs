//! The processes of a world: each runs one shipped machine, and checks what it says against the log.
//!
//! A new kind of process is a file here, a variant of [`Role`], and a [`crate::action::Turn`] that starts it.
pub(crate) mod initializer;
mod lookup;
pub(crate) mod reader;
pub(crate) mod writer;

use crate::action::{Call, Kind};
use crate::check::Violation;
use crate::check::log::Log;
use crate::news::News;
use crate::setup::Setup;
use bucketlog_core::boundary::{Command, Completion, Machine, MonoTime, Now};
use bucketlog_core::ids::{Generation, WriterId};
use bucketlog_core::writer::Status;
use initializer::InitializerProcess;
use reader::ReaderProcess;
use writer::WriterProcess;

/// What happened to a process that excuses behaviour which would be wrong otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Excuses {
    /// A swap of its ended without a clear answer.
    pub doubt: bool,
    /// It was handed damaged bytes.
    pub damage: bool,
    /// An older head was put back after it had seen a newer one.
    pub estranged: bool,
    /// Highest generation that it was told of.
    pub seen: Option<Generation>,
    /// Where budgets end: what kept it from what it asked for.
    pub hardship: Hardship,
}

/// What kept a process from what it asked for; a budget that ends without enough of it ended for no reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hardship {
    /// Requests refused, lost or unanswered.
    pub times: u32,
    /// The first.
    pub since: Option<MonoTime>,
}

impl Hardship {
    pub(crate) fn add(&mut self, now: MonoTime) {
        self.times += 1;
        self.since.get_or_insert(now);
    }
}

/// What a process may look at and add to.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) site: u8,
    pub(crate) now: Now,
    pub(crate) log: &'a mut Log,
    pub(crate) news: &'a mut Vec<News>,
    pub(crate) excuses: Excuses,
    pub(crate) setup: Setup,
}

/// A process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::large_enum_variant, reason = "a world holds few of them")]
pub(crate) enum Role {
    Writer(WriterProcess),
    Reader(ReaderProcess),
    Initializer(InitializerProcess),
    /// It crashed.
    Gone,
}

/// Calls the same method of whatever runs; nothing happens where nothing runs.
macro_rules! each {
    ($role:expr, $process:ident => $call:expr, gone => $gone:expr) => {
        match $role {
            Role::Writer($process) => $call,
            Role::Reader($process) => $call,
            Role::Initializer($process) => $call,
            Role::Gone => $gone,
        }
    };
}

impl Role {
    pub(crate) fn writer_id(&self) -> Option<WriterId> {
        match self {
            Self::Writer(process) => Some(process.machine.writer_id()),
            Self::Reader(_) | Self::Initializer(_) | Self::Gone => None,
        }
    }

    /// Second requests that it made.
    pub(crate) fn hedges(&self) -> u64 {
        match self {
            Self::Writer(process) => process.machine.stats().hedges,
            Self::Reader(process) => process.machine.hedges(),
            Self::Initializer(_) | Self::Gone => 0,
        }
    }

    /// Whether it is a writer whose claim holds.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Writer(process) if matches!(process.machine.status(), Status::Open { .. } | Status::Closing))
    }

    /// Whether it is a writer that has not come to its end.
    pub(crate) fn can_write(&self) -> bool {
        match self {
            Self::Writer(process) => !matches!(process.machine.status(), Status::Closed | Status::Halted(_)),
            Self::Reader(_) | Self::Initializer(_) | Self::Gone => false,
        }
    }

    pub(crate) fn poll_command(&mut self, now: Now) -> Option<Command> {
        each!(self, process => process.machine.poll_command(now), gone => None)
    }

    pub(crate) fn complete(&mut self, now: Now, completion: Completion) {
        each!(self, process => process.machine.complete(now, completion), gone => ());
    }

    pub(crate) fn deadline(&self) -> Option<MonoTime> {
        each!(self, process => process.machine.deadline(), gone => None)
    }

    /// Calls that its user may make now.
    pub(crate) fn offers(&self, appends: u8, offer: &mut dyn FnMut(Call)) {
        match self {
            Self::Writer(process) => process.offers(appends, offer),
            Self::Reader(process) => process.offers(offer),
            Self::Initializer(_) | Self::Gone => {}
        }
    }

    pub(crate) fn call(&mut self, call: Call, context: &mut Context<'_>) -> Result<(), Violation> {
        match self {
            Self::Writer(process) => process.call(call, context)?,
            Self::Reader(process) => process.call(call, context),
            Self::Initializer(_) | Self::Gone => {}
        }
        Ok(())
    }

    /// It sent a request.
    pub(crate) fn sent(&mut self, command: &Command, context: &mut Context<'_>) -> Result<(), Violation> {
        match self {
            Self::Writer(process) => process.sent(command, context),
            Self::Reader(_) => ReaderProcess::sent(command),
            Self::Initializer(process) => process.sent(command, context),
            Self::Gone => Ok(()),
        }
    }

    /// It is about to learn the answer to a request of this kind.
    pub(crate) fn answered(&mut self, kind: Kind) {
        if let Self::Writer(process) = self {
            process.answered(kind);
        }
    }

    /// Looks at what it has to say.
    pub(crate) fn digest(&mut self, context: &mut Context<'_>) -> Result<(), Violation> {
        each!(self, process => process.digest(context), gone => Ok(()))
    }

    /// It has all the time and answers it could want: nothing may be left undone.
    pub(crate) fn check_rest(&self, excuses: Excuses) -> Result<(), Violation> {
        each!(self, process => process.check_rest(excuses), gone => Ok(()))
    }
}

/// Whether things went wrong for as long, and as often, as one says who gives up. A swap without a clear answer
/// counts twice for it: when it gets none, and when the head turns out to be unchanged.
fn has_failed_enough(attempts: u32, since: Option<MonoTime>, context: &Context<'_>) -> bool {
    let times = context.excuses.hardship.times;
    let budget = context.setup.writer().budget;
    2 * times >= attempts && since.is_some_and(|since| context.now.mono.since(since) >= budget)
}
