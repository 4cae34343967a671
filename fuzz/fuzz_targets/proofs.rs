#![no_main]

use _native::fuzzing::proofs;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| proofs(data));
