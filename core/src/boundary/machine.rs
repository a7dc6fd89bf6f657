//! The driving contract.
use super::{Command, Completion, MonoTime, Now};

/// Everything that a driver needs to know about a state machine.
///
/// Any order of the four methods is legal and extra calls change nothing. After a call of the machine's own methods, a
/// completion, or the deadline, a driver polls commands until `None` and then events until `None`. Commands in flight
/// and the bytes they hold are bounded by the machine's options.
pub trait Machine {
    /// What the caller of the machine is told.
    type Event;

    /// Records one answer. Decides nothing, never fails; an answer that comes twice or too late is counted and ignored.
    fn complete(&mut self, now: Now, completion: Completion);

    /// Decides what to do next; `None` when nothing is to be done before an answer, a call, or the deadline.
    fn poll_command(&mut self, now: Now) -> Option<Command>;

    /// Takes one piece of news for the caller.
    fn poll_event(&mut self) -> Option<Self::Event>;

    /// [`Machine::poll_command`] should be called again at the latest then.
    fn deadline(&self) -> Option<MonoTime>;
}
