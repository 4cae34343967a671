"""Pages of logs are cut where their bytes end, and lead from one to the next."""

from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.ethereum.rpc.logs.test_methods import shared_chain
from tests.slices import result_of
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.pages import LogPage, page_of_logs
from wsnode.ethereum.snapshot import Snapshot

ROOMY = 1 << 30


def pages(view: Snapshot, *, room: int, most: int | None = None) -> Iterator[LogPage]:
    """Yield the pages of all logs of the chain."""
    begin, end, is_last = 0, view.log_count_before(view.number + 1), False
    while not is_last:
        page: LogPage = result_of(page_of_logs(view.reader, LogFilter(), begin, end, room=room, most=most))
        yield page
        number, index = page.last_place
        begin, is_last = view.log_count_before(number) + index + 1, page.is_last


def size(texts: list[bytes]) -> int:
    return sum(len(text) + 1 for text in texts)


@pytest.mark.slow
@shared_chain
@given(room=st.integers(1, 20_000), most=st.none() | st.integers(1, 40))
def test_pages_hold_what_fits_and_a_larger_log_alone(
    room: int, most: int | None, execution_apis_chain: Chain
) -> None:
    with execution_apis_chain.snapshot() as view:
        (whole,) = pages(view, room=ROOMY)
        found = list(pages(view, room=room, most=most))
        assert [log for page in found for log in page.logs()] == list(whole.logs())
        for page, following in pairwise(found):
            assert len(page.texts) <= (most or ROOMY)
            assert size(page.texts) <= room or len(page.texts) == 1
            is_full = size([*page.texts, following.texts[0]]) > room
            assert is_full or len(page.texts) == max(min(most or room, room // 340), 1)


def test_the_last_place_is_that_of_the_last_text(execution_apis_chain: Chain) -> None:
    with execution_apis_chain.snapshot() as view:
        for page in pages(view, room=3_000):
            *_others, (number, index, _text) = page.logs()
            assert page.last_place == (number, index)
            assert view.place_of_log(view.log_count_before(number) + index) == (number, index)
