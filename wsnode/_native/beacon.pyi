"""A light client of the beacon chain: what the sync committee has signed, from a trusted block root on.

It is pure: it reads neither a clock nor a socket, and its objects never change. Answers are the bytes of the
Beacon API's JSON, `{version, data}` each. Slots are below 2**64, roots and hashes 32 bytes.
"""

from collections.abc import Sequence
from typing import final

class RefusedError(Exception):
    """Light-client data breaks a rule.

    `rule` is a stable name such as "signature" or "finality branch"; `slot` is that of the header that breaks
    it, None where none could be read.
    """

    rule: str
    slot: int | None

class OldCheckpointError(Exception):
    """The newest finalized block that is known is so old that a chain on top of it could be forged.

    `slot` began at `since_seconds` since 1970, `age_seconds` ago; up to `most_seconds` are allowed.
    """

    slot: int
    since_seconds: int
    age_seconds: int
    most_seconds: int

class LightClientRowError(Exception):
    """A stored row is of another network, of a later release, or damaged."""

@final
class BeaconNetwork:
    """What a light client must know of a network."""

    def __new__(
        cls,
        *,
        genesis_validators_root: bytes,
        genesis_time_seconds: int,
        slot_milliseconds: int,
        committee_size: int,
        slots_per_epoch: int,
        epochs_per_period: int,
        weak_subjectivity_seconds: int,
        forks: Sequence[tuple[str, int, bytes]],
    ) -> BeaconNetwork:
        """Return a network; `forks` are names in small letters, first epochs and versions of 4 bytes.

        Raises:
            ValueError: No network has these numbers, or the forks are not in the order of their epochs.
        """

    def slot_at(self, milliseconds: int) -> int:
        """Return the slot of a time in milliseconds since 1970; 0 before genesis."""

    def slot_start(self, slot: int) -> int:
        """Return the time at which a slot begins, in seconds since 1970."""

    def epoch(self, slot: int) -> int:
        """Return the epoch of a slot."""

    def period(self, slot: int) -> int:
        """Return the period of the sync committee that signs in a slot."""

    def fork(self, slot: int) -> str:
        """Return the name of the fork of a slot."""

@final
class ProvedHeader:
    """A beacon header whose execution proof holds.

    `block_hash` is that of its execution block, of its parent's since Gloas, and None before Capella.
    """

    @property
    def slot(self) -> int: ...
    @property
    def root(self) -> bytes: ...
    @property
    def block_hash(self) -> bytes | None: ...
    def __eq__(self, value: object, /) -> bool: ...
    def __ne__(self, value: object, /) -> bool: ...
    def __lt__(self, value: object, /) -> bool: ...
    def __le__(self, value: object, /) -> bool: ...
    def __gt__(self, value: object, /) -> bool: ...
    def __ge__(self, value: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class LightClientChange:
    """What an update has changed: nothing, if fewer than two thirds of the committee have signed it.

    `signers` have signed it. `optimistic` and `finalized` say that there is another proved head and another
    finalized header; `next_committee`, that it is known now; `period`, that it has become the current one.
    `equivocation` is slot, root that stays, root that does not, and whether both were told to be final, where
    the committee has signed two blocks of one slot.
    """

    @property
    def signers(self) -> int: ...
    @property
    def optimistic(self) -> bool: ...
    @property
    def finalized(self) -> bool: ...
    @property
    def next_committee(self) -> bool: ...
    @property
    def period(self) -> bool: ...
    @property
    def equivocation(self) -> tuple[int, bytes, bytes, bool] | None: ...

@final
class LightClient:
    """What is proved from a checkpoint on.

    `optimistic` is the proved head, which `signers` members have signed (0 where it is the checkpoint), and
    `finalized` the newest header that is final; `period` is that of its committee.
    """

    @staticmethod
    def bootstrap(network: BeaconNetwork, checkpoint: bytes, answer: bytes) -> LightClient:
        """Return the light client that begins at a block of the beacon chain.

        It releases the interpreter's lock; 512 keys take about 14 ms.

        Raises:
            RefusedError: The answer is not of the block, or does not prove its committee.
        """

    @staticmethod
    def decode(network: BeaconNetwork, row: bytes) -> LightClient:
        """Return what `encode` has written.

        Raises:
            LightClientRowError: The row is of another network, of a later release, or damaged.
        """

    def take(self, kind: str, answer: bytes, clock_slot: int) -> tuple[LightClient, LightClientChange]:
        """Return what follows from an update, and what it changes.

        `kind` is "update", "finality_update" or "optimistic_update". It releases the interpreter's lock, and
        takes about 3 ms, or 14 ms more where the keys of the committee that signs are not points yet.

        Raises:
            RefusedError: The update breaks a rule.
        """

    def prepare(self) -> None:
        """Have the keys of all known committees as points, ahead of the updates that they sign.

        It releases the interpreter's lock, and takes 14 ms for each committee that is new.
        """

    def require_recent(self, now_seconds: int) -> None:
        """Raise if the finalized header is older than the network's weak subjectivity allows.

        Raises:
            OldCheckpointError: It is.
        """

    def encode(self) -> bytes:
        """Return the row that keeps it: 25 kB a committee of 512."""

    @property
    def checkpoint(self) -> bytes: ...
    @property
    def finalized(self) -> ProvedHeader: ...
    @property
    def optimistic(self) -> ProvedHeader: ...
    @property
    def signers(self) -> int: ...
    @property
    def period(self) -> int: ...
    @property
    def next_committee_known(self) -> bool: ...

def split_updates(answer: bytes) -> list[bytes]:
    """Return the answers of a list of at most 128 updates.

    Raises:
        RefusedError: The answer is not such a list.
    """
