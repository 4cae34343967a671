"""Which request a reply answers, wherever a node puts the id."""

import pytest

from wsnode.load.frames import error_text, outcome

LONG = b"0x" + b"0" * 200


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":"0x1"}', (7, False)),
        (b'{"jsonrpc":"2.0","id":7,"error":{"code":3,"message":"x"}}', (7, True)),
        (b'{"id": 7, "result": null, "jsonrpc": "2.0"}', (7, False)),
        (b'{"jsonrpc":"2.0","result":"' + LONG + b'","id":7}', (7, False)),
        (b'{"jsonrpc":"2.0","error":{"code":3,"message":"' + LONG + b'"},"id":7}', (7, True)),
        (b'{"result":{"id":9},"id":7,"jsonrpc":"2.0"}', (7, False)),
        (b'{"jsonrpc":"2.0","method":"eth_subscription","params":{}}', (None, False)),
        (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}', (None, False)),
        (b"nonsense", (None, True)),
    ],
)
def test_a_reply_tells_its_request_and_whether_it_is_an_error(
    message: bytes, said: tuple[int | None, bool]
) -> None:
    assert outcome(message) == said


def test_an_error_is_told_with_its_code() -> None:
    assert error_text(b'{"id":1,"error":{"code":-32000,"message":"no"}}') == "-32000 no"
