"""Decoder of a pre-confirmed block: two replies of a node, checked against each other and our head."""

from typing import Annotated, Any, Final

import msgspec

from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.starknet.body import StoredBody, decode_body, stored_body
from wsnode.starknet.diff_json import decode_state_diff
from wsnode.starknet.dump.header_members import header_members
from wsnode.starknet.felt import ZERO, Felt, decode_felt, felt_bytes, felt_text
from wsnode.starknet.followed import PRE_CONFIRMED, PreConfirmedBlock
from wsnode.starknet.header_json import PENDING_MEMBERS
from wsnode.starknet.native import RefusedBlockError, verify_starknet_block
from wsnode.untrusted.decoding import JsonDecoder, MalformedError

_NONE: Final = felt_text(ZERO)


class _ToldTransaction(msgspec.Struct, frozen=True):
    type: str
    version: str
    nonce: str | None = None
    sender_address: str | None = None


class _ToldReceipt(msgspec.Struct, frozen=True):
    contract_address: str | None = None


class _ToldPair(msgspec.Struct, frozen=True):
    transaction: _ToldTransaction
    receipt: _ToldReceipt


class _ToldBlock(msgspec.Struct, frozen=True):
    block_number: BlockNumber
    timestamp: Annotated[int, msgspec.Meta(ge=0)]
    starknet_version: str
    transactions: list[_ToldPair]


class _ToldChanges(msgspec.Struct, frozen=True):
    state_diff: msgspec.Raw
    old_root: Felt | None = None


_decode_block = JsonDecoder(_ToldBlock).decode
_decode_members = JsonDecoder[dict[str, msgspec.Raw]](dict[str, msgspec.Raw]).decode
_decode_changes = JsonDecoder(_ToldChanges, dec_hook=lambda _type, value: decode_felt(value)).decode


class Base(msgspec.Struct, frozen=True):
    """Head on which a pre-confirmed block is built: its number, its hash and its state root."""

    number: int
    hash: bytes
    root: bytes


def count_transactions(block: bytes) -> int:
    """Return the number of transactions in a result of `getBlockWithReceipts`.

    Raises:
        MalformedError: It is no such result.
    """
    return len(_decode_block(block).transactions)


def decode_pre_confirmed(block: bytes, update: bytes, base: Base, chain_id: str) -> PreConfirmedBlock | None:
    """Return the pre-confirmed block of the results of `getBlockWithReceipts` and `getStateUpdate`.

    Transaction hashes are recomputed. The result is None if the block is not on `base`, or if the two
    replies are of different moments: they must have the same senders with the same nonces.

    Raises:
        MalformedError: A member is missing or malformed, or a transaction has another hash.
    """
    told, changes = _decode_block(block), _decode_changes(update)
    try:
        diff = decode_state_diff(changes.state_diff)
        senders = _nonces(told)
    except ValueError as error:
        raise MalformedError(f"the pre-confirmed block: {error}") from None
    if told.block_number != base.number + 1 or changes.old_root not in (None, base.root):
        return None
    if senders != dict(diff.nonces):
        return None
    members = header_members(block)
    header: dict[str, Any] = {
        "block_number": told.block_number,
        "timestamp": told.timestamp,
        **{name: members[name] for name in PENDING_MEMBERS if name in members},
        "starknet_version": told.starknet_version,
    }
    body = _verified_body(block, update, base, chain_id)
    names_old_root = changes.old_root is not None
    return PreConfirmedBlock(base.hash, told.block_number, header, body, diff, names_old_root=names_old_root)


def _nonces(told: _ToldBlock) -> dict[bytes, bytes]:
    """Return the nonce of each sender after its last transaction.

    Raises:
        ValueError: An address or a nonce is no felt.
    """
    nonces: dict[bytes, bytes] = {}
    for pair in told.transactions:
        transaction = pair.transaction
        sender = (
            pair.receipt.contract_address
            if transaction.type == "DEPLOY_ACCOUNT"
            else transaction.sender_address
        )
        # Messages from L1, and transactions of version 0, change no nonce.
        if transaction.type == "L1_HANDLER" or sender is None or transaction.nonce is None:
            continue
        nonces[felt_bytes(sender)] = _next(felt_bytes(transaction.nonce))
    return nonces


def _next(nonce: bytes) -> bytes:
    return (int.from_bytes(nonce, "big") + 1).to_bytes(32, "big")


def _verified_body(block: bytes, update: bytes, base: Base, chain_id: str) -> StoredBody:
    """Return the transactions and receipts in the stored form; transaction hashes are recomputed."""
    # The engine requires these members, which a block gets only when it is sealed.
    links = {"parent_hash": felt_text(base.hash), "new_root": _NONE, "block_hash": _NONE}
    changes = {"old_root": felt_text(base.root), "new_root": _NONE, "block_hash": _NONE}
    try:
        linked, changed = _with_members(block, links), _with_members(update, changes)
        proof = verify_starknet_block(linked, changed, chain_id, is_sealed=False)
        return decode_body(stored_body(block, proof, PRE_CONFIRMED))
    except RefusedBlockError as error:
        wrong = f"{error.member}: expected {error.expected}, got {error.actual}"
        raise MalformedError(f"the pre-confirmed block: {wrong}") from None
    except MalformedError:
        raise
    except ValueError as error:
        raise MalformedError(f"the pre-confirmed block: {error}") from None


def _with_members(text: bytes, members: dict[str, str]) -> bytes:
    """Return a JSON object with these members, felts as text, in place of its own.

    Raises:
        MalformedError: The text is no object.
    """
    return msgspec.json.encode({**_decode_members(text), **members})
