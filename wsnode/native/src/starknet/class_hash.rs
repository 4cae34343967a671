//! Class hashes (docs.starknet.io, "Contract classes"): Poseidon for Sierra, Pedersen for Cairo 0.

use starknet_types_core::felt::Felt;
use starknet_types_core::hash::{Pedersen, Poseidon, StarkHash};

use super::felts::{short_string, starknet_keccak};

/// Entry points of a class by their kind: each its selector, and its function index (Sierra) or offset (Cairo 0).
pub struct EntryPoints {
    pub external: Vec<[Felt; 2]>,
    pub l1_handler: Vec<[Felt; 2]>,
    pub constructor: Vec<[Felt; 2]>,
}

impl EntryPoints {
    /// Return the hashes of the three lists: external, L1 handler, constructor, the order of the class hash.
    fn hashes<H: StarkHash>(&self) -> [Felt; 3] {
        [&self.external, &self.l1_handler, &self.constructor].map(|kind| H::hash_array(kind.as_flattened()))
    }
}

/// Return the hash of a Sierra class; `version` is its `contract_class_version`.
pub fn sierra(version: &str, entry_points: &EntryPoints, abi: &str, program: &[Felt]) -> Felt {
    let [external, l1_handler, constructor] = entry_points.hashes::<Poseidon>();
    Poseidon::hash_array(&[
        short_string(&format!("CONTRACT_CLASS_V{version}")),
        external,
        l1_handler,
        constructor,
        starknet_keccak(abi.as_bytes()),
        Poseidon::hash_array(program),
    ])
}

/// Return the hash of a Cairo 0 class; `hinted` is the canonical JSON text of its ABI and program.
pub fn cairo0(entry_points: &EntryPoints, builtins: &[String], hinted: &[u8], bytecode: &[Felt]) -> Felt {
    let [external, l1_handler, constructor] = entry_points.hashes::<Pedersen>();
    let builtins = builtins.iter().map(|name| short_string(name)).collect::<Vec<_>>();
    Pedersen::hash_array(&[
        Felt::ZERO, // the version of this way of hashing
        external,
        l1_handler,
        constructor,
        Pedersen::hash_array(&builtins),
        starknet_keccak(hinted),
        Pedersen::hash_array(bytecode),
    ])
}
