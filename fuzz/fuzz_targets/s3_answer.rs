#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| bucketlog_fuzz::s3_answer(data));
