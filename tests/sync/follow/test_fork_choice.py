"""Which block is the head, of those that upstreams have."""

import pytest

from wsnode.ethereum.head import Head
from wsnode.ethereum.primitives.values import BlockNumber, Hash32
from wsnode.sync.follow.fork_choice import Path, agreed_number, anchored, chosen


def block(number: int, name: str = "x") -> Head:
    return Head(BlockNumber(number), Hash32(name.encode() * 32))


A, B, C = block(11, "a"), block(11, "b"), block(12, "c")


@pytest.mark.parametrize(
    ("paths", "agree", "found"),
    [
        ([], 1, None),
        ([Path(10)], 2, None),
        ([Path(10)], 1, 10),
        ([Path(10), Path(8)], 1, 10),
        ([Path(10), Path(8)], 2, 8),
        ([Path(10, (A,)), Path(10)], 1, A),
        ([Path(10, (A,)), Path(10)], 2, 10),
        ([Path(11), Path(10, (B,))], 1, 11),
        ([Path(10, (A,)), Path(10, (B,)), Path(10, (B,))], 1, B),
        ([Path(10, (A,)), Path(10, (B,))], 1, A),
        ([Path(10, (A, C)), Path(10, (A,)), Path(10, (B,))], 2, A),
        ([Path(10, (A, C)), Path(10, (A, C)), Path(10, (B,))], 2, C),
        ([Path(5, (block(6),)), Path(5, (block(6),)), Path(10)], 2, block(6)),
    ],
    ids=[
        "nobody",
        "too few",
        "one",
        "the highest of ours",
        "the highest that both have",
        "a block beside",
        "a block beside that one alone has",
        "of two as high ours",
        "of two as high the one that more have",
        "of two as high the first's",
        "what two have below their heads",
        "what two have",
        "a lower branch that two are on",
    ],
)
def test_the_highest_block_that_enough_have_is_the_head(
    paths: list[Path], agree: int, found: Head | int | None
) -> None:
    assert chosen(paths, agree) == found


def test_the_height_that_enough_have_reached() -> None:
    assert agreed_number([5, 9, 7], 1) == 9
    assert agreed_number([5, 9, 7], 2) == 7
    assert agreed_number([5], 2) is None


D, E = block(13, "d"), block(14, "e")
LONG = tuple(block(number) for number in range(11, 30))


@pytest.mark.parametrize(
    ("paths", "anchor", "agree", "found"),
    [
        pytest.param([], Path(10), 1, 10, id="nobody"),
        pytest.param([], Path(10, (A,)), 1, A, id="nobody, and the proved block beside the chain"),
        pytest.param([Path(10, (A, C))], Path(10), 1, C, id="on top of a canonical proved block"),
        pytest.param(
            [Path(10, (A, C))], Path(10, (A,)), 1, C, id="on top of a proved block beside the chain"
        ),
        pytest.param([Path(10, (B, D))], Path(10, (A,)), 1, A, id="a higher branch without the proved block"),
        pytest.param([Path(8, (block(9),))], Path(10), 1, 10, id="a branch that leaves the chain below it"),
        pytest.param([Path(14)], Path(10), 1, 14, id="canonical, above the proved block"),
        pytest.param([Path(9)], Path(10), 1, 10, id="below the proved block"),
        pytest.param([Path(10, (A, C)), Path(10, (A,))], Path(10), 2, A, id="what two have"),
        pytest.param([Path(10, (A,)), Path(9)], Path(10), 2, 10, id="too few are on top of it"),
        pytest.param([Path(10, LONG)], Path(10), 1, LONG[7], id="eight blocks at the most"),
        pytest.param([Path(40)], Path(10), 1, 18, id="eight canonical blocks at the most"),
        pytest.param([Path(10, LONG)], Path(10, LONG[:2]), 1, LONG[9], id="eight above one beside the chain"),
    ],
)
def test_a_proved_block_bounds_the_choice(
    paths: list[Path], anchor: Path, agree: int, found: Head | int
) -> None:
    assert anchored(paths, anchor, agree, 8) == found
