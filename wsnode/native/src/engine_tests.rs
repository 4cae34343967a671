//! Tests of the engine on a chain through every fork, and on blocks that break rules.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use alloy_eips::BlockNumHash;
use alloy_primitives::U256;

use crate::chain::rows::{block_rlp, BodyRow, HeaderRow};
use crate::engine::Engine;
use crate::error::Rule;
use crate::evm::block::{decode_blocks, genesis, UnsignedPolicy, UnverifiedBlock};
use crate::evm::build::Parent;
use crate::evm::chain_spec::ChainSpec;
use crate::evm::rules::Chosen;
use crate::state::{Staged, Tables, NAMES};
use crate::store::file::FIRST_MAP_SIZE;
use crate::store::{Durability, Environment, Opening};

type OwnedRows = Vec<(Vec<u8>, Vec<u8>)>;

struct Vectors {
    spec: Arc<ChainSpec>,
    blocks: Vec<Arc<UnverifiedBlock>>,
}

impl Vectors {
    fn load() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/execution-apis");
        let text = std::fs::read(folder.join("genesis.json")).unwrap();
        let spec = Arc::new(ChainSpec::from_json(&text).unwrap());
        let chain = std::fs::read(folder.join("chain.rlp")).unwrap();
        let (blocks, error) = decode_blocks(&spec, &split(&chain), UnsignedPolicy::Refused);
        assert_eq!(error, None);
        Self { spec, blocks: blocks.into_iter().map(Arc::new).collect() }
    }

    /// Return header and body rows of the blocks before `number`, the nearest first.
    fn ancestors(&self, number: usize) -> OwnedRows {
        let start = genesis(&self.spec).unwrap();
        let mut rows = vec![(start.header_row.to_vec(), start.body_row.to_vec())];
        rows.extend(self.blocks.iter().map(|block| (block.header_row.to_vec(), block.body_row.to_vec())));
        rows.truncate(number);
        rows.reverse();
        rows
    }

    fn total_difficulty(&self, number: usize) -> U256 {
        let start = self.spec.genesis().header.difficulty;
        self.blocks[..number].iter().fold(start, |sum, block| sum + block.header.difficulty)
    }
}

fn split(mut chain: &[u8]) -> Vec<&[u8]> {
    let mut blocks = Vec::new();
    while !chain.is_empty() {
        let mut rest = chain;
        let head = alloy_rlp::Header::decode(&mut rest).unwrap();
        let length = chain.len() - rest.len() + head.payload_length;
        let (block, after) = chain.split_at(length);
        blocks.push(block);
        chain = after;
    }
    blocks
}

/// Return the engine of a new chain that has its genesis state, and its store.
pub fn begun(path: &Path, spec: Arc<ChainSpec>) -> (Engine, Arc<Environment>) {
    let names: Vec<String> = ["meta"].iter().chain(&NAMES).map(ToString::to_string).collect();
    let tables = Tables::among(&names).unwrap();
    let (folder, durability) = (path.join("chain"), Durability::NoSync);
    let opening =
        Opening { path: folder, names, writer: true, durability, map_size: FIRST_MAP_SIZE, grows: true };
    let environment = Arc::new(Environment::open(opening).unwrap());
    let engine =
        Engine::open((environment.clone(), tables), &path.join("proved"), spec, true, false).unwrap();
    put(&environment, &engine, &engine.stage_genesis().unwrap().unwrap());
    (engine, environment)
}

fn put(environment: &Environment, engine: &Engine, staged: &Staged) {
    environment.change(Durability::NoSync, |txn| staged.write(txn)).unwrap();
    engine.settle(staged).unwrap();
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("wsnode-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn borrowed(rows: &OwnedRows) -> Vec<(&[u8], &[u8])> {
    rows.iter().map(|(header, body)| (header.as_slice(), body.as_slice())).collect()
}

#[test]
fn every_block_of_a_chain_through_all_forks_verifies_and_unwinds() {
    let (vectors, folder) = (Vectors::load(), Folder::new("forks"));
    let (engine, environment) = begun(&folder.0, vectors.spec.clone());
    for start in [0, 30, 3] {
        if start > 0 {
            engine.rewind(start as u64, None).unwrap();
            assert_eq!(engine.head().unwrap().hash, vectors.blocks[start - 1].hash);
        }
        let (rows, total) = (vectors.ancestors(start + 1), vectors.total_difficulty(start));
        let execution =
            engine.execute(&vectors.blocks[start..], &borrowed(&rows), total, Chosen::default()).unwrap();
        assert_eq!(execution.error, None);
        put(&environment, &engine, &engine.stage().unwrap().unwrap());
        assert_eq!(engine.committed_head().unwrap().hash, vectors.blocks.last().unwrap().hash);
    }
}

#[test]
fn a_tried_block_is_applied_again_if_a_late_settlement_has_discarded_it() {
    let (vectors, folder) = (Vectors::load(), Folder::new("tried"));
    let (engine, environment) = begun(&folder.0, vectors.spec.clone());
    let (rows, total) = (vectors.ancestors(1), vectors.total_difficulty(0));
    let blocks = &vectors.blocks[..3];
    engine.execute(blocks, &borrowed(&rows), total, Chosen::default()).unwrap();
    let staged = engine.stage().unwrap().unwrap();
    engine.discard().unwrap();
    let head = engine.head().unwrap();
    let parent = Parent::Committed(BlockNumHash { number: head.number, hash: head.hash });
    let built = engine.try_block(&blocks[0], parent, &borrowed(&rows), total, 1 << 20).unwrap().unwrap();
    engine.settle(&staged).unwrap();
    engine.accept(&built).unwrap();
    put(&environment, &engine, &engine.stage().unwrap().unwrap());
    let (rows, total) = (vectors.ancestors(2), vectors.total_difficulty(1));
    let rest = engine.execute(&blocks[1..], &borrowed(&rows), total, Chosen::default()).unwrap();
    assert_eq!(rest.error, None);
}

#[test]
fn a_block_of_proof_of_stake_comes_at_the_terminal_total_difficulty_and_not_before() {
    let (vectors, folder) = (Vectors::load(), Folder::new("merge"));
    let (engine, _) = begun(&folder.0, vectors.spec.clone());
    let first = vectors.blocks.iter().position(|block| block.header.difficulty.is_zero()).unwrap();
    let rows = vectors.ancestors(first + 1);
    let total = vectors.total_difficulty(first);
    let chosen = Chosen::default();
    let verify =
        |total| engine.verify_header(&vectors.blocks[first], &borrowed(&rows), total, chosen).unwrap();
    assert_eq!(verify(total), None);
    let early = verify(total - vectors.blocks[first - 1].header.difficulty).unwrap();
    assert_eq!(early.violation.rule, Rule::Difficulty);
}

#[test]
fn a_wrong_root_is_named_and_the_blocks_before_stay() {
    let (vectors, folder) = (Vectors::load(), Folder::new("root"));
    let (engine, _) = begun(&folder.0, vectors.spec.clone());
    let mut blocks = vectors.blocks[..5].to_vec();
    let mut wrong =
        decode_blocks(&vectors.spec, &[&encoded(&blocks[4])], UnsignedPolicy::Refused).0.remove(0);
    wrong.header.state_root = alloy_primitives::B256::repeat_byte(7);
    blocks[4] = Arc::new(wrong);
    let rows = vectors.ancestors(1);
    let execution =
        engine.execute(&blocks, &borrowed(&rows), vectors.total_difficulty(0), Chosen::default()).unwrap();
    assert_eq!(execution.error.unwrap().violation.rule, Rule::StateRoot);
    assert_eq!(execution.verified.len(), 4);
    let rest = engine.execute(
        &vectors.blocks[4..],
        &borrowed(&vectors.ancestors(5)),
        vectors.total_difficulty(4),
        Chosen::default(),
    );
    assert_eq!(rest.unwrap().error, None);
}

fn encoded(block: &UnverifiedBlock) -> Vec<u8> {
    let (header, body) = (HeaderRow::new(&block.header_row).unwrap(), BodyRow::new(&block.body_row).unwrap());
    block_rlp(&header, &body).unwrap()
}
