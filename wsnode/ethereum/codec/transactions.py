"""Transactions outside of blocks: decoded, checked by the rules that need no state, rendered, and signed."""

from wsnode._native.evm import (
    PooledTransaction,
    blob_cells,
    blob_proof,
    cell_proofs,
    check_transaction,
    impersonated_sender,
    render_pooled_transaction,
    sign_digest,
    sign_message,
    sign_transaction,
    unsigned_transaction,
)

__all__ = [
    "PooledTransaction",
    "blob_cells",
    "blob_proof",
    "cell_proofs",
    "check_transaction",
    "impersonated_sender",
    "render_pooled_transaction",
    "sign_digest",
    "sign_message",
    "sign_transaction",
    "unsigned_transaction",
]
