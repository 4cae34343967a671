"""The limits of a pool, which an operator can change, and the rules that only some chains' pools have."""

from typing import Annotated, Final, TypeAlias

import msgspec

from wsnode.jsonrpc.session_limits import Count, CountOrZero, MessageBytes, Seconds

ETHER: Final = 10**18
SLOT_BYTES: Final = 32 * 1024
Wei: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]


def _prefixed(name: str) -> str:
    """Return the name under which an operator finds a limit."""
    return f"pool_{name}"


class PoolLimits(msgspec.Struct, frozen=True, kw_only=True, rename=_prefixed):
    """The defaults are geth's (legacypool.DefaultConfig, blobpool.DefaultConfig) where it has the setting."""

    fee_cap: Wei = ETHER
    """The highest fee in wei that a sender may offer by mistake; 0 lets everything pass."""

    tip: Wei = 1
    """The lowest tip in wei."""

    price_bump: CountOrZero = 10
    """By how many percent a transaction must pay more than the one that it replaces."""

    blob_price_bump: CountOrZero = 100

    account_slots: Count = 16
    """Executable transactions guaranteed to each account."""

    global_slots: Count = 5120
    """Executable transactions of all accounts together, as soon as some have more than their slots."""

    account_queue: Count = 64
    """Transactions of an account that wait for one before them."""

    global_queue: Count = 1024

    account_blob_transactions: CountOrZero = 16

    gapped_blob_transactions: CountOrZero = 128
    """Blob transactions of all accounts that wait for one before them."""

    bytes: MessageBytes = 64 * 1024 * 1024
    """Bytes of all transactions, in the form in which the pool holds them."""

    blob_bytes: MessageBytes = 256 * 1024 * 1024
    """What the blobs take that are kept where a consensus client drives the chain; elsewhere none are."""

    queue_seconds: Seconds = 3 * 3600.0
    """Time for which an inactive account keeps its queued transactions."""

    gapped_blob_seconds: Seconds = 60.0

    @property
    def slots(self) -> int:
        """Return how many slots of 32 KiB there are; a transaction takes at least one."""
        return self.global_slots + self.global_queue


DEFAULT_POOL_LIMITS: Final = PoolLimits()
DEVELOPMENT_POOL_LIMITS: Final = PoolLimits(fee_cap=0, tip=0)
"""The defaults of development chains, whose ether is worth nothing."""


class PoolRules(msgspec.Struct, frozen=True, kw_only=True):
    """Rules beyond those of blocks, which protect senders from mistakes and public pools from abuse."""

    allows_unprotected: bool = False
    """Whether transactions are taken that name no chain, so that anybody can send them on another one too
    (geth: `--rpc.allow-unprotected-txs`)."""

    limits_delegated: bool = True
    """Whether an account whose code may spend its funds has one transaction at a time."""

    separates_blobs: bool = True
    """Whether an account has either transactions with blobs or others."""


DEFAULT_POOL_RULES: Final = PoolRules()
DEVELOPMENT_POOL_RULES: Final = PoolRules(
    allows_unprotected=True, limits_delegated=False, separates_blobs=False
)
"""The rules of development chains: none, as with anvil."""
