//! Integration tests of the core, one module per theme.
mod reader_faults;
mod reader_kit;
mod reader_model;
mod reader_requests;
mod segment_blocks;
mod segment_golden;
mod segment_kit;
mod segment_properties;
mod segment_rules;
mod support;
