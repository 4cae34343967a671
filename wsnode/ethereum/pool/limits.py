"""Limits of a pool, set by the operator, and rules that differ between chains' pools."""

from typing import Annotated, Final, TypeAlias

import msgspec

from wsnode.jsonrpc.session_limits import Count, CountOrZero, MessageBytes, Seconds

ETHER: Final = 10**18
SLOT_BYTES: Final = 32 * 1024
Wei: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


def _prefixed(name: str) -> str:
    return f"pool_{name}"


class PoolLimits(msgspec.Struct, frozen=True, kw_only=True, rename=_prefixed):
    """Limits of a pool; the defaults are geth's (legacypool.DefaultConfig, blobpool.DefaultConfig) where it
    has them.
    """

    fee_cap: Wei = ETHER
    """Wei: the fee of a transaction that is sent; 0: none is too high. Beyond it: -32000 `tx fee (…) exceeds
    the configured cap (1.00 ether)`.

    It protects senders from mistakes.
    """
    tip: Wei = 1
    """Wei: the lowest tip. Beyond it: -32000 `transaction gas price below minimum: …`."""
    price_bump: CountOrZero = 10
    """Percent: the lowest increase of a replacement's fees. Beyond it: -32000 `replacement transaction
    underpriced`.
    """
    blob_price_bump: CountOrZero = 100
    """Percent: the lowest increase for a transaction with blobs. Beyond it: -32000 `replacement transaction
    underpriced: …`.
    """
    account_slots: Count = 16
    """Transactions: executable transactions guaranteed to each account. Beyond it: those above may be
    dropped, see below.
    """
    global_slots: Count = 5120
    """Transactions: executable transactions of all accounts. Beyond it: the account with the most, if above
    its guaranteed slots, loses its last.
    """
    account_queue: Count = 64
    """Transactions: queued transactions of an account. Beyond it: -32000 `account limit exceeded: pooled 64
    txs`.
    """
    global_queue: Count = 1024
    """Transactions: queued transactions of all accounts. Beyond it: those of the account that has been
    inactive longest are dropped.
    """
    account_blob_transactions: CountOrZero = 16
    """Transactions: transactions with blobs of an account. Beyond it: -32000 `account limit exceeded: pooled
    16 txs`.
    """
    gapped_blob_transactions: CountOrZero = 128
    """Transactions: queued transactions with blobs. Beyond it: -32000 `nonce too high: …`."""
    bytes: MessageBytes = 64 * 1024 * 1024
    """Bytes: all transactions, which also take no more slots of 32 KiB than the limits above allow
    transactions. Beyond it: the cheapest are dropped, or -32000 `transaction underpriced`.
    """
    blob_bytes: MessageBytes = 256 * 1024 * 1024
    """Bytes: the blobs that are kept where a consensus client drives the chain ([engine.md](engine.md)).
    Beyond it: the oldest are dropped.
    """
    queue_seconds: Seconds = 3 * 3600.0
    """Seconds: the time for which an inactive account keeps its queued transactions. Beyond it: they are
    dropped.
    """
    gapped_blob_seconds: Seconds = 60.0
    """Seconds: the time for which a transaction with blobs may be queued. Beyond it: it is dropped."""

    @property
    def slots(self) -> int:
        """Return the number of slots of 32 KiB; each transaction takes at least one."""
        return self.global_slots + self.global_queue


DEFAULT_POOL_LIMITS: Final = PoolLimits()
DEVELOPMENT_POOL_LIMITS: Final = PoolLimits(fee_cap=0, tip=0)
"""Default limits of development chains, whose ether is worth nothing."""


class PoolRules(msgspec.Struct, frozen=True, kw_only=True):
    """Rules beyond those of blocks: they protect senders from mistakes, and public pools from abuse."""

    allows_unprotected: bool = False
    """True if transactions without a chain id are accepted, although they can be replayed on another chain
    (geth: `--rpc.allow-unprotected-txs`).
    """

    limits_delegated: bool = True
    """True if an account whose code may spend its funds has one transaction at a time."""

    separates_blobs: bool = True
    """True if an account has either transactions with blobs or others, not both."""


DEFAULT_POOL_RULES: Final = PoolRules()
DEVELOPMENT_POOL_RULES: Final = PoolRules(
    allows_unprotected=True, limits_delegated=False, separates_blobs=False
)
"""Rules of development chains: none, as in anvil."""
