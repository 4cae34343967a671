#![no_main]

use _native::fuzzing::beacon;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| beacon(data));
