"""Transactions that clients have sent through this node, until blocks include them or they are forgotten."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec

from wsnode.starknet.body import WITH_PROOF_FACTS, StoredBody, canonical, form_of, transaction_members
from wsnode.starknet.felt import Felt, decode_felt, felt_text
from wsnode.untrusted.decoding import JsonDecoder, MalformedError

RECEIVED: Final = "RECEIVED"
SENT_SECONDS: Final = 600
"""Seconds for which a sent transaction has the status RECEIVED if no block includes it."""
MAX_SENT_BYTES: Final = 16 << 20
"""Maximum number of bytes of the sent transactions that are kept; the oldest are dropped first."""
_BYTES_EACH: Final = 400
"""Approximate bytes of a kept transaction besides its text."""


class _Reply(msgspec.Struct, frozen=True):
    """Result of a method that sends a transaction."""

    transaction_hash: Felt
    class_hash: Felt | None = None
    contract_address: Felt | None = None


_decode_reply = JsonDecoder(_Reply, dec_hook=lambda _type, value: decode_felt(value)).decode


class _Kept(msgspec.Struct, frozen=True):
    sequence: int
    time: float
    size: int
    body: StoredBody


class SentTransactions:
    """Sent transactions by their hashes, in order, each as a body of one transaction."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._kept: dict[str, _Kept] = {}
        self.size = 0
        """Bytes of the kept transactions."""
        self.sequence = 0
        """Number of transactions that were added."""

    def add(self, transaction: dict[str, Any], reply: bytes) -> bool:
        """Keep a transaction that an upstream has accepted with the result `reply`; return False if it is
        kept already, or of no known form.
        """
        try:
            text, body = _body(transaction, _decode_reply(reply))
        except (MalformedError, ValueError):
            # The upstream's answer goes to the client as it is.
            return False
        self._forget()
        if text in self._kept:
            return False
        size = sum(memoryview(raw).nbytes for raw in (*body.transactions, *body.receipts)) + _BYTES_EACH
        self._kept[text] = _Kept(self.sequence, self._now(), size, body)
        self.sequence += 1
        self.size += size
        while self.size > MAX_SENT_BYTES:
            self._drop(next(iter(self._kept)))
        return True

    def find(self, transaction_hash: str) -> StoredBody | None:
        """Return a kept transaction as the only one of a body, None if it is not kept."""
        self._forget()
        kept = self._kept.get(transaction_hash)
        return None if kept is None else kept.body

    def after(self, sequence: int) -> Iterator[StoredBody]:
        """Yield the kept transactions from number `sequence` on, in order."""
        if sequence == self.sequence:
            return
        for kept in self._kept.values():
            if kept.sequence >= sequence:
                yield kept.body

    def _forget(self) -> None:
        end = self._now() - SENT_SECONDS
        while self._kept and (first := next(iter(self._kept))) and self._kept[first].time < end:
            self._drop(first)

    def _drop(self, text: str) -> None:
        self.size -= self._kept.pop(text).size


def _body(transaction: dict[str, Any], reply: _Reply) -> tuple[str, StoredBody]:
    """Return hash and body of a transaction, without what a result does not have: class and proof.

    Raises:
        ValueError: The transaction is of no known form.
    """
    form = form_of(transaction)
    named = {} if reply.class_hash is None else {"class_hash": felt_text(reply.class_hash)}
    members = transaction_members({**transaction, **named}, form)
    deployed = reply.contract_address
    receipt = {} if deployed is None else {"contract_address": felt_text(deployed)}
    facts = canonical(transaction.get("proof_facts") or []) if form == WITH_PROOF_FACTS else None
    text = felt_text(reply.transaction_hash)
    raw = [msgspec.Raw(msgspec.json.encode(each)) for each in (members, receipt)]
    return text, StoredBody(RECEIVED, [text], raw[:1], raw[1:], [facts])
