//! State of a light client, and its encoding as a row of the store.

use std::sync::Arc;

use alloy_primitives::B256;
use sha2::{Digest, Sha256};

use super::committee::Committee;
use super::forks::BeaconConfig;
use super::objects::{UnverifiedCommittee, KEY_BYTES};

const ROW_VERSION: u8 = 1;
const HASH_BYTES: usize = 32;

/// Beacon header with a valid execution proof; headers are kept in this form only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProvedHeader {
    pub slot: u64,
    /// Root of the beacon block.
    pub root: B256,
    /// Hash of the execution block; since Gloas, of the parent's execution block; zero before Capella.
    pub block_hash: B256,
}

/// Headers and committees proved from a checkpoint on. A store is immutable: an update makes a new one.
#[derive(Debug, Clone)]
pub struct LightClientStore {
    pub network: Arc<BeaconConfig>,
    /// Root of the trusted beacon block at which the light client began.
    pub checkpoint: B256,
    pub finalized: ProvedHeader,
    /// Newest header signed by two thirds of the committee; its slot is never below the finalized slot.
    pub optimistic: ProvedHeader,
    /// Number of members who signed the optimistic header; 0 if it is still the checkpoint.
    pub signers: u64,
    /// Committee of the finalized header's period.
    pub current: Arc<Committee>,
    /// Committee of the period after the finalized header's, if known.
    pub next: Option<Arc<Committee>>,
}

/// Differences between the stores before and after an update.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreChange {
    /// Number of members who signed the update.
    pub signers: u64,
    /// True if the optimistic header is another one.
    pub optimistic: bool,
    /// True if the finalized header is another one.
    pub finalized: bool,
    pub next_committee: bool,
    /// True if the next committee has become the current one.
    pub period: bool,
    /// Two blocks of the same slot, both signed by the committee.
    pub equivocation: Option<Equivocation>,
}

/// Two blocks of one slot, each signed by two thirds of the committee; the client keeps the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Equivocation {
    pub slot: u64,
    pub kept: B256,
    pub other: B256,
    /// True if both blocks were finalized: one of the two chains is forged.
    pub is_final: bool,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreRowError {
    #[error("the row of the light client has version {0}, which a later release has written")]
    Version(u8),
    #[error("the row of the light client is of another network")]
    Network,
    #[error("the row of the light client is damaged")]
    Damaged,
}

/// Error of a store whose finalized block is older than the network's weak subjectivity period.
///
/// A chain on top of such a block could be forged with the keys of validators that have left.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the finalized slot {slot} is {age_seconds} s old, and from {most_seconds} s on a chain can be forged"
)]
pub struct TooOld {
    pub slot: u64,
    /// Start of the slot, in seconds since 1970.
    pub since_seconds: u64,
    pub age_seconds: u64,
    pub most_seconds: u64,
}

impl LightClientStore {
    /// Return the period of the finalized header and of the current committee.
    pub fn period(&self) -> u64 {
        self.network.period(self.finalized.slot)
    }

    /// Refuse a store whose finalized slot began over `weak_subjectivity_seconds` before `now_seconds` (since 1970).
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

    /// Decode the keys of all known committees into points, ahead of their first signature.
    ///
    /// A committee of 512 keys takes 14 ms at the first call, and no time after it.
    pub fn prepare(&self) {
        for committee in std::iter::once(&self.current).chain(&self.next) {
            // The error is ignored here: an invalid key is refused with the update whose signature needs it.
            let _ = committee.keys();
        }
    }

    /// Return the row: version, digest of the network, checkpoint, finalized and optimistic header, signers, one or
    /// two committees, and the SHA-256 hash of all bytes before it.
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

    /// Return the store of a row written by `encode`.
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
