"""anvil_reorg and wsnode_reorg: reorganisations on demand, to test clients."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import PooledTransaction
from wsnode.ethereum.development.control import DevelopmentControl, Placed, Reorganisation
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.calls.named_contracts import targets
from wsnode.ethereum.rpc.development.accounts import MAX_GAS, Accounts
from wsnode.ethereum.rpc.development.mining import Steps, done
from wsnode.ethereum.rpc.development.parameters import LenientCount, PlacedTransaction, ReorganisationObject
from wsnode.ethereum.rpc.development.schemas import NOTHING, REORGANISED
from wsnode.ethereum.rpc.development.signing import SIGNING_ERRORS
from wsnode.ethereum.rpc.form.results import NULL
from wsnode.ethereum.rpc.transactions.fees import unsigned
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import InvalidTransactionError
from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.registry import Registry


class AnvilParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[depth, [[transaction, place of its block], …]]`."""

    depth: LenientCount
    transactions: list[PlacedTransaction]


class ObjectParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[{depth, transactions}]`."""

    reorganisation: ReorganisationObject


class Reorganising:
    """The reorganisation methods of one chain."""

    def __init__(self, chain: Chain, accounts: Accounts, control: DevelopmentControl) -> None:
        self._chain = chain
        self._accounts = accounts
        self._control = control

    def anvil(self, params: AnvilParameters) -> Steps:
        """Return null once the last `depth` blocks are replaced; their transactions are dropped."""
        given = self._placed(params.depth, params.transactions)
        outcome: Reorganisation = yield from done(
            lambda: self._control.reorganise(params.depth, given, keep_dropped=False)
        )
        if outcome.refused:
            index, reason = outcome.refused[0]
            raise invalid_params(f"transaction {index}: {reason}")
        return NULL

    def replace(self, params: ObjectParameters) -> Any:
        """Return the dropped and the new blocks; transactions of dropped blocks return to the pool."""
        wanted = params.reorganisation
        given = self._placed(wanted.depth, wanted.transactions)
        outcome: Reorganisation = yield from done(
            lambda: self._control.reorganise(wanted.depth, given, keep_dropped=True)
        )
        return _described(outcome)

    def _placed(self, depth: int, transactions: Sequence[PlacedTransaction]) -> list[Placed]:
        """Return the encoded transactions with their blocks; objects get their nonces from the branch."""
        sent = Counter[Address]()
        with self._chain.snapshot() as view:
            number = max(view.number - depth, 0)
            root = number, view.hash_of(number) or b""
            return [
                Placed(self._checked(each.encoded), None, each.block)
                if each.encoded is not None
                else self._completed(view, root, each, sent)
                for each in transactions
            ]

    def _checked(self, encoded: bytes) -> bytes:
        try:
            return PooledTransaction(self._chain.spec, encoded).encoded
        except InvalidTransactionError:
            raise invalid_params("Failed to decode transaction") from None

    def _completed(
        self, view: Snapshot, root: tuple[int, bytes], given: PlacedTransaction, sent: Counter[Address]
    ) -> Placed:
        call = given.call
        assert call is not None, "a transaction is either encoded or an object"
        sender = self._accounts.sender_of(call)
        account = view.state.account(sender, root)
        nonce = (account[0] if account else 0) + sent[sender] if call.nonce is None else call.nonce
        sent[sender] += 1
        transaction = unsigned(
            call,
            chain_id=view.spec.chain_id,
            nonce=nonce,
            gas=MAX_GAS if call.gas is None else call.gas,
            fees=self._accounts.completion.fees(view, call),
        )
        encoded, unsigned_sender = self._accounts.encode(sender, transaction)
        return Placed(encoded, unsigned_sender, given.block)


def _described(outcome: Reorganisation) -> dict[str, Any]:
    change = outcome.change
    described: dict[str, Any] = {
        "commonAncestor": outcome.ancestor.members(),
        "dropped": [head.members() for head in change.removed],
        "added": [head.members() for head in change.added],
    }
    if outcome.refused:
        described["refused"] = [{"index": index, "reason": reason} for index, reason in outcome.refused]
    return described


def _targets(params: AnvilParameters | ReorganisationObject) -> Iterable[int] | None:
    return targets([placed.call for placed in params.transactions if placed.call is not None])


def add_methods(registry: Registry, chain: Chain, accounts: Accounts, control: DevelopmentControl) -> None:
    """Register this module's methods."""
    reorganising = Reorganising(chain, accounts, control)
    method = partial(registry.method, view=False, errors=SIGNING_ERRORS)
    method("anvil_reorg", result=NOTHING, contracts=_targets)(reorganising.anvil)
    replacing = method(
        "wsnode_reorg", result=REORGANISED, contracts=lambda params: _targets(params.reorganisation)
    )
    replacing(reorganising.replace)
