//! The integration tests of the core, as one binary.
mod catalog_changes;
mod catalog_golden;
mod catalog_model;
mod catalog_rules;
mod catalog_support;
mod keys_golden;
