"""testing_buildBlockV1 of execution-apis: builds a block on the head without adding it to the chain."""

from collections.abc import Callable, Sequence

import msgspec

from wsnode.ethereum.building.gas_limit import gas_limit_after
from wsnode.ethereum.building.next_block import NextBlockAttributes, continues, named_sender
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.payloads.builds import block_value
from wsnode.ethereum.payloads.payload import PayloadFork, envelope
from wsnode.ethereum.pool.entry import BLOB_TYPE
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.lookup import rows
from wsnode.ethereum.rpc.common.parameters import Data
from wsnode.ethereum.rpc.engine.attributes import AttributesParameter, EncodedTransactions
from wsnode.ethereum.rpc.engine.schemas import BUILT_BLOCK
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec, InvalidBlockError, InvalidTransactionError, ReorganisedError
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import ReplyChunks, RunInThread, Steps


class BuildParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[parent, attributes, transactions, extra data]`; without `transactions`, those of the pool."""

    parent: Hash32
    attributes: AttributesParameter
    transactions: EncodedTransactions | None = None
    extra_data: Data | None = None


class TestingMethods:
    """Handler of testing_buildBlockV1; without a pool, `null` in place of the transactions means none."""

    def __init__(
        self, pool: TransactionPool | None, next_block: Callable[[Header], NextBlockAttributes]
    ) -> None:
        """Make the methods; `next_block` decides the gas limit of a block without a target."""
        self._pool = pool
        self._next_block = next_block

    def build_block(self, view: Snapshot, params: BuildParameters) -> Steps:
        """Return a new block on the head, in the form of engine_getPayload's result."""
        if params.parent != view.head.hash:
            raise server_error("parentHash is not current head")
        parent = rows(view, view.number)
        assert parent is not None, "the head is stored"
        header = header_fields(parent[0])
        if not continues(header):
            raise server_error("no block can follow on this chain")
        if params.attributes.value.timestamp <= header.timestamp:
            given = params.attributes.value.timestamp
            raise server_error(f"invalid timestamp, parent {header.timestamp} given {given}")
        transactions, senders = self._transactions(view.spec, params.transactions)
        gas_limit = self._gas_limit(header, params.attributes.value.target_gas_limit)
        attributes = params.attributes.value.decided(gas_limit, params.extra_data or b"")
        try:
            built, refused = yield RunInThread(
                lambda _cancel: view.state.build_block(parent, attributes, transactions, senders=senders)
            )
        except ReorganisedError:
            raise header_not_found() from None
        except InvalidBlockError as error:
            # A build fails like this only if a system contract fails.
            raise server_error(str(error)) from None
        if refused and params.transactions is not None:
            raise server_error(refused[0][1])
        # The reply has the members of the latest version of the envelope, whatever the time of the block.
        return ReplyChunks(envelope(built, block_value(built), (), PayloadFork.OSAKA))

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
        # Blob transactions are left out: the reply would have to hold their blobs, which few nodes keep.
        chosen = [transaction for transaction in executable if transaction.type != BLOB_TYPE]
        return [transaction.encoded for transaction in chosen], list(map(named_sender, chosen))


def _decoded(spec: ChainSpec, index: int, encoded: bytes) -> PooledTransaction:
    try:
        return PooledTransaction(spec, encoded)
    except InvalidTransactionError as error:
        raise server_error(f"invalid transaction {index}: {error}") from None


def add_methods(
    registry: Registry, pool: TransactionPool | None, next_block: Callable[[Header], NextBlockAttributes]
) -> None:
    """Register this module's methods."""
    method = registry.method(
        "testing_buildBlockV1",
        result=BUILT_BLOCK,
        errors=(server_error("invalid timestamp, parent N given M"),),
    )
    method(TestingMethods(pool, next_block).build_block)
