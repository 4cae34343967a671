"""docs/reference/errors.md explains every message that the code spells out, in either language."""

import pytest

from tests.docs.error_page import PAGE, explained, made, words_of

SUMMARIES = {
    "invalid argument, or one missing or too many",
    "err: … (supplied gas N), or the words of what stopped the EVM",
}
"""In rpc.discover, for several messages."""
ENGINE = [
    *(f"evm/{name}.rs" for name in ("call/halt", "call/refusal", "call/estimate", "access_list/mod")),
    *(f"pool/{name}.rs" for name in ("check", "decode", "gas", "sidecar")),
]
"""What refuses calls and transactions, and says why calls halt."""
FRAGMENTS = {"access list", "type 0", "gas tip cap", "blob fee cap"}
"""Names within messages."""


def test_the_page_explains_every_message_in_the_code() -> None:
    found = [each for each in made() if each.message not in SUMMARIES]
    assert len(found) > 200
    assert [
        each for each in found if not any(row.covers(each.message, each.code) for row in explained())
    ] == []


@pytest.mark.parametrize("module", ENGINE)
def test_the_page_has_the_engines_words(module: str) -> None:
    page = PAGE.read_text()
    assert [words for words in words_of(module) if words not in page and words not in FRAGMENTS] == []
