"""State of a followed chain that is not stored, and access to its upstreams."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, Final, Protocol

import msgspec

from wsnode.starknet.followed.pre_confirmed import PreConfirmedBlock
from wsnode.starknet.followed.sent import SentTransactions

MAX_FORWARDED: Final = 64
"""Maximum number of calls that are forwarded at the same time."""
MAX_FORWARDED_BYTES: Final = 32 << 20
"""Maximum number of bytes of the result of a forwarded call, or of the text of its error."""
FORWARDED_SECONDS: Final = 30
"""Seconds for an answer of any upstream to a forwarded call."""
MAX_PROVING: Final = 64
"""Maximum number of values of the state whose proofs calls await at the same time."""


class Forwarder(Protocol):
    """Sender of calls to one of several upstreams."""

    async def forward(self, method: str, params: dict[str, Any], *, rpc_version: str) -> bytes:
        """Return the JSON text of the result of a method, unchanged.

        `method` is named without its prefix. An upstream of the version `rpc_version` is preferred.

        Raises:
            RpcError: The upstream's error, unchanged; or no upstream answers, or its reply is too large.
        """
        ...


class ValueKind(Enum):
    """Kind of a value of a contract."""

    CLASS_HASH = "class_hash"
    NONCE = "nonce"
    SLOT = "slot"


class StateValue(msgspec.Struct, frozen=True):
    """Value of a contract; `key` is that of a slot, empty for other kinds."""

    kind: ValueKind
    address: bytes
    key: bytes = b""


class ProvedContract(msgspec.Struct, frozen=True):
    """Contract as a storage proof has it, with the value of one slot."""

    class_hash: bytes
    nonce: bytes
    slot: bytes


class ProofRequest(msgspec.Struct, frozen=True):
    """Leaves of the state's tries that a proof is to have."""

    class_hashes: Sequence[bytes] = ()
    contracts: Sequence[bytes] = ()
    storage: Sequence[tuple[bytes, Sequence[bytes]]] = ()
    """Contracts, each with the keys of slots."""


class StateReader(Protocol):
    """Reader of state that no stored block has written."""

    async def read(self, wanted: StateValue, number: int, block_hash: bytes) -> ProvedContract | None:
        """Return the contract of a value as it is after a stored block, None if it does not exist.

        Only `wanted` is valid after that block: the contract's other members may be of a later one.

        Raises:
            RpcError: No upstream proves it, the block has left the chain, or too many values are read.
        """
        ...

    async def prove(self, asked: ProofRequest, number: int, block_hash: bytes, root: bytes) -> bytes:
        """Return the result of getStorageProof for a stored block, verified by its state root `root`.

        Raises:
            RpcError: No upstream proves the state of the block, too many keys are asked for, or too many
                values are read.
        """
        ...

    async def read_class(self, class_hash: bytes, number: int, block_hash: bytes) -> bytes:
        """Return the JSON of a class as in results; a Sierra class has the hash `class_hash`.

        Raises:
            RpcError: An upstream has no such class as of the block, or no upstream answers.
        """
        ...


class FollowedState:
    """State of a followed chain that is not stored."""

    def __init__(
        self,
        forwarder: Forwarder,
        reader: StateReader,
        is_behind: Callable[[], bool],
        publish: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        """Hold the state.

        `is_behind` returns True while the chain is not at the upstreams' head; `publish` sends subscribers
        what has changed here; `now` returns the time in seconds.
        """
        self.forwarder = forwarder
        self.publish = publish
        self.sent = SentTransactions(now)
        """Transactions that were sent through this node."""
        self.reader = reader
        self.is_behind = is_behind
        self.l1_accepted: tuple[int, bytes] | None = None
        """Number and hash of the last block accepted on L1 by the upstreams; None before it is known."""
        self.pre_confirmed: PreConfirmedBlock | None = None
        """Block that an upstream is building; perhaps not on our head."""
