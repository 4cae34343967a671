"""Which block is the head, of those that the upstreams have: pure decisions."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from wsnode.ethereum.head import Head

Number = TypeVar("Number", bound=int)


class Path(msgspec.Struct, frozen=True):
    """The way to an upstream's verified head: the last canonical block on it, and those after that."""

    root: int
    beside: tuple[Head, ...] = ()
    """Lowest first."""


def chosen(paths: Sequence[Path], agree: int) -> Head | int | None:
    """Return the highest block that `agree` upstreams have; a canonical one by its number.

    Of two that are as high a canonical one stays; else the one that more have, else that of the first.
    """
    canonical = agreed_number([path.root for path in paths], agree)
    if canonical is None:
        return None
    support = Counter(head for path in paths for head in path.beside)
    beside = [head for head in support if support[head] >= agree and head.number > canonical]
    if not beside:
        return canonical
    # `max` takes the first of equals, and the counter has them in the order of the upstreams.
    return max(beside, key=lambda head: (head.number, support[head]))


def agreed_number(numbers: Sequence[Number], agree: int) -> Number | None:
    """Return the height that `agree` upstreams have reached."""
    return sorted(numbers, reverse=True)[agree - 1] if len(numbers) >= agree else None
