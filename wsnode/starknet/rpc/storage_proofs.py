"""The method that proves classes, contracts and slots by a block's state root."""

from collections.abc import Callable, Generator
from typing import Any

from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.work import RenderedJson, RunInThread, Step
from wsnode.starknet.proofs.prover import PROVED_BLOCKS, ProofRequest, StateProofError, StateProver
from wsnode.starknet.rpc.errors import (
    block_not_found,
    history_unavailable,
    proof_too_old,
    unprovable_state,
)
from wsnode.starknet.rpc.params import MOST_PROVED_KEYS, StorageProofParams
from wsnode.starknet.rpc.resolution import resolve
from wsnode.starknet.snapshot import StarknetSnapshot

Steps = Generator[Step, Any, RenderedJson]


def storage_proof_handler(
    prover: StateProver,
) -> Callable[[StarknetSnapshot, StorageProofParams], Steps]:
    """Return the handler of getStorageProof."""

    def get_storage_proof(snapshot: StarknetSnapshot, params: StorageProofParams) -> Steps:
        """Return the nodes that prove classes, contracts and slots by the state root of a recent block."""
        asked = _asked(params)
        state = resolve(snapshot, params.block_id)
        if state.is_pending:
            raise invalid_params("Invalid params", {"reason": "the pending block has no state root"})
        if first := snapshot.first_block:
            raise history_unavailable(first)
        if (snapshot.head or 0) - state.number > PROVED_BLOCKS:
            raise proof_too_old()
        number, block_hash = state.number, state.block.hash
        proof = yield RunInThread(lambda _cancel: _proof(prover, number, block_hash, asked))
        return RenderedJson(proof)

    return get_storage_proof


def _proof(prover: StateProver, number: int, block_hash: bytes, asked: ProofRequest) -> bytes:
    try:
        proof = prover.prove(number, block_hash, asked)
    except StateProofError as error:
        raise unprovable_state(str(error)) from None
    if proof is None:
        # It has left the chain since the call began.
        raise block_not_found()
    return proof


def _asked(params: StorageProofParams) -> ProofRequest:
    slots = params.contracts_storage_keys
    keys = len(params.class_hashes) + len(params.contract_addresses) + sum(len(named) for _, named in slots)
    if keys > MOST_PROVED_KEYS:
        reason = f"too many keys: {keys}, want at most {MOST_PROVED_KEYS}"
        raise invalid_params("Invalid params", {"reason": reason})
    return ProofRequest(params.class_hashes, params.contract_addresses, slots)
