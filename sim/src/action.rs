//! What can happen in one step, as data with a text form: a recorded run is a list of these lines.
use std::fmt;
use std::str::FromStr;

macro_rules! named { ($($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* })*) => { $(
    $(#[$doc])*
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum $name { $($(#[$variant_doc])* $variant,)* }

    impl $name {
        /// All of them, in the order of their numbers.
        pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

        /// The word that stands for it in a recorded run.
        #[must_use]
        pub fn word(self) -> &'static str {
            match self { $(Self::$variant => $text,)* }
        }

        /// The one that `word` stands for.
        #[must_use]
        pub fn from_word(word: &str) -> Option<Self> {
            match word { $($text => Some(Self::$variant),)* _ => None }
        }
    }

    impl fmt::Display for $name {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.word()) }
    }
)* } }
pub(crate) use named;

named! {
    /// What the user of a process asks of it.
    Call {
        /// A writer takes one record.
        Append = "append",
        /// A writer takes two or three records, all or nothing.
        Batch = "batch",
        /// A writer cuts what it has.
        Cut = "cut",
        /// A writer is told that somebody waits for all it has accepted.
        Want = "want",
        /// A writer ends gracefully.
        Close = "close",
        /// A writer ends at once.
        Abort = "abort",
        /// A reader reads on from where it is, on the tail.
        Read = "read",
        /// A reader reads on under a head that is read anew.
        Latest = "latest",
        /// A reader reads on under whatever head it has.
        Cached = "cached",
        /// A reader fetches one record, near or beyond the ends of the log.
        Fetch = "fetch",
        /// A reader looks up the first record at or after a time.
        FindTime = "find-time",
        /// A reader reads from the first record at or after a time.
        ReadTime = "read-time",
    }

    /// What becomes of a request.
    How {
        /// Executed and answered.
        Done = "done",
        /// Executed, but the answer is lost: the sender knows nothing.
        Lost = "lost",
        /// The sender is told that nothing is known; the request may land at any later step.
        Astray = "astray",
        /// The store loses its nerve over a request that it would refuse: status 500.
        ServerError = "500",
        /// It never left.
        NotSent = "not-sent",
        /// Refused as 409.
        Conflict = "409",
        /// Refused as 503 without a hint.
        Throttled = "503",
        /// Refused as 429 with Retry-After of 2 s.
        RetryAfter = "429",
        /// Executed, but nobody ever tells the sender anything.
        Mute = "mute",
        /// Nobody ever tells the sender anything; the request may land at any later step.
        Dropped = "dropped",
        /// A read gives fewer bytes than were there.
        Short = "short",
        /// A read gives a flipped bit.
        Flipped = "flipped",
    }

    /// What the world does by itself; the number after the word is a process, or for `land` a stray request.
    Turn {
        /// A stray request lands.
        Land = "land",
        /// Time passes for a process until something is due.
        Tick = "tick",
        /// A writer starts.
        StartWriter = "start-writer",
        /// A reader starts.
        StartReader = "start-reader",
        /// Somebody begins to create the partition at a chosen LSN.
        StartInitializer = "start-initializer",
        /// A process dies; its requests go astray.
        Crash = "crash",
        /// A process stands still.
        Freeze = "freeze",
        /// A process that stood still goes on, an hour later.
        Thaw = "thaw",
        /// The wall clock of a process steps back by a minute.
        ClockBack = "clock-back",
        /// The wall clock of a process steps ahead by a minute.
        ClockAhead = "clock-ahead",
        /// An operator copies the head onto itself: same bytes, and where versions are unique a new version.
        Touch = "touch",
        /// A rival from elsewhere takes the log over and applies retention to half of it.
        RivalTrim = "rival-trim",
        /// An operator puts the previous head back.
        Restore = "restore",
        /// An operator deletes the head.
        Delete = "delete-head",
        /// A lifecycle rule throws every unfinished upload away.
        ExpireUploads = "expire-uploads",
    }

    /// The kind of a request.
    Kind {
        /// A read.
        Get = "get",
        /// A stat.
        Stat = "stat",
        /// A listing.
        List = "list",
        /// A deletion.
        Delete = "delete",
        /// The storing of an immutable object.
        Create = "create",
        /// A compare-and-swap.
        Swap = "swap",
        /// The beginning of an upload in parts.
        Begin = "begin",
        /// The storing of one part.
        Part = "part",
        /// The completion of an upload.
        Complete = "complete",
        /// The throwing away of an upload.
        AbortUpload = "abort-upload",
    }
}

impl Kind {
    /// Whether it may change the bucket.
    #[must_use]
    pub fn is_write(self) -> bool {
        !matches!(self, Self::Get | Self::Stat | Self::List)
    }
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// The user of a process asks something.
    Call {
        /// What.
        call: Call,
        /// Of which process.
        site: u8,
    },
    /// The fate of a request in flight is decided.
    Answer {
        /// Whose request.
        site: u8,
        /// Of which kind.
        kind: Kind,
        /// Which of those, counted from the oldest.
        nth: u8,
        /// Its fate.
        how: How,
    },
    /// The world moves.
    Turn {
        /// How.
        turn: Turn,
        /// The process or stray request concerned, where that means anything.
        subject: u8,
    },
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call { call, site } => write!(f, "{call} {site}"),
            Self::Answer { site, kind, nth, how } => write!(f, "answer {site} {kind}.{nth} {how}"),
            Self::Turn { turn, subject } => write!(f, "{turn} {subject}"),
        }
    }
}

/// A line that is no action.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line:?} is no action")]
pub struct ActionError {
    line: String,
}

impl FromStr for Action {
    type Err = ActionError;

    fn from_str(line: &str) -> Result<Self, ActionError> {
        parse(line).ok_or_else(|| ActionError { line: line.to_owned() })
    }
}

fn parse(line: &str) -> Option<Action> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["answer", site, op, how] => {
            let (kind, nth) = op.split_once('.')?;
            let (kind, nth) = (Kind::from_word(kind)?, nth.parse().ok()?);
            Some(Action::Answer { site: site.parse().ok()?, kind, nth, how: How::from_word(how)? })
        }
        [word, subject] => {
            let subject = subject.parse().ok()?;
            let call = Call::from_word(word).map(|call| Action::Call { call, site: subject });
            call.or_else(|| Turn::from_word(word).map(|turn| Action::Turn { turn, subject }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_survives_its_text() {
        let calls = Call::ALL.iter().map(|call| Action::Call { call: *call, site: 3 });
        let turns = Turn::ALL.iter().map(|turn| Action::Turn { turn: *turn, subject: 4 });
        let answers = How::ALL.iter().zip(Kind::ALL.iter().cycle());
        let answers = answers.map(|(how, kind)| Action::Answer { site: 1, kind: *kind, nth: 2, how: *how });
        for action in calls.chain(turns).chain(answers) {
            assert_eq!(action.to_string().parse(), Ok(action));
        }
    }

    #[test]
    fn other_lines_are_refused() {
        for line in ["", "append", "append x", "answer 0 swap done", "answer 0 swap.0", "sing 3", "land 1 2"] {
            assert!(line.parse::<Action>().is_err(), "{line}");
        }
    }
}
