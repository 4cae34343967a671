"""What of a message tells one notification from another."""

import pytest

from wsnode.load.lag.notice import CALLS, HEADS, LOGS, AllOutcomes, NotificationKey, Reply, read

HEAD = b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":%b}}'


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (HEAD % b'{"parentHash":"0xaa","hash":"0xbb","number":"0x1"}', NotificationKey(HEADS, "0xbb")),
        (
            HEAD % b'{"address":"0x1","blockHash":"0xbb","logIndex":"0x3"}',
            NotificationKey(LOGS, "0xbb", "0x3 "),
        ),
        (
            HEAD % b'{"blockHash":"0xbb","logIndex":"0x3","removed":true}',
            NotificationKey(LOGS, "0xbb", "0x3 removed"),
        ),
        (HEAD % b'{"blockHash":"0xbb","results":[{"index":0}]}', NotificationKey(CALLS, "0xbb")),
        (HEAD % b'{"blockHash":"0xbb","complete":true,"results":[]}', AllOutcomes()),
        (HEAD % b'{"number":"0x1"}', None),
        (HEAD % b'"0xaa"', None),
        (b'{"id":3,"result":"0x1","jsonrpc":"2.0"}', Reply(3, None)),
        (b'{"id":3,"error":{"code":-32601,"message":"no"}}', Reply(3, "-32601 no")),
        (b'{"id":null,"error":{"code":-32700}}', None),
        (b"nonsense", None),
    ],
)
def test_a_message_is_a_notification_or_an_answer(message: bytes, said: object) -> None:
    assert read(message) == said
