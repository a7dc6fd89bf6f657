//! Integration tests of the core, as one binary, one module per theme.
mod bucket;
mod catalog_changes;
mod catalog_golden;
mod catalog_model;
mod catalog_rules;
mod catalog_support;
mod keys_golden;
mod scenario;
mod segment_blocks;
mod segment_golden;
mod segment_kit;
mod segment_properties;
mod segment_rules;
mod support;
mod writer_scenarios;
