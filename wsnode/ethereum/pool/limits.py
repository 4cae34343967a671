"""Limits of a pool, set by the operator, and rules that differ between chains' pools."""

from typing import Annotated, Final, TypeAlias

import msgspec

from wsnode.jsonrpc.session_limits import Count, CountOrZero, MessageBytes, Seconds

ETHER: Final = 10**18
SLOT_BYTES: Final = 32 * 1024
Wei: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


def _prefixed(name: str) -> str:
    """Return the name of a limit in the settings."""
    return f"pool_{name}"


class PoolLimits(msgspec.Struct, frozen=True, kw_only=True, rename=_prefixed):
    """Limits of a pool; the defaults are geth's (legacypool.DefaultConfig, blobpool.DefaultConfig) where it
    has them.
    """

    fee_cap: Wei = ETHER
    """Highest fee of a transaction in wei, as a protection from mistakes; 0 for no limit."""

    tip: Wei = 1
    """Lowest tip in wei for a unit of gas."""

    price_bump: CountOrZero = 10
    """Percent by which a replacement must pay more than the replaced transaction."""

    blob_price_bump: CountOrZero = 100

    account_slots: Count = 16
    """Executable transactions guaranteed to each account."""

    global_slots: Count = 5120
    """Executable transactions of all accounts, enforced once some accounts have more than their slots."""

    account_queue: Count = 64
    """Queued transactions of one account."""

    global_queue: Count = 1024

    account_blob_transactions: CountOrZero = 16

    gapped_blob_transactions: CountOrZero = 128
    """Queued blob transactions of all accounts."""

    bytes: MessageBytes = 64 * 1024 * 1024
    """Bytes of all transactions, in the form in which the pool holds them."""

    blob_bytes: MessageBytes = 256 * 1024 * 1024
    """Bytes of kept blobs; they are kept only where a consensus client drives the chain."""

    queue_seconds: Seconds = 3 * 3600.0
    """Seconds for which an inactive account keeps its queued transactions."""

    gapped_blob_seconds: Seconds = 60.0

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
