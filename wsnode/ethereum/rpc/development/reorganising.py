"""anvil_reorg and wsnode_reorg: reorganisations on demand, to test clients."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.development.control import (
    ReorganisationRequest,
    ScheduledTransaction,
)
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.calls.message import targets
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.rpc.development.managed_accounts import MAX_GAS, DevelopmentAccountMethods
from wsnode.ethereum.rpc.development.mining import Steps, done
from wsnode.ethereum.rpc.development.parameters import (
    LenientCount,
    PlacedTransaction,
    PlacedTransactions,
    ReorganisationObject,
)
from wsnode.ethereum.rpc.development.schemas import NOTHING, REORGANISED
from wsnode.ethereum.rpc.development.signing import SIGNING_ERRORS
from wsnode.ethereum.rpc.fees.methods import head_header
from wsnode.ethereum.rpc.transactions.transaction_filler import unsigned
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import InvalidTransactionError
from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.parameters import ArgumentOrListParameters, PositionalOrNamedDecoder
from wsnode.jsonrpc.registry import Registry


class AnvilParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[depth, [[transaction, block], …]]`, or an object with the members `depth` and `tx_block_pairs`;
    `block` is the index of the transaction's block in the new branch.
    """

    depth: LenientCount
    tx_block_pairs: PlacedTransactions


class ObjectParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[{depth, transactions}]`."""

    reorganisation: ReorganisationObject


class ReorganisationMethods:
    """Handlers that reorganise a development chain."""

    def __init__(self, chain: Chain, accounts: DevelopmentAccountMethods, control: DevelopmentChain) -> None:
        self._chain = chain
        self._accounts = accounts
        self._control = control

    def anvil(self, params: AnvilParameters) -> Steps:
        """Return null once the last `depth` blocks are replaced; their transactions are dropped."""
        given = self._placed(params.tx_block_pairs)
        outcome: ReorganisationRequest = yield from done(
            lambda: self._control.reorganise(params.depth, given, keep_dropped=False)
        )
        if outcome.refused:
            index, reason = outcome.refused[0]
            raise invalid_params(f"transaction {index}: {reason}")
        return NULL

    def replace(self, params: ObjectParameters) -> Any:
        """Return the dropped and the new blocks; transactions of dropped blocks return to the pool."""
        wanted = params.reorganisation
        given = self._placed(wanted.transactions)
        outcome: ReorganisationRequest = yield from done(
            lambda: self._control.reorganise(wanted.depth, given, keep_dropped=True)
        )
        return _described(outcome)

    def _placed(self, transactions: Sequence[PlacedTransaction]) -> list[ScheduledTransaction]:
        """Return the transactions to place in new blocks; objects get nonces and fees from their blocks.

        Raises:
            RpcError: Bytes are no transaction, or an object can become none.
        """
        with self._chain.snapshot() as view:
            return [
                self._signed(each.encoded, each.block)
                if each.encoded is not None
                else self._incomplete(view, each)
                for each in transactions
            ]

    def _signed(self, encoded: bytes, block: int) -> ScheduledTransaction:
        try:
            transaction = PooledTransaction(self._chain.spec, encoded)
        except InvalidTransactionError:
            raise invalid_params("Failed to decode transaction") from None
        content = transaction.encoded
        return ScheduledTransaction(
            Address(transaction.sender), lambda _nonce, _base_fee: content, transaction.nonce, block
        )

    def _incomplete(self, view: Snapshot, given: PlacedTransaction) -> ScheduledTransaction:
        call = given.call
        assert call is not None, "a transaction is either encoded or an object"
        sender = self._accounts.sender_of(call)
        fees_at, chain_id = self._accounts.completion.fees_at(view, call), view.spec.chain_id

        def encode(nonce: int, base_fee: int | None) -> bytes:
            gas, fees = MAX_GAS if call.gas is None else call.gas, fees_at(base_fee)
            transaction = unsigned(call, chain_id=chain_id, nonce=nonce, gas=gas, fees=fees)
            return self._accounts.encode(sender, transaction)

        # A trial encoding refuses an impossible transaction before any block is dropped.
        encode(call.nonce or 0, head_header(view).base_fee)
        return ScheduledTransaction(
            sender, encode, call.nonce, given.block, is_impersonated=self._accounts.is_impersonated(sender)
        )


def _described(outcome: ReorganisationRequest) -> dict[str, Any]:
    change = outcome.change
    described: dict[str, Any] = {
        "commonAncestor": outcome.ancestor.members(),
        "dropped": [head.members() for head in change.removed],
        "added": [head.members() for head in change.added],
    }
    if outcome.refused:
        described["refused"] = [{"index": index, "reason": reason} for index, reason in outcome.refused]
    return described


def _targets(transactions: Iterable[PlacedTransaction]) -> Iterable[int] | None:
    return targets([placed.call for placed in transactions if placed.call is not None])


def add_methods(
    registry: Registry, chain: Chain, accounts: DevelopmentAccountMethods, control: DevelopmentChain
) -> None:
    """Register this module's methods."""
    reorganising = ReorganisationMethods(chain, accounts, control)
    method = partial(registry.method, view=False, errors=SIGNING_ERRORS)
    # alloy sends the parameters as an object, without an array.
    by_name = method(
        "anvil_reorg",
        result=NOTHING,
        contracts=lambda params: _targets(params.tx_block_pairs),
        decoder=PositionalOrNamedDecoder(AnvilParameters),
    )
    by_name(reorganising.anvil)
    replacing = method(
        "wsnode_reorg",
        result=REORGANISED,
        contracts=lambda params: _targets(params.reorganisation.transactions),
        decoder=ArgumentOrListParameters(ObjectParameters),
    )
    replacing(reorganising.replace)
