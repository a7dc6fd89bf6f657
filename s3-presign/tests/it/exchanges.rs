//! Answers of stores, as recorded or documented, and what each means: `exchanges.txt`.
use crate::kit::{answer, outcome};
use bucketlog_s3_presign::HttpAnswer;

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

fn exchanges() -> Vec<Exchange> {
    parse(include_str!("exchanges.txt"))
}

fn answer_of(exchange: &Exchange, body: &str) -> HttpAnswer {
    let headers: Vec<_> = exchange.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    answer(exchange.status, &headers, body)
}

#[test]
fn every_recorded_answer_means_what_is_noted_beside_it() {
    let exchanges = exchanges();
    assert!(exchanges.len() > 30, "the file was misread");
    for exchange in exchanges {
        let (found, fault) = outcome(&exchange.operation, &answer_of(&exchange, &exchange.body));
        assert_eq!(found, exchange.outcome, "{}: {fault:?}", exchange.name);
        let text = fault.map(|fault| fault.to_string()).unwrap_or_default();
        for says in &exchange.says {
            assert!(text.contains(says), "{}: {text:?} does not say {says:?}", exchange.name);
        }
    }
}

#[test]
fn d02_no_recorded_document_is_a_success_when_it_breaks_off_anywhere() {
    let documents = ["list", "begin-upload", "complete", "list-uploads", "delete-many"];
    let is_success =
        |exchange: &Exchange, body: &str| outcome(&exchange.operation, &answer_of(exchange, body)).1.is_none();
    let told = exchanges().into_iter().filter(|exchange| documents.contains(&exchange.operation.as_str()));
    let successes: Vec<_> = told.filter(|exchange| is_success(exchange, &exchange.body)).collect();
    assert!(successes.len() > documents.len(), "the file was misread");
    for exchange in successes {
        for (end, _) in exchange.body.char_indices() {
            let begin = &exchange.body[..end];
            assert!(!is_success(&exchange, begin), "{}: {begin}", exchange.name);
        }
    }
}
