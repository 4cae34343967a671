"""The method that proves classes, contracts and slots by a block's state root."""

from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.work import Await, RenderedJson, RunInThread, Step
from wsnode.starknet.followed.state import ProofRequest
from wsnode.starknet.proofs.prover import PROVED_BLOCKS, StateProofError, StateProver
from wsnode.starknet.rpc.errors import (
    block_not_found,
    history_unavailable,
    proof_too_old,
    unprovable_state,
)
from wsnode.starknet.rpc.params import MAX_PROVED_KEYS, StorageProofParams
from wsnode.starknet.rpc.resolution import resolve
from wsnode.starknet.snapshot import StarknetSnapshot

Steps = Generator[Step, Any, RenderedJson]


def storage_proof_handler(
    prover: StateProver,
) -> Callable[[StarknetSnapshot, StorageProofParams], Steps]:
    """Return the handler of getStorageProof."""

    def get_storage_proof(snapshot: StarknetSnapshot, params: StorageProofParams) -> Steps:
        """Return the nodes that prove classes, contracts and slots by the state root of a recent block.

        A node without all of the state passes on an upstream's proof once it is verified.
        """
        asked = _asked(params)
        state = resolve(snapshot, params.block_id)
        if state.is_pending:
            raise invalid_params("Invalid params", {"reason": "the pending block has no state root"})
        number, block_hash = state.number, state.block.hash
        is_cut_off = not snapshot.has_whole_state
        is_recent = (snapshot.head or 0) - number <= PROVED_BLOCKS
        if snapshot.followed is not None and (is_cut_off or not is_recent):
            prove = partial(snapshot.followed.reader.prove, asked, number, block_hash, state.block.new_root)
            passed_on: bytes = yield Await(prove)
            return RenderedJson(passed_on)
        if is_cut_off:
            raise history_unavailable(snapshot.first_block)
        if not is_recent:
            raise proof_too_old()
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
    if keys > MAX_PROVED_KEYS:
        reason = f"too many keys: {keys}, want at most {MAX_PROVED_KEYS}"
        raise invalid_params("Invalid params", {"reason": reason})
    return ProofRequest(params.class_hashes, params.contract_addresses, slots)
