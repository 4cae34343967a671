"""What was told to clients of a cluster, and whether any of it breaks a promise: pure functions.

Promises are those of the pages serving, subscriptions and cluster in docs/reference. Clients record what they
are told, in order and without judging it; everything is judged afterwards.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec

LOST_SECONDS: Final = 10.0
"""A transaction that the writer took so long before it was killed may have been in no block."""
KEPT_SECONDS: Final = 60.0
"""After which the replica that has acknowledged a transaction need not be there to send it again."""
SIGHT_SECONDS: Final = 3.0
"""A node that had the lease so long ago has it still, if nothing happened."""
TAKEOVER_SECONDS: Final = 7.0
"""Until another node has the lease, if nothing else happens meanwhile; that is looked for twice a second."""
RECOVERY_SECONDS: Final = 5.0
"""After a fault, until a node that stands by is at the end of the journal again."""

Mark: TypeAlias = tuple[int, str]
"""A block by its number and hash."""
Place: TypeAlias = tuple[int, str, int]
"""A log by its block's number and hash, and its index."""


class Log(msgspec.Struct, frozen=True, tag=True):
    """A log came, or was taken back."""

    place: Place
    is_removed: bool = False


class Header(msgspec.Struct, frozen=True, tag=True):
    """A block became the head."""

    mark: Mark
    parent: str


class Reorganised(msgspec.Struct, frozen=True, tag=True):
    """A notice of a reorganisation came."""

    ancestor: Mark
    dropped: Sequence[Mark]


class Failed(msgspec.Struct, frozen=True, tag=True):
    """Something was told that should never be."""

    reason: str


class Answer(msgspec.Struct, frozen=True):
    """A reply to a client that demanded a block: the head, and whether that block is known."""

    demanded: Mark
    head: int
    is_known: bool


class Sent(msgspec.Struct, frozen=True):
    """A transaction that was acknowledged, in seconds after the begin."""

    hash: str
    at: float


class Entry(msgspec.Struct, frozen=True):
    """A record as a Redis had it: its id, the one before, and a digest of its content."""

    id: tuple[int, int]
    previous: tuple[int, int] | None
    digest: str
    block: str
    """The hash of the head after it."""


class Held(msgspec.Struct, frozen=True):
    """A node that said that it has the lease, in seconds after the begin."""

    at: float
    writer: str
    epoch: int


class Disturbance(msgspec.Struct, frozen=True):
    """A fault that is over, in seconds after the begin."""

    names: tuple[str, ...]
    """What it happened to, the target first."""
    begin: float
    end: float
    is_away: bool = False
    """Whether the target could not write for longer than its lease."""


class Fates(msgspec.Struct, frozen=True):
    """What became of transactions in the end."""

    mined: frozenset[str] = frozenset()
    pending: frozenset[str] = frozenset()
    """Those that any node's pool holds."""
    dropped: frozenset[str] = frozenset()
    """Those of blocks that were replaced by a reorganisation that does not give them back to the pool."""
    refused: frozenset[str] = frozenset()
    """Those that a node refuses if they are sent again: another one has their nonce."""


class History(msgspec.Struct):
    """Everything that was recorded."""

    logs: Mapping[str, Sequence[Log | Failed]]
    """By client, over all its connections."""
    heads: Mapping[str, Sequence[Header | Reorganised | Failed]]
    answers: Mapping[str, Sequence[Answer]]
    sent: Sequence[Sent]
    fates: Fates
    kills: Sequence[float]
    """When processes of the node that makes the blocks were killed."""
    replica_kills: Sequence[float]
    """When all processes of one of the replicas were killed."""
    journals: Sequence[Sequence[Entry]]
    """The log of the journal, as it was read from one Redis or another at one time or another."""
    held: Sequence[Held]
    """By time."""
    disturbances: Sequence[Disturbance]
    reliances: frozenset[str]
    """What a node that stands by needs in order to take the lease."""
    stands: Mapping[str, Mapping[str, str]]
    """How each node stood in the end."""
    canonical: Sequence[Mark]
    """All blocks in the end, by number."""
    canonical_logs: Sequence[Place]
    had: frozenset[str]
    """Of the blocks that were told, those that the node which makes them has, or had."""
    complaints: Sequence[str] = ()
    """What nodes did that they never should: they ended by themselves, refused a record, had a traceback."""


def violations(history: History) -> list[str]:
    """Return each promise that was broken, in a line."""
    return [
        *(f"{name}: {reason}" for name, told in history.logs.items() for reason in _logs(history, told)),
        *(f"{name}: {reason}" for name, told in history.heads.items() for reason in _heads(history, told)),
        *(
            f"{name}: {reason}"
            for name, told in history.answers.items()
            for reason in _answers(history, told)
        ),
        *_transactions(history),
        *_journals(history),
        *_epochs(history),
        *_takeovers(history),
        *_strangers(history),
        *_stands(history),
        *history.complaints,
    ]


def believed_logs(told: Sequence[Log | Failed]) -> list[Place]:
    """Return the logs that a client has after what it was told."""
    logs: dict[Place, None] = {}
    for each in told:
        if isinstance(each, Log):
            _take_log(logs, each)
    return list(logs)


def _take_log(logs: dict[Place, None], log: Log) -> str | None:
    """Add or remove a log, in whose order a dictionary is; return what is wrong with it."""
    if log.is_removed:
        last = next(reversed(logs), None)
        if log.place not in logs:
            return f"{log.place} was removed, but not there"
        del logs[log.place]
        return None if log.place == last else f"{log.place} was removed before a later one"
    if log.place in logs:
        return f"{log.place} was added twice"
    logs[log.place] = None
    return None


def _logs(history: History, told: Sequence[Log | Failed]) -> Iterator[str]:
    logs: dict[Place, None] = {}
    for each in told:
        reason = each.reason if isinstance(each, Failed) else _take_log(logs, each)
        if reason is not None:
            yield reason
    if list(logs) != list(history.canonical_logs):
        missing, strange = set(history.canonical_logs) - set(logs), set(logs) - set(history.canonical_logs)
        yield f"its logs are not the chain's: {len(missing)} missing, {len(strange)} of no block"


def believed_heads(told: Sequence[Header | Reorganised | Failed]) -> list[Mark]:
    """Return the chain that a client knows after what it was told."""
    chain: list[Mark] = []
    for each in told:
        if not isinstance(each, Failed):
            _take_head(chain, each)
    return chain


def _take_head(chain: list[Mark], told: Header | Reorganised) -> str | None:
    """Extend or shorten a chain; return what is wrong with that."""
    if isinstance(told, Reorganised):
        return _shorten(chain, told)
    last = chain[-1] if chain else None
    chain.append(told.mark)
    if last is None or (told.parent == last[1] and told.mark[0] == last[0] + 1):
        return None
    return f"{told.mark} came after {last}, and no reorganisation was told"


def _shorten(chain: list[Mark], told: Reorganised) -> str | None:
    if told.ancestor not in chain:
        return f"a reorganisation to {told.ancestor}, which was not told"
    place = chain.index(told.ancestor) + 1
    left = chain[place:]
    del chain[place:]
    unnamed = set(left) - set(told.dropped)
    return f"{min(unnamed)} was dropped, and not named" if unnamed else None


def _heads(history: History, told: Sequence[Header | Reorganised | Failed]) -> Iterator[str]:
    chain: list[Mark] = []
    for each in told:
        reason = each.reason if isinstance(each, Failed) else _take_head(chain, each)
        if reason is not None:
            yield reason
    first = chain[0][0] if chain else 0
    if not chain or chain != [mark for mark in history.canonical if mark[0] >= first]:
        yield f"its chain ends with {chain[-1:]}, the others' with {history.canonical[-1:]}"


def _answers(history: History, told: Sequence[Answer]) -> Iterator[str]:
    canonical = set(history.canonical)
    for answer in told:
        if not answer.is_known:
            yield f"{answer.demanded} was demanded, and unknown to the node that answered"
        elif answer.head < answer.demanded[0] and answer.demanded in canonical:
            yield f"{answer.demanded} was demanded, and {answer.head} was the head of the answer"


def _transactions(history: History) -> Iterator[str]:
    fates = history.fates
    settled = fates.mined | fates.pending | fates.dropped | fates.refused
    for sent in history.sent:
        # One of both is enough to have a transaction in a block.
        is_lost = _has_one(history.kills, sent.at, LOST_SECONDS) and _has_one(
            history.replica_kills, sent.at, KEPT_SECONDS
        )
        if sent.hash not in settled and not is_lost:
            yield f"transaction {sent.hash} of {sent.at:.2f} s was acknowledged, and is nowhere"


def _has_one(kills: Sequence[float], begin: float, seconds: float) -> bool:
    return any(begin <= kill <= begin + seconds for kill in kills)


def _journals(history: History) -> Iterator[str]:
    digests: dict[tuple[int, int], str] = {}
    for entries in history.journals:
        for entry in entries:
            if digests.setdefault(entry.id, entry.digest) != entry.digest:
                yield f"two records have the id {entry.id}"
        for before, after in pairwise(entries):
            if after.id <= before.id:
                yield f"record {after.id} comes after {before.id}"
            if after.previous != before.id:
                yield f"record {after.id} follows {after.previous}, and comes after {before.id}"


def _epochs(history: History) -> Iterator[str]:
    last: dict[str, int] = {}
    writers: dict[int, str] = {}
    for held in history.held:
        if held.epoch < (before := last.get(held.writer, 0)):
            yield f"epoch {held.epoch} came after {before} at {held.writer}"
        if (other := writers.setdefault(held.epoch, held.writer)) != held.writer:
            yield f"epoch {held.epoch} was given to {other} and to {held.writer}"
        last[held.writer] = held.epoch


def _takeovers(history: History) -> Iterator[str]:
    for fault, seconds in takeovers(history):
        if seconds is None:
            writer, away = fault.names[0], fault.end - fault.begin
            yield f"{writer} was away for {away:.2f} s from {fault.begin:.2f} s on, and kept the lease"


def takeovers(history: History) -> Iterator[tuple[Disturbance, float | None]]:
    """Yield each fault after which a lease had to move, and the seconds until it had, None if it had not."""
    for fault in history.disturbances:
        is_long = fault.is_away and fault.end - fault.begin >= TAKEOVER_SECONDS
        if is_long and _has_lease(history, fault.names[0], fault.begin) and not _is_excused(history, fault):
            yield fault, _moved_after(history, fault)


def _moved_after(history: History, fault: Disturbance) -> float | None:
    for held in history.held:
        if held.writer != fault.names[0] and fault.begin < held.at <= fault.end + SIGHT_SECONDS:
            return held.at - fault.begin
    return None


def _has_lease(history: History, writer: str, moment: float) -> bool:
    before = [held for held in history.held if moment - SIGHT_SECONDS <= held.at <= moment]
    return bool(before) and before[-1].writer == writer


def _is_excused(history: History, fault: Disturbance) -> bool:
    """Return whether another fault may have kept nodes from taking a lease."""
    begin, end = fault.begin - RECOVERY_SECONDS, fault.begin + TAKEOVER_SECONDS
    needed = history.reliances - {fault.names[0]}
    return any(
        other is not fault
        and other.begin <= end
        and other.end >= begin
        and not needed.isdisjoint(other.names)
        for other in history.disturbances
    )


def told_blocks(history: History) -> dict[str, str]:
    """Return the hashes of all blocks that were told, and each time to what."""
    told: dict[str, str] = {}
    for name, heads in history.heads.items():
        told.update((header.mark[1], name) for header in heads if isinstance(header, Header))
    for name, logs in history.logs.items():
        told.update((log.place[1], name) for log in logs if isinstance(log, Log))
    for name, answers in history.answers.items():
        told.update((answer.demanded[1], name) for answer in answers)
    told.update((entry.block, "the journal") for entries in history.journals for entry in entries)
    return told


def _strangers(history: History) -> Iterator[str]:
    for block, name in told_blocks(history).items():
        if block not in history.had:
            yield f"{name} was told of block {block}, which was never in the chain"


def _stands(history: History) -> Iterator[str]:
    names = list(history.stands)
    for name in names[1:]:
        first, other = history.stands[names[0]], history.stands[name]
        for key in sorted(first.keys() | other.keys()):
            if first.get(key) != other.get(key):
                yield f"{key} is {first.get(key)} at {names[0]}, and {other.get(key)} at {name}"
