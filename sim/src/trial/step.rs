//! What can happen in one step of a trial, as data with a text form.
use crate::action::{How, Kind, named};
use std::fmt;
use std::str::FromStr;

named! {
    /// What the world does by itself; the number after the word is a node, or the position of a message or of a stray
    /// request.
    Move {
        /// A node wakes up, a second later.
        Wake = "wake",
        /// Time passes for a node until its machines have something to do.
        Tick = "tick",
        /// A message arrives.
        Deliver = "deliver",
        /// A message arrives, and will arrive again.
        Repeat = "repeat",
        /// A message is lost.
        Lose = "lose",
        /// A stray request lands.
        Land = "land",
        /// A node dies; its requests go astray.
        Crash = "crash",
        /// A node will die just before its next effect (something kept, or a message sent); once more, and it lives for
        /// one effect longer.
        Fuse = "fuse",
        /// A dead node starts again from its disk.
        Restart = "restart",
        /// A node stands still: nothing happens on it, and messages wait.
        Freeze = "freeze",
        /// A node that stood still goes on, an hour later.
        Thaw = "thaw",
        /// The wall clock of a node steps back by a minute.
        ClockBack = "clock-back",
        /// The wall clock of a node steps ahead by a minute.
        ClockAhead = "clock-ahead",
    }
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The fate of a request in flight is decided.
    Answer {
        /// The node whose request it is.
        node: usize,
        /// Its kind.
        kind: Kind,
        /// Which of the node's requests of that kind, counted from the oldest.
        nth: usize,
        /// Its fate.
        how: How,
    },
    /// The world moves.
    Move {
        /// How.
        what: Move,
        /// The node, message or stray request concerned.
        subject: usize,
    },
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { node, kind, nth, how } => write!(f, "answer {node} {kind}.{nth} {how}"),
            Self::Move { what, subject } => write!(f, "{what} {subject}"),
        }
    }
}

/// A line that is no step.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line:?} is no step")]
pub struct StepError {
    line: String,
}

impl FromStr for Step {
    type Err = StepError;

    fn from_str(line: &str) -> Result<Self, StepError> {
        parse(line).ok_or_else(|| StepError { line: line.to_owned() })
    }
}

fn parse(line: &str) -> Option<Step> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["answer", node, request, how] => {
            let (kind, nth) = request.split_once('.')?;
            let (kind, nth) = (Kind::from_word(kind)?, nth.parse().ok()?);
            Some(Step::Answer { node: node.parse().ok()?, kind, nth, how: How::from_word(how)? })
        }
        [word, subject] => Some(Step::Move { what: Move::from_word(word)?, subject: subject.parse().ok()? }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_survives_its_text() {
        let moves = Move::ALL.iter().map(|what| Step::Move { what: *what, subject: 4 });
        let answers = How::ALL.iter().zip(Kind::ALL.iter().cycle());
        let answers = answers.map(|(how, kind)| Step::Answer { node: 1, kind: *kind, nth: 2, how: *how });
        for step in moves.chain(answers) {
            assert_eq!(step.to_string().parse(), Ok(step));
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for line in ["", "wake", "wake x", "append 0", "answer 0 swap done", "answer 0 swap.0", "land 1 2"] {
            assert!(line.parse::<Step>().is_err(), "{line}");
        }
    }
}
