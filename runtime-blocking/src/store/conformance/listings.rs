//! List.
use super::case::{Case, done, equal};

/// Neighbours of `/` in byte order, and names where parts and whole keys sort differently.
const NAMES: [&str; 9] = ["a", "a-b/1", "a.b", "a0", "b/1", "b/10", "b/2", "b-c", "c/d/e"];

fn fill(case: &Case<'_>) -> Result<Vec<String>, String> {
    for name in NAMES {
        done("create", case.create(name, name.as_bytes()))?;
    }
    let mut sorted = NAMES.map(String::from).to_vec();
    sorted.sort_unstable();
    Ok(sorted)
}

pub(super) fn list_is_ascending(case: &Case<'_>) -> Result<(), String> {
    let sorted = fill(case)?;
    let page = case.list("", None, 1_000)?;
    equal("keys", &case.names(&page), &sorted)?;
    equal("more", &page.more, &false)
}

pub(super) fn list_prefix_is_text(case: &Case<'_>) -> Result<(), String> {
    let sorted = fill(case)?;
    for prefix in ["a", "a-", "a-b/", "b", "b/", "b/1", "b/10", "c/d", "c/d/e", "c/d/ee", "d", "nothing/here"] {
        let expected: Vec<String> = sorted.iter().filter(|name| name.starts_with(prefix)).cloned().collect();
        equal(&format!("keys that begin with {prefix}"), &case.names(&case.list(prefix, None, 1_000)?), &expected)?;
    }
    Ok(())
}

pub(super) fn list_after(case: &Case<'_>) -> Result<(), String> {
    let sorted = fill(case)?;
    let between = ["a-b", "a-b/", "b/", "b/1/x", "b0", "zzz", "0"].map(String::from);
    for after in sorted.iter().chain(&between) {
        for prefix in ["", "a", "b/"] {
            let wanted = |name: &&String| name.starts_with(prefix) && *name > after;
            let expected: Vec<String> = sorted.iter().filter(wanted).cloned().collect();
            let page = case.list(prefix, Some(after), 1_000)?;
            equal(&format!("keys with {prefix:?} after {after}"), &case.names(&page), &expected)?;
        }
    }
    Ok(())
}

pub(super) fn list_pages(case: &Case<'_>) -> Result<(), String> {
    let sorted = fill(case)?;
    for limit in 1..=10_u16 {
        let mut names: Vec<String> = Vec::new();
        loop {
            let page = case.list("", names.last().map(String::as_str), limit)?;
            let rows = case.names(&page);
            let left = sorted.len() - names.len();
            equal(&format!("rows with limit {limit}"), &rows.len(), &left.min(usize::from(limit)))?;
            equal(&format!("more with limit {limit}"), &page.more, &(left > rows.len()))?;
            names.extend(rows);
            if !page.more {
                break;
            }
        }
        equal(&format!("all pages with limit {limit}"), &names, &sorted)?;
    }
    Ok(())
}

pub(super) fn list_tells_sizes(case: &Case<'_>) -> Result<(), String> {
    fill(case)?;
    for row in case.list("", None, 1_000)?.objects {
        let name = NAMES.iter().find(|name| case.key(name) == row.key);
        equal(&format!("size of {}", row.key), &Some(row.size), &name.map(|name| name.len() as u64))?;
    }
    Ok(())
}
