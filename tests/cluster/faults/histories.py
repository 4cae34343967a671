"""What was told to clients of a cluster, and whether any of it breaks a promise: pure functions.

Promises are those of docs/serving.md, docs/subscriptions.md and docs/cluster.md. Clients record what they are
told, in order and without judging it; everything is judged afterwards.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, TypeAlias

import msgspec

LOST_SECONDS: Final = 10.0
"""A transaction that the writer took so long before it was killed may have been in no block."""
KEPT_SECONDS: Final = 60.0
"""After which the replica that has acknowledged a transaction need not be there to send it again."""

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
    """When processes of the writer were killed."""
    replica_kills: Sequence[float]
    """When all processes of one of the replicas were killed."""
    journals: Sequence[Sequence[Entry]]
    """The log of the journal, as it was read from one Redis or another at one time or another."""
    epochs: Sequence[int]
    """Of the writer's lease, by time."""
    stands: Mapping[str, Mapping[str, str]]
    """How each node stood in the end."""
    canonical: Sequence[Mark]
    """All blocks in the end, by number."""
    canonical_logs: Sequence[Place]
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
    for before, after in pairwise(history.epochs):
        if after < before:
            yield f"epoch {after} came after {before}"


def _stands(history: History) -> Iterator[str]:
    names = list(history.stands)
    for name in names[1:]:
        first, other = history.stands[names[0]], history.stands[name]
        for key in sorted(first.keys() | other.keys()):
            if first.get(key) != other.get(key):
                yield f"{key} is {first.get(key)} at {names[0]}, and {other.get(key)} at {name}"
