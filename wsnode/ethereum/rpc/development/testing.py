"""testing_buildBlockV1 of execution-apis: builds a block on the head without adding it to the chain."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from wsnode.ethereum.building.gas_limit import gas_limit_after
from wsnode.ethereum.building.next_block import NextBlock, continues, named_sender
from wsnode.ethereum.codec.blocks import BuiltBlock, VerifiedBlock
from wsnode.ethereum.codec.rendering import render_block, render_receipts
from wsnode.ethereum.codec.rlp import block_transactions
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.pool.entry import BLOB_TYPE
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.rpc.development.payload_attributes import EncodedTransactions, PayloadAttributes
from wsnode.ethereum.rpc.development.schemas import BUILT_BLOCK
from wsnode.ethereum.rpc.form.lookup import rows
from wsnode.ethereum.rpc.form.parameters import Payload
from wsnode.ethereum.rpc.form.results import header_not_found
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import BlockAttributes, ChainSpec, InvalidTransactionError, ReorganisedError
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import InThread, Steps

_SAME: Final = (
    *("parentHash", "stateRoot", "receiptsRoot", "logsBloom", "gasLimit", "gasUsed", "timestamp"),
    *("extraData", "baseFeePerGas", "withdrawals", "blobGasUsed", "excessBlobGas"),
)


class BuildParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[parent, attributes, transactions, extra data]`; without `transactions`, those of the pool."""

    parent: Hash32
    attributes: PayloadAttributes
    transactions: EncodedTransactions | None = None
    extra_data: Payload | None = None


class Testing:
    """The method; without a pool, `null` transactions mean none."""

    def __init__(self, pool: TransactionPool | None, next_block: Callable[[Header], NextBlock]) -> None:
        """`next_block` gives the gas limit of a block without a target."""
        self._pool = pool
        self._next_block = next_block

    def build_block(self, view: Snapshot, params: BuildParameters) -> Steps:
        """Return a new block on the head, in the form of engine_getPayload's result."""
        if params.parent != view.head_hash:
            raise server_error("parentHash is not current head")
        parent = rows(view, view.head)
        assert parent is not None, "the head is stored"
        header = header_fields(parent[0])
        if not continues(header):
            raise server_error("there is no block to come on this chain")
        if params.attributes.timestamp <= header.timestamp:
            given = params.attributes.timestamp
            raise server_error(f"invalid timestamp, parent {header.timestamp} given {given}")
        transactions, senders = self._transactions(view.spec, params.transactions)
        attributes = _attributes(params, self._gas_limit(header, params.attributes.target_gas_limit))
        try:
            built, refused = yield InThread(
                lambda _cancel: view.state.build_block(parent, attributes, transactions, senders=senders)
            )
        except ReorganisedError:
            raise header_not_found() from None
        if refused and params.transactions is not None:
            raise server_error(refused[0][1])
        return _envelope(built)

    def _gas_limit(self, parent: Header, target: int | None) -> int:
        return (
            self._next_block(parent).gas_limit
            if target is None
            else gas_limit_after(parent.gas_limit, target)
        )

    def _transactions(
        self, spec: ChainSpec, given: Sequence[bytes] | None
    ) -> tuple[list[bytes], list[bytes | None]]:
        """Return the transactions, and for each its impersonated sender or None."""
        if given is not None:
            encoded = [_decoded(spec, index, encoded).encoded for index, encoded in enumerate(given)]
            return encoded, [None] * len(encoded)
        executable = [] if self._pool is None else self._pool.executable()
        # The reply would have to hold their blobs, which are not kept.
        chosen = [transaction for transaction in executable if transaction.type != BLOB_TYPE]
        return [transaction.encoded for transaction in chosen], list(map(named_sender, chosen))


def _decoded(spec: ChainSpec, index: int, encoded: bytes) -> PooledTransaction:
    try:
        return PooledTransaction(spec, encoded)
    except InvalidTransactionError as error:
        raise server_error(f"invalid transaction {index}: {error}") from None


def _attributes(params: BuildParameters, gas_limit: int) -> BlockAttributes:
    told = params.attributes
    return BlockAttributes(
        timestamp=told.timestamp,
        fee_recipient=told.fee_recipient,
        prev_randao=told.prev_randao,
        gas_limit=gas_limit,
        parent_beacon_block_root=told.parent_beacon_block_root or bytes(32),
        extra_data=params.extra_data or b"",
        withdrawals=told.withdrawals,
    )


def _envelope(built: BuiltBlock) -> dict[str, Any]:
    block: dict[str, Any] = msgspec.json.decode(render_block(built.header, built.body, full=False))
    payload: dict[str, Any] = {name: block[name] for name in _SAME if name in block}
    payload |= {
        "feeRecipient": block["miner"],
        "prevRandao": block["mixHash"],
        "blockNumber": block["number"],
        "blockHash": block["hash"],
        "transactions": list(map(hexadecimal, block_transactions(built.header, built.body))),
    }
    return {
        "executionPayload": payload,
        "blockValue": hex(_value(built, int(block.get("baseFeePerGas", "0x0"), 16))),
        "blobsBundle": {"commitments": [], "proofs": [], "blobs": []},
        "executionRequests": list(map(hexadecimal, built.requests)),
        "shouldOverrideBuilder": False,
    }


def _value(built: VerifiedBlock, base_fee: int) -> int:
    """Return the value of the block to its proposer, in wei."""
    receipts = msgspec.json.decode(render_receipts(built.header, built.body, built.receipts))
    gains = ((int(receipt["gasUsed"], 16), int(receipt["effectiveGasPrice"], 16)) for receipt in receipts)
    return sum(gas * (price - base_fee) for gas, price in gains)


def add_methods(
    registry: Registry, pool: TransactionPool | None, next_block: Callable[[Header], NextBlock]
) -> None:
    """Register this module's methods."""
    method = registry.method(
        "testing_buildBlockV1",
        result=BUILT_BLOCK,
        errors=(server_error("invalid timestamp, parent N given M"),),
    )
    method(Testing(pool, next_block).build_block)
