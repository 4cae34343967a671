"""docs/errors.md explains every message that the code spells out, and each code and message is provoked."""

import pytest

from tests.docs.error_page import Made, explained, made

SUMMARIES = {
    "invalid argument, or one missing or too many",
    "err: … (supplied gas N), or the words of what stopped the EVM",
}
"""In rpc.discover, for several messages."""
MADE = [each for each in made() if each.message not in SUMMARIES]


@pytest.mark.parametrize("each", MADE, ids=lambda each: each.place)
def test_the_page_explains_every_message_in_the_code(each: Made) -> None:
    assert any(row.covers(each.message, each.code) for row in explained()), (each.message, each.code)
