"""Which blocks are still to come, from what is here and what is announced elsewhere."""

import pytest

from tests.ethereum.live.growing import GrowingChain
from wsnode.ethereum.live.arrivals import Announced, Arrivals, Awaited, Demanded, Named, Seen, nothing_known
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.primitives.values import Hash32

OTHER = Hash32(bytes(32))


def arrivals_of(growing: GrowingChain, announced: Announced = nothing_known) -> Arrivals:
    return Arrivals(Hub(growing.chain), announced, seconds=2, most=10)


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("0", Demanded(0)),
        ("17", Demanded(17)),
        ("0x11", Demanded(17)),
        (f"17:0x{OTHER.hex()}", Demanded(17, OTHER)),
        (f"0X11:0X{OTHER.hex()}", Demanded(17, OTHER)),
    ],
)
def test_a_block_is_written_as_its_number_and_perhaps_its_hash(text: str, block: Demanded) -> None:
    assert Arrivals.parse(text) == block


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "0x", "1:", "1:0x12", ":0x12", "1 ", "९", str(1 << 63), "1:2:3", "latest", "+1"]
)
def test_what_names_no_block_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a block is written NUMBER or NUMBER:HASH$"):
        Arrivals.parse(text)


def test_a_head_is_written_in_the_form_that_is_read(growing: GrowingChain) -> None:
    arrivals, head = arrivals_of(growing), growing.chain.head
    assert arrivals.written(None) == arrivals.written(head) == f"0:0x{head.hash.hex()}"
    assert Arrivals.parse(arrivals.written(head)) == Demanded(0, head.hash)


@pytest.mark.parametrize(
    ("awaited", "highest", "is_due"),
    [
        (Named(2), None, False),
        (Named(2), 1, False),
        (Named(1), 2, False),
        (Named(2), 2, True),
        (Named(3), 2, False),
        (Named(None, OTHER), None, False),
        (Named(None, OTHER), 1, False),
        (Named(None, OTHER), 2, True),
        (Seen(2, OTHER), None, True),
        (Seen(2, OTHER), 1, True),
        (Seen(1, OTHER), None, False),
        (Seen(1, OTHER), 1, True),
        (Demanded(2), None, True),
        (Demanded(1), None, False),
        (Demanded(1, OTHER), None, True),
    ],
    ids=str,
)
def test_what_is_still_to_come(
    growing: GrowingChain, awaited: Awaited, highest: int | None, *, is_due: bool
) -> None:
    growing.grow()
    announced = nothing_known if highest is None else lambda: highest
    assert arrivals_of(growing, announced).is_due(awaited, 1) is is_due


def test_what_is_here_or_was_here_once_has_come(growing: GrowingChain) -> None:
    dropped = growing.grow()
    growing.reorganise(1, [[], []])
    head = growing.chain.head
    growing.shrink(1)
    arrivals = arrivals_of(growing, lambda: 5)
    for block in (dropped, head):
        assert arrivals.has_come(Seen(block.number, block.hash))
        assert arrivals.has_come(Demanded(block.number, block.hash))
    assert not arrivals.has_come(Demanded(head.number))


def test_a_cursor_of_another_chain_below_what_is_final_waits_for_nothing(growing: GrowingChain) -> None:
    final = growing.grow()
    growing.grow()
    arrivals = arrivals_of(growing, lambda: 3)
    assert not arrivals.has_come(Seen(1, OTHER))
    growing.chain.mark_final(final)
    assert arrivals.has_come(Seen(1, OTHER))
    assert not arrivals.has_come(Seen(2, OTHER))
    assert not arrivals.has_come(Demanded(1, OTHER)), "it must have been here"
