#![no_main]

use _native::fuzzing::starknet;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| starknet(data));
