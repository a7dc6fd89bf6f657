//! Hands from outside: operators, and rivals that are not simulated step by step.
use super::World;
use crate::action::Turn;
use crate::check::Violation;
use crate::check::log::Author;
use bucketlog_core::format::catalog::{Head, Page, Trim, trim};
use bucketlog_core::ids::{Lsn, PageId, WriterId};
use std::collections::BTreeMap;
use std::sync::Arc;

impl World {
    pub(super) fn meddle(&mut self, turn: Turn) -> Result<(), Violation> {
        match turn {
            Turn::Touch => {
                let bytes = self.log.bytes().clone();
                self.store.put(self.keys.head(), bytes);
                self.log.touched();
                self.hamper_all();
                Ok(())
            }
            Turn::Delete => {
                self.delete();
                Ok(())
            }
            Turn::Restore => self.restore(),
            _ => self.rival_trim(),
        }
    }

    /// Whoever has seen the head knows a history that is over.
    fn delete(&mut self) {
        self.store.remove(self.keys.head());
        self.log.deleted();
        for site in &mut self.sites {
            site.excuses.estranged |= site.excuses.seen.is_some();
        }
    }

    /// An operator's hand costs every writer an attempt.
    fn hamper_all(&mut self) {
        if self.setup.budgets_end() {
            self.sites.iter_mut().for_each(|site| site.excuses.hardship.add(site.now.mono));
        }
    }

    fn restore(&mut self) -> Result<(), Violation> {
        let Some(bytes) = self.log.previous().cloned() else { return Ok(()) };
        self.store.put(self.keys.head(), bytes.clone());
        let generation = self.log.restored(bytes)?;
        for site in &mut self.sites {
            site.excuses.estranged |= site.excuses.seen > Some(generation);
        }
        Ok(())
    }

    /// A rival claims the log and drops all that is there; every second one only the older half.
    fn rival_trim(&mut self) -> Result<(), Violation> {
        let Some(head) = self.log.head() else { return Ok(()) };
        self.rivals += 1;
        let impossible = |error: &dyn std::fmt::Display| Violation::new("a rival can trim the log", error.to_string());
        let claimed = head.takeover(WriterId([0xf0 | self.rivals; 16])).map_err(|error| impossible(&error))?;
        self.put_head(&claimed)?;
        let (oldest, next) = (claimed.oldest_lsn.0, claimed.next_lsn.0);
        let before = if self.rivals % 2 == 1 { next } else { oldest + (next - oldest) / 2 };
        let version = claimed.applied_retention_version + 1;
        let mut known: BTreeMap<PageId, Arc<Page>> = BTreeMap::new();
        loop {
            let step = trim(&claimed, version, Lsn(before), &|page| known.get(&page.page_id).cloned());
            match step.map_err(|error| impossible(&error))? {
                Trim::NeedPage(reference) => {
                    let (body, _) = self
                        .store
                        .object(&self.keys.page(&reference))
                        .ok_or_else(|| impossible(&"a page is missing"))?;
                    let page = Page::decode(body).map_err(|error| impossible(&error))?;
                    known.insert(reference.page_id, Arc::new(page));
                }
                Trim::Done { head, pages } => {
                    for page in pages {
                        self.store.put(&self.keys.page(&page.reference), page.bytes);
                    }
                    return self.put_head(&head);
                }
                Trim::Unchanged => return Ok(()),
            }
        }
    }

    fn put_head(&mut self, head: &Head) -> Result<(), Violation> {
        self.store.put(self.keys.head(), head.encode());
        self.log.changed(&self.store, &self.keys, Author::Outsider)
    }
}
