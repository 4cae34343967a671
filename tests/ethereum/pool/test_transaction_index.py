"""The contents of the pool, returned in slices."""

import json
from collections.abc import Callable
from contextlib import nullcontext

import pytest

# Has the reader of texts know addresses.
import wsnode.ethereum.rpc.common.parameters  # noqa: F401
from tests.ethereum.pool.playground import ALICE, BOB, Playground
from tests.memory_transport import Conversation, advance, whole
from tests.slices import text_of
from wsnode.ethereum.codec.addresses import checksummed
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.transactions.pool_methods import (
    SLICE,
    PoolMethods,
    SenderParameters,
    Slices,
    add_methods,
)
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.generators import LARGE_BYTES
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import CallTask, ReplyChunks

MANY = 3 * SLICE

Ask = Callable[[PoolMethods], Slices]


@pytest.mark.parametrize(
    "ask",
    [
        PoolMethods.content,
        PoolMethods.inspect,
        lambda pool: pool.content_from(SenderParameters(Address(ALICE.address))),
    ],
    ids=["content", "inspect", "content of an account"],
)
def test_a_full_pool_is_told_in_slices_as_it_was_at_the_first(ask: Ask, playground: Playground) -> None:
    for nonce in range(MANY):
        playground.send(ALICE, nonce)
    playground.send(BOB, 1)
    methods = PoolMethods(playground.pool, ())
    before = text_of(ask(methods))
    slices = ask(methods)
    for _ in range(3):
        next(slices)
    playground.mine()
    playground.pool.clear()
    assert text_of(slices) == before
    assert len(json.loads(text_of(ask(methods)))["pending"]) == 0


def test_a_large_reply_stays_in_pieces(playground: Playground) -> None:
    for nonce in range(12):
        playground.send(ALICE, nonce, call=bytes(60_000), gas=2_000_000)
    registry = Registry()
    add_methods(registry, playground.pool, [ALICE.address])
    session = Conversation(Dispatcher(registry, lambda _caller: nullcontext()), None)
    requests = {
        method: b'{"jsonrpc":"2.0","id":1,"method":"%b","params":[%b]}' % (method, params)
        for method, params in (
            (b"txpool_content", b""),
            (b"txpool_contentFrom", b'"0x%b"' % ALICE.address.hex().encode()),
            (b"eth_pendingTransactions", b""),
        )
    }
    for text in (*requests.values(), b"[%b]" % b",".join(requests.values())):
        answer = session.receive(text)
        while isinstance(answer, CallTask) and not advance(answer):
            pass
        assert isinstance(answer, CallTask)
        assert isinstance(answer.reply, ReplyChunks)
        replies = json.loads(whole(answer.reply))
        for reply in replies if isinstance(replies, list) else [replies]:
            assert len(json.dumps(reply["result"])) > LARGE_BYTES


def test_transactions_of_the_nodes_own_accounts_stand_in_one_list(playground: Playground) -> None:
    for sender, nonce in ((ALICE, 0), (ALICE, 1), (ALICE, 3), (BOB, 0)):
        playground.send(sender, nonce)
    methods = PoolMethods(playground.pool, [ALICE.address])
    told = json.loads(text_of(methods.pending_transactions()))
    assert [(each["from"], each["nonce"]) for each in told] == [
        (f"0x{ALICE.address.hex()}", "0x0"),
        (f"0x{ALICE.address.hex()}", "0x1"),
    ]


def test_accounts_stand_in_the_order_of_their_addresses(playground: Playground) -> None:
    for sender in (ALICE, BOB):
        playground.send(sender, 0)
    told = json.loads(text_of(PoolMethods(playground.pool, ()).inspect()))
    assert list(told["pending"]) == sorted(checksummed(sender.address) for sender in (ALICE, BOB))
