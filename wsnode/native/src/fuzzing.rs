//! Readers of foreign bytes, as functions of any bytes. None may panic or overflow the stack.
//!
//! `cargo fuzz` calls them (`fuzz/` in the checkout). So do the tests below, with its corpus and changes of
//! it.

use std::sync::{Arc, LazyLock};

use alloy_consensus::{Block, Header, TxEnvelope};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{b256, keccak256, Address, Bytes, B256, U256};
use alloy_rlp::{Decodable, Encodable};
use alloy_trie::nodes::{BranchNodeRef, ExtensionNodeRef, LeafNodeRef, RlpNode};
use alloy_trie::{Nibbles, TrieAccount, TrieMask};
use sha2::{Digest, Sha256};
use starknet_types_core::felt::Felt;

use crate::beacon::{
    bootstrap, split_answers, take, BeaconConfig, LightClientStore, ScheduledFork, UpdateKind,
};
use crate::chain::rows::{BodyRow, HeaderRow};
use crate::evm::block::{
    decode_blocks, decode_transaction, encode_json_block, encode_json_receipts, encode_proved_receipts,
    read_json_header, UnsignedPolicy,
};
use crate::evm::chain_spec::{ChainSpec, Family};
use crate::json::Text;
use crate::starknet::block::verify as verify_starknet;
use crate::starknet::felts::short_string;
use crate::starknet::proof::{self, ContractQuestion, ProofQuestion, StateOfBlock};
use crate::starknet::state::{StarknetStateTries, StateDiff};
use crate::state::Proved;

const GENESIS: &str = r#"{"alloc": {}, "config": {"chainId": 1, "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0,
    "eip158Block": 0, "byzantiumBlock": 0, "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0,
    "berlinBlock": 0, "londonBlock": 0, "terminalTotalDifficulty": 0, "shanghaiTime": 0, "cancunTime": 0}}"#;

static SPEC: LazyLock<ChainSpec> =
    LazyLock::new(|| ChainSpec::from_json(GENESIS.as_bytes()).expect("the genesis is right"));

/// Read RLP: a transaction, a header, an account, a number, and rows of the store.
pub fn rlp(data: &[u8]) {
    if let Ok(transaction) = decode_transaction(data) {
        assert_eq!(transaction.encoded_2718(), data, "a transaction has one encoding");
    }
    let _ = Header::decode(&mut &data[..]);
    let _ = TrieAccount::decode(&mut &data[..]);
    let _ = U256::decode(&mut &data[..]);
    let _ = HeaderRow::new(data).and_then(|row| row.header());
    if let Ok(row) = BodyRow::new(data) {
        let _ = row.transaction_rows().try_for_each(|row| row.map(drop));
    }
}

/// Read a block in RLP and in JSON.
pub fn blocks(data: &[u8]) {
    let (decoded, _) = decode_blocks(&SPEC, &[data], UnsignedPolicy::Refused);
    if let Some(block) = decoded.first() {
        assert_eq!(
            Block::<TxEnvelope>::decode(&mut &data[..]).map(|again| again.header).ok().as_ref(),
            Some(&block.header)
        );
    }
    let _ = read_json_header(data);
    if let Ok(encoded) = encode_json_block(data, &[]) {
        decode_blocks(&SPEC, &[&encoded], UnsignedPolicy::Refused);
    }
    if data.len() > 2 {
        let (head, rest) = data.split_at(usize::from(data[0]) % data.len());
        let _ = encode_json_block(rest, &[head]);
    }
}

/// Read the receipts of a block in JSON, alone and with a block in RLP.
pub fn receipts(data: &[u8]) {
    let _ = encode_json_receipts(data);
    let header = Header { receipts_root: keccak256(data), ..Header::default() };
    let block = Block { header, body: alloy_consensus::BlockBody::<TxEnvelope>::default() };
    let _ = encode_proved_receipts(&alloy_rlp::encode(block), data, Family::OpStack);
    let _ = encode_proved_receipts(data, b"[]", Family::Ethereum);
}

/// Read JSON: any value, and a genesis file.
pub fn json(data: &[u8]) {
    let mut text = Text(data);
    if let Some(value) = text.value(10_000) {
        assert!(value.len() <= data.len());
    }
    let _ = ChainSpec::from_json(data);
}

/// Check the nodes of a proof as they are, and a chain of nodes with matching hashes, of the kinds that the
/// bytes select.
pub fn proofs(data: &[u8]) {
    let sent: Vec<Bytes> = data.split(|byte| *byte == 0xff).map(Bytes::copy_from_slice).collect();
    let root = sent.first().map(keccak256).unwrap_or_default();
    verify(root, sent);
    let nodes = chain(data);
    verify(nodes.first().map(keccak256).unwrap_or_default(), nodes);
}

/// Read light-client data: an answer of each kind to a client at the corpus' bootstrap, a list of answers,
/// and a row.
pub fn beacon(data: &[u8]) {
    let client = &*LIGHT_CLIENT;
    let _ = split_answers(data);
    let _ = bootstrap(client.network.clone(), client.checkpoint, data);
    for kind in [UpdateKind::Update, UpdateKind::Finality, UpdateKind::Optimistic] {
        if let Ok((next, change)) = take(client, kind, data, u64::MAX) {
            let is_moved = change.optimistic || change.finalized;
            assert!(!is_moved || change.signers * 3 >= 2 * client.network.committee_size);
            assert!(next.finalized.slot >= client.finalized.slot);
        }
    }
    // A row ends with the SHA-256 hash of the bytes before it.
    let row = [data, &Sha256::digest(data)].concat();
    if let Ok(stored) = LightClientStore::decode(client.network.clone(), &row) {
        assert_eq!(stored.encode(), row);
    }
}

/// Read a Starknet block, with its state update behind a zero byte, or check a proof of a small state.
pub fn starknet(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let block = parts.next().unwrap_or_default();
    let update = parts.next();
    match verify_starknet(block, update, short_string("SN_TEST")) {
        Ok(proof) => assert_eq!(proof.transaction_hashes.len() as u64, proof.transaction_count),
        Err(error) => assert!(!error.member().is_empty()),
    }
    if let Ok(proved) = proof::verify(data, &PROOF_QUESTION, &PROVED_BLOCK) {
        assert_eq!(proved.contracts.len(), PROOF_QUESTION.contracts.len());
        assert_eq!(proved.contracts[0].as_ref().map(|found| found.nonce), Some(Felt::from(5)));
    }
}

static PROOF_QUESTION: LazyLock<ProofQuestion> = LazyLock::new(|| {
    let asked = |address: u64, keys: &[u64]| ContractQuestion {
        address: address.into(),
        keys: keys.iter().map(|key| Felt::from(*key)).collect(),
    };
    ProofQuestion {
        class_hashes: vec![Felt::from(500), Felt::from(7)],
        contracts: vec![asked(9, &[1, 3]), asked(10, &[5]), asked(12, &[])],
    }
});

/// The block whose state the corpus has a proof of.
static PROVED_BLOCK: LazyLock<StateOfBlock> = LazyLock::new(|| {
    let felts = |numbers: &[[u64; 2]]| numbers.iter().map(|pair| pair.map(Felt::from)).collect();
    let mut tries = StarknetStateTries::default();
    tries.apply(&StateDiff {
        storage: [[9, 1, 2], [9, 2, 3], [10, 5, 1]].map(|slot| slot.map(Felt::from)).to_vec(),
        class_hashes: felts(&[[9, 77], [10, 78], [11, 79]]),
        nonces: felts(&[[9, 5]]),
        compiled_classes: felts(&[[500, 501], [501, 502]]),
    });
    StateOfBlock { block_hash: Felt::ONE, state_root: tries.root(true) }
});

pub(crate) static LIGHT_CLIENT: LazyLock<LightClientStore> = LazyLock::new(|| {
    let root = b256!("0x01c6d211f3a2dc79886e709cf089d4602bf5268b27a188fbea681ab45639389b");
    let answer = include_bytes!("../../../fuzz/corpus/beacon/seed-bootstrap");
    bootstrap(Arc::new(minimal_network()), root, answer).expect("the bootstrap is right")
});

/// Return the network of the corpus: the minimal preset, on Fulu from genesis on.
fn minimal_network() -> BeaconConfig {
    let names = ["phase0", "altair", "bellatrix", "capella", "deneb", "electra", "fulu"];
    let fork = |(number, name): (usize, &&str)| ScheduledFork {
        name: (*name).into(),
        epoch: 0,
        version: [number as u8, 0, 0, 1],
    };
    BeaconConfig {
        genesis_validators_root: b256!("0x0a08c27fe4ece2483f9e581f78c66379a06f96e9c24cd1390594ff939b26f95b"),
        genesis_time_seconds: 0,
        slot_milliseconds: 6_000,
        committee_size: 32,
        slots_per_epoch: 8,
        epochs_per_period: 8,
        weak_subjectivity_seconds: 0,
        forks: names.iter().enumerate().map(fork).collect(),
    }
}

fn verify(root: B256, nodes: Vec<Bytes>) {
    let slots = vec![(B256::ZERO, nodes.clone())];
    let proved = Proved { address: Address::ZERO, nodes, slots, code: Some(Bytes::new()) };
    let _ = proved.check(root);
}

/// Return nodes from the root down, towards the key of the zero address and beyond its end.
fn chain(kinds: &[u8]) -> Vec<Bytes> {
    let key = Nibbles::unpack(keccak256(Address::ZERO));
    let nibble = |depth: usize| key.get(depth % 64).unwrap_or_default();
    let (mut depth, mut steps) = (0, Vec::new());
    for kind in kinds {
        let size = usize::from(kind >> 1) % 65;
        steps.push((kind & 1 == 0, depth, size));
        depth += if kind & 1 == 0 { size } else { 1 };
    }
    let mut leaf = Vec::new();
    LeafNodeRef::new(&Nibbles::default(), &[1]).encode(&mut leaf);
    let (mut below, mut nodes) = (RlpNode::from_rlp(&leaf), vec![Bytes::from(leaf)]);
    for (is_extension, depth, size) in steps.into_iter().rev() {
        let mut node = Vec::new();
        if is_extension {
            let own: Vec<u8> = (depth..depth + size).map(nibble).collect();
            ExtensionNodeRef::new(&Nibbles::from_nibbles(own), &below).encode(&mut node);
        } else {
            BranchNodeRef::new(&[below], TrieMask::new(1 << nibble(depth))).encode(&mut node);
        }
        below = RlpNode::from_rlp(&node);
        nodes.push(node.into());
    }
    nodes.reverse();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trie::tests::Numbers;
    use std::path::Path;

    const ROUNDS: usize = 300;

    /// Call a target with each file of its corpus, and with changes of it.
    fn run(name: &str, target: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
        let mut numbers = Numbers(42);
        let mut files = 0;
        for entry in std::fs::read_dir(folder).expect("the corpus is there") {
            let data = std::fs::read(entry.unwrap().path()).unwrap();
            target(&data);
            (0..ROUNDS).for_each(|_| target(&changed(&data, &mut numbers)));
            files += 1;
        }
        assert!(files > 2, "{name}: {files} files");
    }

    fn changed(data: &[u8], numbers: &mut Numbers) -> Vec<u8> {
        let mut data = data.to_vec();
        for _ in 0..=numbers.below(4) {
            let at = numbers.below(data.len() as u64 + 1) as usize;
            match numbers.below(5) {
                0 => data.truncate(at),
                1 => data.insert(at, numbers.next() as u8),
                2 => data = [&data[..at], &data[at / 2..]].concat(),
                3 => data.extend(std::iter::repeat_n(b'[', numbers.below(2000) as usize)),
                _ => {
                    if let Some(byte) = data.get_mut(at) {
                        *byte = numbers.next() as u8;
                    }
                }
            }
        }
        data
    }

    #[test]
    fn rlp_of_others_does_no_harm() {
        run("rlp", rlp);
    }

    #[test]
    fn blocks_of_others_do_no_harm() {
        run("blocks", blocks);
    }

    #[test]
    fn receipts_of_others_do_no_harm() {
        run("receipts", receipts);
    }

    #[test]
    fn json_of_others_does_no_harm() {
        run("json", json);
        for mark in ["[", r#"{"a":"#, r#"[{"a":"#] {
            json(mark.repeat(200_000).as_bytes());
            blocks(mark.repeat(200_000).as_bytes());
            receipts(mark.repeat(200_000).as_bytes());
        }
    }

    #[test]
    fn light_client_data_of_others_does_no_harm() {
        run("beacon", beacon);
        beacon(&LIGHT_CLIENT.encode()[..LIGHT_CLIENT.encode().len() - 32]);
        for mark in ["[", r#"{"version":"fulu","data":"#, r#"{"data":["#] {
            beacon(mark.repeat(100_000).as_bytes());
        }
    }

    #[test]
    fn starknet_blocks_of_others_do_no_harm() {
        run("starknet", starknet);
        for mark in ["[", r#"{"transactions":"#, r#"{"transactions":[{"transaction":"#, r#"{"a":["#] {
            starknet(mark.repeat(100_000).as_bytes());
        }
    }

    #[test]
    fn the_starknet_blocks_of_the_corpus_are_proved() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/starknet");
        let seeds =
            [("seed-poseidon", "0.13.4"), ("seed-first-poseidon", "0.13.2"), ("seed-pedersen", "0.7.0")];
        for (name, formula) in seeds {
            let data = std::fs::read(folder.join(name)).unwrap();
            let mut parts = data.splitn(2, |byte| *byte == 0);
            let block = parts.next().unwrap();
            let proof = verify_starknet(block, parts.next(), short_string("SN_TEST")).unwrap();
            assert_eq!(proof.formula.name(), formula, "{name}");
        }
    }

    #[test]
    fn the_updates_of_the_corpus_are_taken() {
        for (kind, name) in [
            (UpdateKind::Update, "seed-update"),
            (UpdateKind::Finality, "seed-finality-update"),
            (UpdateKind::Optimistic, "seed-optimistic-update"),
        ] {
            let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/beacon").join(name);
            let (next, change) = take(&LIGHT_CLIENT, kind, &std::fs::read(file).unwrap(), 100).unwrap();
            assert!(change.optimistic && next.optimistic.slot > LIGHT_CLIENT.optimistic.slot, "{name}");
        }
    }

    #[test]
    fn proofs_of_others_do_no_harm() {
        run("proofs", proofs);
    }

    #[test]
    fn proofs_are_bounded_in_depth_and_refused_with_empty_keys() {
        let reason = |kinds: &[u8]| {
            let nodes = chain(kinds);
            let root = keccak256(&nodes[0]);
            let proved = Proved { address: Address::ZERO, nodes, slots: vec![], code: None };
            proved.check(root).unwrap_err().to_string()
        };
        // An odd kind is a branch, an even one an extension of half as many nibbles. The chains of kinds other
        // than 0 are as deep as a key, or deeper.
        assert!(reason(&[0; 3]).contains("an extension with an empty key"), "{}", reason(&[0; 3]));
        assert!(reason(&[0; 400_000]).contains("more than a proof can have"));
        assert!(reason(&[2; 64]).contains("deeper than a key reaches"), "{}", reason(&[2; 64]));
        assert!(reason(&[2; 65]).contains("more than a proof can have"));
        // The node at the end of the key contains no account, but the chain is a valid proof.
        assert!(reason(&[1; 64]).contains("does not decode"), "{}", reason(&[1; 64]));
        assert!(reason(&[0x80, 0x80]).contains("deeper than a key reaches"), "{}", reason(&[0x80, 0x80]));
    }
}
