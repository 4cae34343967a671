"""Light client of the beacon chain: verifies headers signed by sync committees, from a trusted block root on.

It reads neither a clock nor a socket, and its objects are immutable. Answers are the bytes of the
Beacon API's JSON, `{version, data}` each. Slots are below 2**64, roots and hashes 32 bytes.
"""

from collections.abc import Sequence
from typing import final

class RefusedError(Exception):
    """Light-client data breaks a rule.

    `rule` is a stable name such as "signature" or "finality branch". `slot` is the slot of the header at
    fault, or None if the data could not be decoded.
    """

    rule: str
    slot: int | None

class OldCheckpointError(Exception):
    """The light client's finalized block is older than the network's weak subjectivity period.

    A chain on top of such a block could be forged. Its `slot` began at `since_seconds` since 1970,
    `age_seconds` ago.
    """

    slot: int
    since_seconds: int
    age_seconds: int

class LightClientRowError(Exception):
    """A stored row is of another network, of a later release, or damaged."""

@final
class BeaconNetwork:
    """Constants and fork schedule of a network, as far as a light client needs them."""

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
        """Return the start of a slot, in seconds since 1970."""

    def epoch(self, slot: int) -> int: ...
    def period(self, slot: int) -> int:
        """Return the number of the sync committee period of a slot."""

    def fork(self, slot: int) -> str:
        """Return the name of a slot's fork, in small letters."""

@final
class ProvedHeader:
    """Beacon header with a valid execution proof.

    `block_hash` is the hash of the execution block; since Gloas, of the parent's execution block; None
    before Capella.
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
    """Differences between the light clients before and after an update.

    There is none if less than two thirds of the committee have signed the update. `signers` is the number of
    members who signed. `optimistic` and `finalized` are True if that header is another one,
    `next_committee` if a next committee was learned, `period` if the next committee has become the current
    one. `equivocation` is set if the committee has signed two blocks of one slot: the slot, the root of the
    block kept, the root of the other, and True if both were finalized.
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
    """Headers and committees proved from a checkpoint on.

    `optimistic` is the newest header signed by two thirds of the committee, by `signers` members; these are 0
    if it is still the checkpoint. `finalized` is the newest finalized header, and `period` its sync
    committee period.
    """

    @staticmethod
    def bootstrap(network: BeaconNetwork, checkpoint: bytes, answer: bytes) -> LightClient:
        """Return a light client that begins at the beacon block with root `checkpoint`.

        It releases the interpreter's lock; 512 keys take about 14 ms.

        Raises:
            RefusedError: The answer is of another block, or does not prove its committee.
        """

    @staticmethod
    def decode(network: BeaconNetwork, row: bytes) -> LightClient:
        """Return the light client of a row written by `encode`.

        Raises:
            LightClientRowError: The row is of another network, of a later release, or damaged.
        """

    def take(self, kind: str, answer: bytes, clock_slot: int) -> tuple[LightClient, LightClientChange]:
        """Return the light client after an update, and the changes.

        `kind` is "update", "finality_update" or "optimistic_update"; `clock_slot` is the current slot. It
        releases the interpreter's lock, and takes about 3 ms; the first update signed by a committee takes
        14 ms more to decode its keys, unless `prepare` has.

        Raises:
            RefusedError: The update breaks a rule.
        """

    def prepare(self) -> None:
        """Decode the keys of all known committees into points, ahead of the updates that they sign.

        It releases the interpreter's lock. A committee of 512 keys takes 14 ms at the first call, and no
        time after it.
        """

    def require_recent(self, now_seconds: int) -> None:
        """Raise if the finalized slot began too long before `now_seconds`, in seconds since 1970.

        Raises:
            OldCheckpointError: It is older than `weak_subjectivity_seconds`.
        """

    def encode(self) -> bytes:
        """Return the light client as a row of the store: 25 kB for each committee of 512."""

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
    """Return the answers of a JSON list of at most 128 updates, each as `LightClient.take` takes it.

    Raises:
        RefusedError: The answer is not such a list.
    """
