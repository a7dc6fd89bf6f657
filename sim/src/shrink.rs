//! How a failing run is made short (delta debugging).

/// The shortest list that leaving out parts of `items` can reach and that still fails.
pub(crate) fn shortest<T: Clone>(items: Vec<T>, fails: impl Fn(&[T]) -> bool) -> Vec<T> {
    let mut best = items;
    let mut chunk = best.len().div_ceil(2);
    while chunk > 0 {
        let before = best.len();
        let mut at = 0;
        while at < best.len() {
            let mut shorter = best.clone();
            shorter.drain(at..(at + chunk).min(best.len()));
            if fails(&shorter) { best = shorter } else { at += chunk }
        }
        chunk = if best.len() < before && chunk == 1 { 1 } else { chunk / 2 };
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_failure_needs_is_left() {
        let needs = |items: &[u32]| [7, 40, 41, 99].iter().all(|item| items.contains(item));
        assert_eq!(shortest((0..100).collect(), needs), [7, 40, 41, 99]);
    }
}
