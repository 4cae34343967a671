"""Which blocks are still to come, from what is here and what is announced elsewhere."""

import pytest

from tests.ethereum.live.growing import GrowingChain
from wsnode.ethereum.live.block_barrier import (
    Announced,
    Awaited,
    BlockBarrier,
    MinBlock,
    NamedBlock,
    SeenHead,
    nothing_known,
)
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.primitives.values import Hash32

OTHER = Hash32(bytes(32))


def arrivals_of(growing: GrowingChain, announced: Announced = nothing_known) -> BlockBarrier:
    return BlockBarrier(Hub(growing.chain), announced, seconds=2, most=10)


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("0", MinBlock(0)),
        ("17", MinBlock(17)),
        ("0x11", MinBlock(17)),
        (f"17:0x{OTHER.hex()}", MinBlock(17, OTHER)),
        (f"0X11:0X{OTHER.hex()}", MinBlock(17, OTHER)),
    ],
)
def test_a_block_is_written_as_its_number_and_perhaps_its_hash(text: str, block: MinBlock) -> None:
    assert BlockBarrier.parse(text) == block


@pytest.mark.parametrize(
    "text", ["", "x", "-1", "0x", "1:", "1:0x12", ":0x12", "1 ", "९", str(1 << 63), "1:2:3", "latest", "+1"]
)
def test_what_names_no_block_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^a block is written NUMBER or NUMBER:HASH$"):
        BlockBarrier.parse(text)


def test_a_head_is_written_in_the_form_that_is_read(growing: GrowingChain) -> None:
    arrivals, head = arrivals_of(growing), growing.chain.head
    assert arrivals.written(None) == arrivals.written(head) == f"0:0x{head.hash.hex()}"
    assert BlockBarrier.parse(arrivals.written(head)) == MinBlock(0, head.hash)


@pytest.mark.parametrize(
    ("awaited", "highest", "is_due"),
    [
        (NamedBlock(2), None, False),
        (NamedBlock(2), 1, False),
        (NamedBlock(1), 2, False),
        (NamedBlock(2), 2, True),
        (NamedBlock(3), 2, False),
        (NamedBlock(None, OTHER), None, False),
        (NamedBlock(None, OTHER), 1, False),
        (NamedBlock(None, OTHER), 2, True),
        (SeenHead(2, OTHER), None, True),
        (SeenHead(2, OTHER), 1, True),
        (SeenHead(1, OTHER), None, False),
        (SeenHead(1, OTHER), 1, True),
        (MinBlock(2), None, True),
        (MinBlock(1), None, False),
        (MinBlock(1, OTHER), None, True),
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
        assert arrivals.has_come(SeenHead(block.number, block.hash))
        assert arrivals.has_come(MinBlock(block.number, block.hash))
    assert not arrivals.has_come(MinBlock(head.number))


def test_a_cursor_of_another_chain_below_what_is_final_waits_for_nothing(growing: GrowingChain) -> None:
    final = growing.grow()
    growing.grow()
    arrivals = arrivals_of(growing, lambda: 3)
    assert not arrivals.has_come(SeenHead(1, OTHER))
    growing.chain.mark_final(final)
    assert arrivals.has_come(SeenHead(1, OTHER))
    assert not arrivals.has_come(SeenHead(2, OTHER))
    assert not arrivals.has_come(MinBlock(1, OTHER)), "it must have been here"
