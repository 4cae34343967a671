//! What a light client knows, and the row that keeps it.

use std::sync::Arc;

use alloy_primitives::B256;
use sha2::{Digest, Sha256};

use super::codec::{UnverifiedCommittee, KEY_BYTES};
use super::committee::Committee;
use super::forks::BeaconConfig;

const ROW_VERSION: u8 = 1;
const HASH_BYTES: usize = 32;

/// A header whose execution proof holds: the only form in which headers are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProvedHeader {
    pub slot: u64,
    /// Root of the beacon block.
    pub root: B256,
    /// Hash of its execution block, of its parent's since Gloas; zero before Capella.
    pub block_hash: B256,
}

/// What is proved from a checkpoint on. It never changes: what an update brings is another one.
#[derive(Debug, Clone)]
pub struct LightClientStore {
    pub network: Arc<BeaconConfig>,
    /// Root of the block that everything follows from.
    pub checkpoint: B256,
    pub finalized: ProvedHeader,
    /// The proved head; never older than the finalized header.
    pub optimistic: ProvedHeader,
    /// How many members have signed the proved head; 0 where it is only the checkpoint.
    pub signers: u64,
    /// The committee of the finalized header's period.
    pub current: Arc<Committee>,
    /// The committee after it, where it is known.
    pub next: Option<Arc<Committee>>,
}

/// What an update has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreChange {
    /// Members that have signed it.
    pub signers: u64,
    /// Whether there is another proved head.
    pub optimistic: bool,
    /// Whether there is another finalized header.
    pub finalized: bool,
    /// Whether the next committee is known that was not.
    pub next_committee: bool,
    /// Whether the next committee has become the current one.
    pub period: bool,
    /// The committee has signed two blocks of one slot.
    pub equivocation: Option<Equivocation>,
}

/// Two blocks of one slot, each signed by two thirds of the committee. The first stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Equivocation {
    pub slot: u64,
    pub kept: B256,
    pub other: B256,
    /// Whether both were told to be final: then there are two chains, of which one is forged.
    pub is_final: bool,
}

/// Why a stored row is not read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreRowError {
    #[error("the row of the light client has version {0}, which a later release has written")]
    Version(u8),
    #[error("the row of the light client is of another network")]
    Network,
    #[error("the row of the light client is damaged")]
    Damaged,
}

/// The newest finalized block that is known is so old that a chain on top of it could be forged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the finalized slot {slot} is {age_seconds} s old, and from {most_seconds} s on a chain can be forged"
)]
pub struct TooOld {
    pub slot: u64,
    /// When the slot began, in seconds since 1970.
    pub since_seconds: u64,
    pub age_seconds: u64,
    pub most_seconds: u64,
}

impl LightClientStore {
    /// The period of the current committee.
    pub fn period(&self) -> u64 {
        self.network.period(self.finalized.slot)
    }

    /// Refuse a store whose finalized header is too old for the network's weak subjectivity.
    pub fn require_recent(&self, now_seconds: u64) -> Result<(), TooOld> {
        let slot = self.finalized.slot;
        let since_seconds = self.network.slot_start(slot);
        let age_seconds = now_seconds.saturating_sub(since_seconds);
        let most_seconds = self.network.weak_subjectivity_seconds;
        if age_seconds > most_seconds {
            return Err(TooOld { slot, since_seconds, age_seconds, most_seconds });
        }
        Ok(())
    }

    /// Have the keys of all known committees as points: 14 ms for each committee that is new.
    pub fn prepare(&self) {
        for committee in std::iter::once(&self.current).chain(&self.next) {
            // A key that is none is refused with the update whose signature needs it.
            let _ = committee.keys();
        }
    }

    /// The row: version, network, checkpoint, two headers, signers, one or two committees, SHA-256 of all that.
    pub fn encode(&self) -> Vec<u8> {
        let mut row = vec![ROW_VERSION];
        row.extend(self.network.digest());
        row.extend(self.checkpoint);
        for header in [&self.finalized, &self.optimistic] {
            row.extend(header.slot.to_be_bytes());
            row.extend(header.root);
            row.extend(header.block_hash);
        }
        row.extend(self.signers.to_be_bytes());
        self.current.encode(&mut row);
        if let Some(next) = &self.next {
            next.encode(&mut row);
        }
        row.extend(Sha256::digest(&row));
        row
    }

    /// Read a row.
    pub fn decode(network: Arc<BeaconConfig>, row: &[u8]) -> Result<Self, StoreRowError> {
        match row.first() {
            Some(&ROW_VERSION) => (),
            Some(version) => return Err(StoreRowError::Version(*version)),
            None => return Err(StoreRowError::Damaged),
        }
        let (row, sum) = row.split_last_chunk::<HASH_BYTES>().ok_or(StoreRowError::Damaged)?;
        if Sha256::digest(row)[..] != sum[..] {
            return Err(StoreRowError::Damaged);
        }
        let mut rest = row.get(1..).ok_or(StoreRowError::Damaged)?;
        if hash(&mut rest)? != network.digest() {
            return Err(StoreRowError::Network);
        }
        let checkpoint = hash(&mut rest)?;
        let (finalized, optimistic) = (header(&mut rest)?, header(&mut rest)?);
        let signers = number(&mut rest)?;
        let current = committee(&mut rest, &network)?;
        let next = if rest.is_empty() { None } else { Some(committee(&mut rest, &network)?) };
        if !rest.is_empty() {
            return Err(StoreRowError::Damaged);
        }
        Ok(Self { network, checkpoint, finalized, optimistic, signers, current, next })
    }
}

fn bytes<'a>(rest: &mut &'a [u8], size: usize) -> Result<&'a [u8], StoreRowError> {
    let (bytes, behind) = rest.split_at_checked(size).ok_or(StoreRowError::Damaged)?;
    *rest = behind;
    Ok(bytes)
}

fn hash(rest: &mut &[u8]) -> Result<B256, StoreRowError> {
    bytes(rest, HASH_BYTES).map(B256::from_slice)
}

fn number(rest: &mut &[u8]) -> Result<u64, StoreRowError> {
    bytes(rest, 8)?.try_into().map(u64::from_be_bytes).map_err(|_| StoreRowError::Damaged)
}

fn header(rest: &mut &[u8]) -> Result<ProvedHeader, StoreRowError> {
    Ok(ProvedHeader { slot: number(rest)?, root: hash(rest)?, block_hash: hash(rest)? })
}

fn committee(rest: &mut &[u8], network: &BeaconConfig) -> Result<Arc<Committee>, StoreRowError> {
    let keys = bytes(rest, Committee::encoded_size(network.committee_size))?;
    let key = |bytes: &[u8]| std::array::from_fn::<u8, KEY_BYTES, _>(|place| bytes[place]);
    let mut pubkeys: Vec<[u8; KEY_BYTES]> = keys.chunks_exact(KEY_BYTES).map(key).collect();
    let aggregate = pubkeys.pop().ok_or(StoreRowError::Damaged)?;
    let told = UnverifiedCommittee { pubkeys, aggregate };
    Ok(Arc::new(Committee::new(told)))
}
