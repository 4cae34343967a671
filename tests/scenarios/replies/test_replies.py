"""Twenty thousand messages have the replies that were recorded: results, codes, data, states and close codes.

Where a reply is to change, `python -m tests.scenarios.replies` records all anew; the commit says which
changed, and why.
"""

import itertools
import json
from pathlib import Path

import pytest

from tests.scenarios.replies.generator import CONVERSATIONS, MESSAGES, Conversation, Generator
from tests.scenarios.replies.playing import played
from tests.scenarios.replies.recording import read_recording, without_texts

pytestmark = pytest.mark.slow

QUICK = 100
"""Conversations of the gate."""


async def check(folder: Path, count: int) -> list[Conversation]:
    """Fail at the first burst whose replies differ from the recorded ones; return the conversations."""
    conversations = list(Generator().conversations(count))
    recorded = itertools.islice(read_recording(), count)
    for number, replies in enumerate(await played(folder, conversations)):
        expected = next(recorded)
        for burst, (found, wanted) in enumerate(itertools.zip_longest(replies, expected)):
            assert without_texts(found) == without_texts(wanted), (number, burst, conversations[number])
    return conversations


async def test_a_share_of_all_messages_has_the_recorded_replies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    conversations = await check(tmp_path, QUICK)
    assert {each.transport for each in conversations} == {"WebSocket", "HTTP"}
    assert caplog.messages == []


@pytest.mark.nightly
async def test_all_messages_have_the_recorded_replies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    conversations = await check(tmp_path, CONVERSATIONS)
    assert sum(each.messages for each in conversations) > MESSAGES
    assert caplog.messages == []


def test_error_texts_are_not_compared() -> None:
    refused = {"code": -32602, "message": 'a "text"', "data": {"reason": "x"}}
    error = json.dumps({"jsonrpc": "2.0", "id": 1, "error": refused}, separators=(",", ":"))
    assert without_texts([error]) == [
        '{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"data":{"reason": "x"}}}'.replace(": ", ":")
    ]
