#![no_main]

use _native::fuzzing::json;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| json(data));
