#![no_main]

use _native::fuzzing::receipts;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| receipts(data));
