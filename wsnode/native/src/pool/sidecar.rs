//! The blobs that come with a transaction, and the proofs that they are those it names.

use std::sync::PoisonError;

use alloy_consensus::Transaction;
use alloy_eips::eip4844::{kzg_to_versioned_hash, Blob, BlobTransactionValidationError, Bytes48};
use alloy_eips::eip7594::{BlobTransactionSidecarVariant, CELLS_PER_EXT_BLOB, MAX_BLOBS_PER_TX_FUSAKA};
use alloy_primitives::{uint, B256, U256};
use c_kzg::{ethereum_kzg_settings, KzgSettings};

use super::{refuse, PooledTransaction};
use crate::error::Error;

/// The order of the curve's scalar field (BLS12-381).
const MODULUS: U256 = uint!(0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001_U256);

/// What came with a transaction beside the envelope.
#[derive(Debug)]
pub enum Sidecar {
    Absent,
    Unverified(Box<BlobTransactionSidecarVariant>),
    /// Kept until they are taken.
    Kept(Box<BlobTransactionSidecarVariant>),
    /// The blobs are dropped: blocks hold only their hashes.
    Verified,
}

/// A blob with what proves that it is the one of a versioned hash.
#[derive(Debug)]
pub struct ProvenBlob {
    pub versioned_hash: B256,
    pub blob: Box<Blob>,
    pub commitment: Bytes48,
    /// One of the blob, or one of each of its cells.
    pub proofs: Vec<Bytes48>,
}

impl PooledTransaction {
    /// Check the blobs once; what is verified is kept only if `keeps`. One that a block held needs none.
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

    /// The blobs that were verified and kept, in the order of their hashes; they are the caller's from now on.
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

/// The proof of a whole blob, as blocks up to Prague travel with; about 20 ms.
pub fn blob_proof(blob: &[u8], commitment: &[u8]) -> Result<Bytes48, Error> {
    let blob = c_kzg::Blob::from_bytes(blob).map_err(Error::internal)?;
    let commitment = c_kzg::Bytes48::from_bytes(commitment).map_err(Error::internal)?;
    let proof = settings().compute_blob_kzg_proof(&blob, &commitment).map_err(Error::internal)?;
    Ok(Bytes48::from_slice(proof.to_bytes().as_slice()))
}

/// The proofs of a blob's cells, as blocks since Osaka travel with; about 200 ms.
pub fn cell_proofs(blob: &[u8]) -> Result<Vec<Bytes48>, Error> {
    let blob = c_kzg::Blob::from_bytes(blob).map_err(Error::internal)?;
    let (_, proofs) = settings().compute_cells_and_kzg_proofs(&blob).map_err(Error::internal)?;
    Ok(proofs.iter().map(|proof| Bytes48::from_slice(proof.to_bytes().as_slice())).collect())
}

/// The cells of a blob extended to twice its length (EIP-7594), one after another.
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
/// Either kind is taken in every fork: blocks hold neither, and over RPC geth makes the second out of the first.
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

/// Whether an element of a blob is below the modulus of its field.
fn is_canonical(element: &[u8; 32]) -> bool {
    U256::from_be_bytes(*element) < MODULUS
}

/// Without the precomputation, which takes seconds and only helps to make proofs.
fn settings() -> &'static KzgSettings {
    ethereum_kzg_settings(0)
}
