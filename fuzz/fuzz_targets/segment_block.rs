#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| bucketlog_fuzz::segment_block(data));
