"""The limits of a pool; an operator can change each."""

from typing import Annotated, Final, TypeAlias

import msgspec

from wsnode.jsonrpc.bounds import Allowance, Count, Room, Seconds

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

    price_bump: Allowance = 10
    """By how many percent a transaction must pay more than the one that it replaces."""

    blob_price_bump: Allowance = 100

    account_slots: Count = 16
    """Executable transactions guaranteed to each account."""

    global_slots: Count = 5120
    """Executable transactions of all accounts together, as soon as some have more than their slots."""

    account_queue: Count = 64
    """Transactions of an account that wait for one before them."""

    global_queue: Count = 1024

    account_blob_transactions: Allowance = 16

    gapped_blob_transactions: Allowance = 128
    """Blob transactions of all accounts that wait for one before them."""

    bytes: Room = 64 * 1024 * 1024
    """Bytes of all transactions, in the form in which the pool holds them."""

    blob_bytes: Room = 256 * 1024 * 1024
    """What the blobs take that are kept where a consensus client drives the chain; elsewhere none are."""

    queue_seconds: Seconds = 3 * 3600.0
    """Time for which an inactive account keeps its queued transactions."""

    gapped_blob_seconds: Seconds = 60.0

    @property
    def slots(self) -> int:
        """Return how many slots of 32 KiB there are; a transaction takes at least one."""
        return self.global_slots + self.global_queue


DEFAULT_POOL_LIMITS: Final = PoolLimits()
