#![no_main]

use _native::fuzzing::rlp;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| rlp(data));
