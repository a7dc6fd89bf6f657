//! What a log relies on.
use super::operation::Operation::{self, Create, Delete, DeleteMany, Get, List, ListUploads, Stat, Swap, Upload};

/// Who relies on a capability; each also relies on those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// Readers.
    Reading,
    /// Writers.
    Writing,
    /// Whoever deletes what no log needs any more.
    Upkeep,
}

impl Need {
    /// Stable name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reading => "reading",
            Self::Writing => "writing",
            Self::Upkeep => "upkeep",
        }
    }
}

/// Something that a log relies on.
#[derive(Debug, PartialEq, Eq)]
pub struct Capability {
    /// Stable name.
    pub name: &'static str,
    /// Who relies on it.
    pub need: Need,
    /// What happens to a log on a store without it.
    pub otherwise: &'static str,
    /// Whether a store may have no such operation at all; it must not have a broken one.
    pub is_optional: bool,
    /// Names of the [conformance](crate::store::conformance) checks that it takes.
    pub checks: &'static [&'static str],
    /// The operation that is examined.
    pub(super) operation: Operation,
}

/// All of them, in the order in which they are examined.
pub const CAPABILITIES: &[Capability] = &[
    Capability {
        name: "missing objects",
        need: Need::Reading,
        otherwise: "a log that does not exist can't be told from one that may not be read",
        is_optional: false,
        checks: &["missing-object-is-not-found"],
        operation: Get,
    },
    Capability {
        name: "range reads",
        need: Need::Reading,
        otherwise: "readers get other bytes than they asked for",
        is_optional: false,
        checks: &["ranges", "range-past-the-end-is-invalid", "max-len"],
        operation: Get,
    },
    Capability {
        name: "conditional reads",
        need: Need::Reading,
        otherwise: "a reader mixes two states of a head, or never sees that it changed",
        is_optional: false,
        checks: &["if-match", "if-none-match"],
        operation: Get,
    },
    Capability {
        name: "read after write",
        need: Need::Reading,
        otherwise: "readers miss what was committed, or see half of it",
        is_optional: false,
        checks: &["create-is-read-back", "create-concatenates-pieces", "reads-are-never-torn"],
        operation: Get,
    },
    Capability {
        name: "create if absent",
        need: Need::Writing,
        otherwise: "one writer's segment silently replaces another's",
        is_optional: false,
        checks: &["create-twice-is-refused"],
        operation: Create,
    },
    Capability {
        name: "racing creates",
        need: Need::Writing,
        otherwise: "two writers are told that they made the same object",
        is_optional: false,
        checks: &["racing-creates-have-one-winner"],
        operation: Create,
    },
    Capability {
        name: "compare and swap",
        need: Need::Writing,
        otherwise: "a fenced writer overwrites its successor's head, and committed records are lost",
        is_optional: false,
        checks: &["swap-absent", "swap-matches", "swap-with-stale-version-is-refused", "swap-of-missing-is-refused"],
        operation: Swap,
    },
    Capability {
        name: "racing swaps",
        need: Need::Writing,
        otherwise: "two writers both believe that they own the log, and committed records are lost",
        is_optional: false,
        checks: &["swap-races-have-one-winner"],
        operation: Swap,
    },
    Capability {
        name: "versions change",
        need: Need::Writing,
        otherwise: "a swap can't tell the state it was meant for from a later one",
        is_optional: false,
        checks: &["swap-changes-version"],
        operation: Swap,
    },
    Capability {
        name: "uploads in parts",
        need: Need::Writing,
        otherwise: "large segments go up in one request each, when their last block is sealed",
        is_optional: true,
        checks: &["upload-joins-parts-in-order", "upload-is-completed-once", "upload-is-gone-after-abort"],
        operation: Upload,
    },
    Capability {
        name: "stat",
        need: Need::Upkeep,
        otherwise: "sizes of objects can't be verified",
        is_optional: false,
        checks: &["stat"],
        operation: Stat,
    },
    Capability {
        name: "listing",
        need: Need::Upkeep,
        otherwise: "what no log needs any more can't be found, and costs space for ever",
        is_optional: false,
        checks: &["list-is-ascending", "list-prefix-is-text", "list-after", "list-pages", "list-tells-sizes"],
        operation: List,
    },
    Capability {
        name: "deletion",
        need: Need::Upkeep,
        otherwise: "what no log needs any more can't be deleted, and costs space for ever",
        is_optional: false,
        checks: &["delete-is-idempotent", "delete-frees-the-key"],
        operation: Delete,
    },
    Capability {
        name: "bulk deletion",
        need: Need::Upkeep,
        otherwise: "every deletion is a request of its own",
        is_optional: true,
        checks: &["delete-many"],
        operation: DeleteMany,
    },
    Capability {
        name: "listing of uploads",
        need: Need::Upkeep,
        otherwise: "uploads of writers that were killed can't be found, and cost space until a lifecycle rule ends them",
        is_optional: true,
        checks: &["list-uploads-is-ascending", "list-uploads-prefix-is-text"],
        operation: ListUploads,
    },
];
