//! How a head shrinks: retention (objlog protocol 9, formats 9.3 to 9.5).
use super::entry::{Entry, PageRef};
use super::head::Head;
use super::page::{Page, PageEntries, Seal, SealedPage};
use super::tree::TreeError;
use crate::format::FormatError;
use crate::ids::{Epoch, Lsn};
use std::sync::Arc;

/// Result of one attempt to trim the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "made once per retention request and taken apart at once")]
pub enum Trim {
    /// This page must be known first; ask again with it.
    NeedPage(PageRef),
    /// The head to commit.
    Done {
        /// The new head, one generation on.
        head: Head,
        /// The rewritten pages, child first; to be stored before the head.
        pages: Vec<SealedPage>,
    },
    /// Exact repeat of what the head already applied.
    Unchanged,
}

/// Why a retention request can't be applied.
#[derive(Clone, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TrimError {
    /// The request is older than what the head applied, or asks for less.
    #[error(
        "retention version {version} before LSN {before_lsn} goes back behind version {applied_version} before LSN {applied_lsn}"
    )]
    Regression {
        /// The head's policy version.
        applied_version: u64,
        /// The head's boundary.
        applied_lsn: Lsn,
        /// The request's policy version.
        version: u64,
        /// The request's boundary, at most the head's next LSN.
        before_lsn: Lsn,
    },
    /// Policy versions start at 1.
    #[error("the retention policy version is 0")]
    ZeroVersion,
    /// The head can't change any more.
    #[error(transparent)]
    Tree(#[from] TreeError),
    /// A page is not the one its parent refers to.
    #[error("a page of the catalog is corrupt: {0}")]
    Corrupt(FormatError),
}

/// The head without what lies wholly below `before_lsn`; the segment that contains it is kept.
///
/// `pages` looks pages up that were already loaded: at most one per level is asked for, from the root down. A request
/// past the head's end is cut to its next LSN and drops everything; the last segment stays on record. A higher policy
/// version always makes a new head, even where the boundary does not move.
///
/// # Errors
/// See [`TrimError`].
pub fn trim(
    head: &Head,
    policy_version: u64,
    before_lsn: Lsn,
    pages: &dyn Fn(&PageRef) -> Option<Arc<Page>>,
) -> Result<Trim, TrimError> {
    let before_lsn = before_lsn.min(head.next_lsn);
    if is_repeat(head, policy_version, before_lsn)? {
        return Ok(Trim::Unchanged);
    }
    let mut trimmed = Head {
        generation: head.next_generation()?,
        applied_retention_version: policy_version,
        applied_retention_lsn: before_lsn,
        ..head.clone()
    };
    let mut cutter = Cutter { seal: trimmed.seal(), before_lsn, pages, sealed: Vec::new() };
    match cutter.cut_roots(&mut trimmed) {
        Ok(()) => Ok(Trim::Done { head: trimmed, pages: cutter.sealed }),
        Err(Stop::NeedPage(reference)) => Ok(Trim::NeedPage(reference)),
        Err(Stop::Corrupt(error)) => Err(TrimError::Corrupt(error)),
    }
}

/// Whether the head already says exactly this; an error when it says more.
fn is_repeat(head: &Head, version: u64, before_lsn: Lsn) -> Result<bool, TrimError> {
    let (applied_version, applied_lsn) = (head.applied_retention_version, head.applied_retention_lsn);
    if version == 0 {
        return Err(TrimError::ZeroVersion);
    }
    if (version, before_lsn) == (applied_version, applied_lsn) {
        return Ok(true);
    }
    if version <= applied_version || before_lsn < applied_lsn {
        return Err(TrimError::Regression { applied_version, applied_lsn, version, before_lsn });
    }
    Ok(false)
}

/// Why a cut can't be finished yet, or at all.
#[derive(Debug)]
enum Stop {
    NeedPage(PageRef),
    Corrupt(FormatError),
}

/// Drops what ends below a boundary, and rewrites the one page per level that straddles it.
struct Cutter<'a> {
    seal: Seal,
    before_lsn: Lsn,
    pages: &'a dyn Fn(&PageRef) -> Option<Arc<Page>>,
    sealed: Vec<SealedPage>,
}

impl Cutter<'_> {
    fn cut_roots(&mut self, head: &mut Head) -> Result<(), Stop> {
        for section in head.sections.iter_mut().rev() {
            section.drain(..self.below(section));
            self.cut_first(section, head.writer_epoch)?;
            if !section.is_empty() {
                break;
            }
        }
        head.active.drain(..self.below(&head.active));
        while head.sections.last().is_some_and(Vec::is_empty) {
            head.sections.pop();
        }
        let roots = head.covered();
        head.oldest_lsn = roots.map_or(head.next_lsn, |roots| roots.seq_lo);
        head.reachable_segment_count = roots.map_or(0, |roots| roots.segment_count);
        Ok(())
    }

    /// Replaces the first of a node's references by its cut page, where the page straddles the boundary.
    fn cut_first(&mut self, references: &mut [PageRef], node_epoch: Epoch) -> Result<(), Stop> {
        match references.first_mut() {
            Some(first) if first.seq_lo < self.before_lsn => {
                *first = self.cut_page(first, node_epoch)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The reference to what is left of a page; the same one when its first segment holds the boundary. The depth of
    /// the recursion is the page's level, which falls with every step: [`Page::check`] compares it.
    fn cut_page(&mut self, reference: &PageRef, node_epoch: Epoch) -> Result<PageRef, Stop> {
        let page = (self.pages)(reference).ok_or(Stop::NeedPage(*reference))?;
        page.check(reference, node_epoch, &self.seal.identity).map_err(Stop::Corrupt)?;
        let sealed = match &page.entries {
            PageEntries::Leaf(segments) => {
                let kept = self.kept(segments);
                if kept.len() == segments.len() {
                    return Ok(*reference);
                }
                self.seal.page(reference.level, kept)
            }
            PageEntries::Index(references) => {
                let mut kept = self.kept(references).to_vec();
                self.cut_first(&mut kept, page.writer_epoch)?;
                if kept == *references {
                    return Ok(*reference);
                }
                self.seal.page(reference.level, &kept)
            }
        };
        let rewritten = sealed.reference;
        self.sealed.push(sealed);
        Ok(rewritten)
    }

    /// How many entries end below the boundary.
    fn below<E: Entry>(&self, entries: &[E]) -> usize {
        entries.partition_point(|entry| entry.span().seq_hi < self.before_lsn)
    }

    fn kept<'e, E: Entry>(&self, entries: &'e [E]) -> &'e [E] {
        entries.get(self.below(entries)..).unwrap_or_default()
    }
}
