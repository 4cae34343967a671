#![no_main]

use _native::fuzzing::blocks;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| blocks(data));
