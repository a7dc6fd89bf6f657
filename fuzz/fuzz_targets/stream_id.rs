#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| bucketlog_fuzz::stream_id(data));
