//! The members of transactions and their Go types, in the order of their RLP.

use super::reader::{Kind, Reader};

/// What an item has to be.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A number of at most this many bytes.
    Number(&'static str, usize),
    BigNumber,
    WideNumber,
    Bytes,
    /// Exactly this many bytes.
    Array(&'static str, usize),
    /// An address, or nothing.
    Recipient,
    List(&'static str, &'static Shape),
    Struct(&'static str, &'static [(&'static str, Shape)]),
}

use Shape::{Array, BigNumber, Bytes, List, Number, Recipient, Struct, WideNumber};

const UINT64: Shape = Number("uint64", 8);
const ADDRESS: Shape = Array("common.Address", 20);
const HASH: Shape = Array("common.Hash", 32);
const ACCESS: Shape =
    Struct("types.AccessTuple", &[("Address", ADDRESS), ("StorageKeys", List("[]common.Hash", &HASH))]);
const ACCESS_LIST: Shape = List("types.AccessList", &ACCESS);
const AUTHORIZATION: Shape = Struct(
    "types.SetCodeAuthorization",
    &[
        ("ChainID", WideNumber),
        ("Address", ADDRESS),
        ("Nonce", UINT64),
        ("V", Number("uint8", 1)),
        ("R", WideNumber),
        ("S", WideNumber),
    ],
);

const LEGACY: Shape = Struct(
    "types.LegacyTx",
    &[
        ("Nonce", UINT64),
        ("GasPrice", BigNumber),
        ("Gas", UINT64),
        ("To", Recipient),
        ("Value", BigNumber),
        ("Data", Bytes),
        ("V", BigNumber),
        ("R", BigNumber),
        ("S", BigNumber),
    ],
);
const WITH_ACCESS_LIST: Shape = Struct(
    "types.AccessListTx",
    &[
        ("ChainID", BigNumber),
        ("Nonce", UINT64),
        ("GasPrice", BigNumber),
        ("Gas", UINT64),
        ("To", Recipient),
        ("Value", BigNumber),
        ("Data", Bytes),
        ("AccessList", ACCESS_LIST),
        ("V", BigNumber),
        ("R", BigNumber),
        ("S", BigNumber),
    ],
);
const DYNAMIC_FEE: Shape = Struct(
    "types.DynamicFeeTx",
    &[
        ("ChainID", BigNumber),
        ("Nonce", UINT64),
        ("GasTipCap", BigNumber),
        ("GasFeeCap", BigNumber),
        ("Gas", UINT64),
        ("To", Recipient),
        ("Value", BigNumber),
        ("Data", Bytes),
        ("AccessList", ACCESS_LIST),
        ("V", BigNumber),
        ("R", BigNumber),
        ("S", BigNumber),
    ],
);
const BLOB: Shape = Struct(
    "types.BlobTx",
    &[
        ("ChainID", WideNumber),
        ("Nonce", UINT64),
        ("GasTipCap", WideNumber),
        ("GasFeeCap", WideNumber),
        ("Gas", UINT64),
        ("To", ADDRESS),
        ("Value", WideNumber),
        ("Data", Bytes),
        ("AccessList", ACCESS_LIST),
        ("BlobFeeCap", WideNumber),
        ("BlobHashes", List("[]common.Hash", &HASH)),
        ("V", WideNumber),
        ("R", WideNumber),
        ("S", WideNumber),
    ],
);
const BLOBS: Shape = List("[]kzg4844.Blob", &Array("kzg4844.Blob", 131_072));
const COMMITMENTS: Shape = List("[]kzg4844.Commitment", &Array("kzg4844.Commitment", 48));
const PROOFS: Shape = List("[]kzg4844.Proof", &Array("kzg4844.Proof", 48));
const WITH_BLOBS: Shape = Struct(
    "types.blobTxWithBlobsV0",
    &[("BlobTx", BLOB), ("Blobs", BLOBS), ("Commitments", COMMITMENTS), ("Proofs", PROOFS)],
);
const WITH_CELLS: Shape = Struct(
    "types.blobTxWithBlobsV1",
    &[
        ("BlobTx", BLOB),
        ("Version", Number("uint8", 1)),
        ("Blobs", BLOBS),
        ("Commitments", COMMITMENTS),
        ("Proofs", PROOFS),
    ],
);
const SET_CODE: Shape = Struct(
    "types.SetCodeTx",
    &[
        ("ChainID", WideNumber),
        ("Nonce", UINT64),
        ("GasTipCap", WideNumber),
        ("GasFeeCap", WideNumber),
        ("Gas", UINT64),
        ("To", ADDRESS),
        ("Value", WideNumber),
        ("Data", Bytes),
        ("AccessList", ACCESS_LIST),
        ("AuthList", List("[]types.SetCodeAuthorization", &AUTHORIZATION)),
        ("V", WideNumber),
        ("R", WideNumber),
        ("S", WideNumber),
    ],
);

/// The list that a transaction of a type is; of one with blobs the canonical one.
pub fn of(kind: u8) -> Shape {
    match kind {
        0 => LEGACY,
        1 => WITH_ACCESS_LIST,
        2 => DYNAMIC_FEE,
        3 => BLOB,
        _ => SET_CODE,
    }
}

/// The list that a blob transaction is, with blobs or without, by what its first two items are.
pub fn of_blobs(list: &[u8]) -> Result<Shape, String> {
    let mut outer = Reader::new(list);
    let mut items = match outer.take()? {
        (Kind::List, payload) => Reader::new(payload),
        _ => return Err("rlp: expected List".into()),
    };
    match items.take()? {
        (Kind::List, _) => {}
        _ => return Ok(BLOB),
    }
    match items.take()? {
        (Kind::List, _) => Ok(WITH_BLOBS),
        _ => Ok(WITH_CELLS),
    }
}
