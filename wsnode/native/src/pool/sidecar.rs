//! Blobs of a transaction, and the proofs that they belong to its versioned hashes.

use std::sync::PoisonError;

use alloy_consensus::Transaction;
use alloy_eips::eip4844::{kzg_to_versioned_hash, Blob, BlobTransactionValidationError, Bytes48};
use alloy_eips::eip7594::{BlobTransactionSidecarVariant, CELLS_PER_EXT_BLOB, MAX_BLOBS_PER_TX_FUSAKA};
use alloy_primitives::{uint, B256, U256};
use c_kzg::{ethereum_kzg_settings, KzgSettings};

use super::{refuse, PooledTransaction};
use crate::error::Error;

/// Order of the scalar field of BLS12-381.
const MODULUS: U256 = uint!(0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001_U256);

/// Sidecar of a transaction beside its envelope.
#[derive(Debug)]
pub enum Sidecar {
    Absent,
    Unverified(Box<BlobTransactionSidecarVariant>),
    /// Verified blobs that are kept until they are taken.
    Kept(Box<BlobTransactionSidecarVariant>),
    /// Verified blobs that were dropped, because blocks hold only their hashes.
    Verified,
}

/// Blob with the proof of its versioned hash.
#[derive(Debug)]
pub struct ProvenBlob {
    pub versioned_hash: B256,
    pub blob: Box<Blob>,
    pub commitment: Bytes48,
    /// Proof of the blob, or proofs of each of its cells.
    pub proofs: Vec<Bytes48>,
}

impl PooledTransaction {
    /// Check the blobs once, and keep them if `keeps`. A transaction that a block included needs no blobs.
    pub fn check_sidecar(&self, was_included: bool, keeps: bool) -> Result<(), Error> {
        let hashes = self.envelope.blob_versioned_hashes().unwrap_or_default();
        let mut sidecar = self.sidecar.lock().unwrap_or_else(PoisonError::into_inner);
        match &*sidecar {
            Sidecar::Unverified(given) => check(given, hashes)?,
            Sidecar::Absent if !was_included => {
                return Err(refuse("sidecar", "missing sidecar in blob transaction"))
            }
            Sidecar::Kept(_) if keeps => return Ok(()),
            Sidecar::Absent | Sidecar::Kept(_) | Sidecar::Verified => {}
        }
        *sidecar = match std::mem::replace(&mut *sidecar, Sidecar::Verified) {
            Sidecar::Unverified(verified) if keeps => Sidecar::Kept(verified),
            _ => Sidecar::Verified,
        };
        Ok(())
    }

    /// Return the verified blobs that were kept, in the order of their hashes, and keep them no longer.
    pub fn take_blobs(&self) -> Vec<ProvenBlob> {
        let mut sidecar = self.sidecar.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*sidecar, Sidecar::Kept(_)) {
            return Vec::new();
        }
        match std::mem::replace(&mut *sidecar, Sidecar::Verified) {
            Sidecar::Kept(kept) => proven(*kept),
            _ => Vec::new(),
        }
    }
}

fn proven(sidecar: BlobTransactionSidecarVariant) -> Vec<ProvenBlob> {
    let (blobs, commitments, proofs) = match sidecar {
        BlobTransactionSidecarVariant::Eip4844(single) => (single.blobs, single.commitments, single.proofs),
        BlobTransactionSidecarVariant::Eip7594(cells) => (cells.blobs, cells.commitments, cells.cell_proofs),
    };
    let each = proofs.len() / blobs.len().max(1);
    let proofs = proofs.chunks(each.max(1));
    let parts = blobs.into_iter().zip(commitments).zip(proofs);
    parts
        .map(|((blob, commitment), proofs)| ProvenBlob {
            versioned_hash: kzg_to_versioned_hash(commitment.as_slice()),
            blob: Box::new(blob),
            commitment,
            proofs: proofs.to_vec(),
        })
        .collect()
}

/// Return the proof of a whole blob, as in sidecars up to Prague. It takes about 20 ms.
pub fn blob_proof(blob: &[u8], commitment: &[u8]) -> Result<Bytes48, Error> {
    let blob = c_kzg::Blob::from_bytes(blob).map_err(Error::internal)?;
    let commitment = c_kzg::Bytes48::from_bytes(commitment).map_err(Error::internal)?;
    let proof = settings().compute_blob_kzg_proof(&blob, &commitment).map_err(Error::internal)?;
    Ok(Bytes48::from_slice(proof.to_bytes().as_slice()))
}

/// Return the proofs of a blob's cells, as in sidecars since Osaka. It takes about 200 ms.
pub fn cell_proofs(blob: &[u8]) -> Result<Vec<Bytes48>, Error> {
    let blob = c_kzg::Blob::from_bytes(blob).map_err(Error::internal)?;
    let (_, proofs) = settings().compute_cells_and_kzg_proofs(&blob).map_err(Error::internal)?;
    Ok(proofs.iter().map(|proof| Bytes48::from_slice(proof.to_bytes().as_slice())).collect())
}

/// Return the cells of a blob extended to twice its length (EIP-7594), one after another.
pub fn cells(blob: &[u8]) -> Result<Vec<u8>, Error> {
    let blob = c_kzg::Blob::from_bytes(blob).map_err(Error::internal)?;
    let cells = settings().compute_cells(&blob).map_err(Error::internal)?;
    Ok(cells.iter().flat_map(|cell| cell.to_bytes()).collect())
}

fn check(sidecar: &BlobTransactionSidecarVariant, hashes: &[B256]) -> Result<(), Error> {
    check_commitments(sidecar.commitments(), hashes)?;
    let most = MAX_BLOBS_PER_TX_FUSAKA as usize;
    if hashes.len() > most {
        let words = "transaction blob limit exceeded";
        return Err(refuse("too_many_blobs", format!("{words}: blob count {}, limit {most}", hashes.len())));
    }
    check_counts(sidecar, hashes.len())?;
    prove(sidecar)
}

fn check_commitments(commitments: &[Bytes48], hashes: &[B256]) -> Result<(), Error> {
    if commitments.len() != hashes.len() {
        let (given, named) = (commitments.len(), hashes.len());
        let text = format!("invalid number of {given} blob commitments compared to {named} blob hashes");
        return Err(refuse("sidecar", text));
    }
    for (index, (commitment, hash)) in commitments.iter().zip(hashes).enumerate() {
        let computed = kzg_to_versioned_hash(commitment.as_slice());
        if computed != *hash {
            let words = "computed hash";
            let text = format!("blob {index}: {words} {computed} mismatches transaction one {hash}");
            return Err(refuse("blob_hash", text));
        }
    }
    Ok(())
}

fn check_counts(sidecar: &BlobTransactionSidecarVariant, wanted: usize) -> Result<(), Error> {
    let (proofs, proofs_wanted) = match sidecar {
        BlobTransactionSidecarVariant::Eip4844(single) => (single.proofs.len(), wanted),
        BlobTransactionSidecarVariant::Eip7594(cells) => {
            (cells.cell_proofs.len(), wanted * CELLS_PER_EXT_BLOB)
        }
    };
    if proofs != proofs_wanted {
        let words = "Wrong sidecar format: invalid number of";
        return Err(refuse("sidecar", format!("{words} {proofs} blob proofs expected {proofs_wanted}")));
    }
    let blobs = sidecar.blobs().len();
    if blobs == 0 {
        return Err(refuse("no_blobs", "blobless blob transaction"));
    }
    if blobs != wanted {
        let text = format!("invalid number of {blobs} blobs compared to {wanted} commitments");
        return Err(refuse("sidecar", text));
    }
    Ok(())
}

/// Check the proofs: one of each blob, or one of each of its cells.
///
/// Both kinds are accepted in every fork, because blocks contain no proofs. Over RPC geth computes cell
/// proofs for a sidecar with blob proofs.
fn prove(sidecar: &BlobTransactionSidecarVariant) -> Result<(), Error> {
    if !sidecar.blobs().iter().all(|blob| blob.as_chunks().0.iter().all(is_canonical)) {
        let words = "scalar is not canonical when interpreted as a big integer in big-endian";
        return Err(refuse("kzg", words));
    }
    let hashes: Vec<B256> = sidecar.versioned_hashes().collect();
    sidecar.validate(&hashes, settings()).map_err(|reason| {
        let words = match reason {
            BlobTransactionValidationError::InvalidProof => "can't verify opening proof",
            _ => "a commitment or proof is no point of the curve",
        };
        refuse("kzg", format!("KZG verification error: {words}"))
    })
}

/// Return whether an element of a blob is below the field's modulus.
fn is_canonical(element: &[u8; 32]) -> bool {
    U256::from_be_bytes(*element) < MODULUS
}

/// Return the KZG settings without the precomputation, which takes seconds and only speeds up making proofs.
fn settings() -> &'static KzgSettings {
    ethereum_kzg_settings(0)
}
