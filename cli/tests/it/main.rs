//! The `bucketlog` command from outside: every test runs the built binary.
mod golden;
mod inspect;
mod manual;
mod run;
