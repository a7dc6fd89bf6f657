//! Answers of stores, as recorded or documented, and what each means: `exchanges.txt`.
use crate::kit::{answer, outcome};

struct Exchange {
    name: String,
    operation: String,
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
    outcome: String,
    /// What the fault's text must contain.
    says: Vec<String>,
}

/// A block begins with `== name`; its lines are `operation`, `status`, `header name: value`, `body text`, `means outcome`
/// and `says text`.
fn parse(text: &str) -> Vec<Exchange> {
    let mut all = Vec::new();
    for block in text.split("\n== ").skip(1) {
        let mut lines = block.lines();
        let name = lines.next().unwrap_or_default().to_owned();
        let mut exchange = Exchange {
            name,
            operation: String::new(),
            status: 0,
            headers: Vec::new(),
            body: String::new(),
            outcome: String::new(),
            says: Vec::new(),
        };
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or_else(|| panic!("{line:?} in {}", exchange.name));
            match word {
                "operation" => rest.clone_into(&mut exchange.operation),
                "status" => exchange.status = rest.parse().unwrap(),
                "header" => {
                    let (name, value) = rest.split_once(": ").unwrap();
                    exchange.headers.push((name.to_owned(), value.to_owned()));
                }
                "body" => exchange.body.push_str(rest),
                "means" => rest.clone_into(&mut exchange.outcome),
                "says" => exchange.says.push(rest.to_owned()),
                other => panic!("{other:?} in {}", exchange.name),
            }
        }
        all.push(exchange);
    }
    all
}

#[test]
fn every_recorded_answer_means_what_is_noted_beside_it() {
    let exchanges = parse(include_str!("exchanges.txt"));
    assert!(exchanges.len() > 30, "the file was misread");
    for exchange in exchanges {
        let headers: Vec<_> = exchange.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = answer(exchange.status, &headers, &exchange.body);
        let (found, fault) = outcome(&exchange.operation, &answer);
        assert_eq!(found, exchange.outcome, "{}: {fault:?}", exchange.name);
        let text = fault.map(|fault| fault.to_string()).unwrap_or_default();
        for says in &exchange.says {
            assert!(text.contains(says), "{}: {text:?} does not say {says:?}", exchange.name);
        }
    }
}
