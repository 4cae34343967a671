"""Choice of the head among the blocks of the upstreams, without input or output."""

from collections import Counter
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from wsnode.ethereum.head import Head

Number = TypeVar("Number", bound=int)


class Path(msgspec.Struct, frozen=True):
    """Path from the canonical chain to a block: `root` is the number of the last canonical block on it, and
    `beside` the blocks after that one.
    """

    root: int
    beside: tuple[Head, ...] = ()
    """Blocks on the path that are not canonical, lowest first."""


def chosen(paths: Sequence[Path], agree: int) -> Head | int | None:
    """Return the highest block that `agree` upstreams have: a number if it is canonical, None if there is
    none.

    Of two of the same height, a canonical one is preferred, then one of more upstreams, then one of the
    first.
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


def anchored(paths: Sequence[Path], anchor: Path, agree: int, ahead: int) -> Head | int:
    """Return the highest block that `agree` upstreams have on top of the proved one at the end of `anchor`.

    It is at most `ahead` blocks above the proved block, which is returned where no upstream has more. A
    canonical block is returned as its number.
    """
    proved = anchor.beside[-1] if anchor.beside else None
    number = anchor.root if proved is None else proved.number
    # A path contains a canonical proved block if it leaves the chain at that block or above. A proved block
    # beside the chain must be on the path itself.
    through = [path for path in paths if (path.root >= number if proved is None else proved in path.beside)]
    cut = [
        Path(
            min(path.root, number + ahead),
            tuple(head for head in path.beside if head.number <= number + ahead),
        )
        for path in through
    ]
    found = chosen(cut, agree)
    best = number if proved is None else proved
    if found is None:
        return best
    height = found.number if isinstance(found, Head) else found
    return found if height > number else best


def agreed_number(numbers: Sequence[Number], agree: int) -> Number | None:
    """Return the height that `agree` upstreams have reached, None if there are fewer."""
    return sorted(numbers, reverse=True)[agree - 1] if len(numbers) >= agree else None
