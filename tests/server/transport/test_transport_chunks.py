"""Pieces are put together as far as they are small, and all of them arrive."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from wsnode.server.transport.transport import coalesce


@settings(max_examples=examples(300))
@given(st.lists(st.binary(max_size=30), max_size=30), st.integers(1, 40))
def test_all_bytes_of_the_pieces_are_in_parcels_and_only_the_last_is_small(
    pieces: list[bytes], most: int
) -> None:
    sent = list(coalesce(pieces, most))
    assert b"".join(sent) == b"".join(pieces)
    assert all(sent)
    assert all(len(parcel) <= most for parcel in sent if isinstance(parcel, bytes))
    # What follows a piece's rest may be small, as nothing of the next is cut off for it.
    assert all(len(one) + len(other) > most or isinstance(one, memoryview) for one, other in pairwise(sent))


def test_what_is_large_is_not_copied() -> None:
    large = b"0" * 1000
    first, rest = coalesce([b"head", large, b""], 64)
    assert first == b"head" + large[:60]
    assert isinstance(rest, memoryview)
    assert (rest.obj is large, len(rest)) == (True, 940)
