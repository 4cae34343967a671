"""Batches beside patches of the state, and with calls that change the chain in the middle."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.ethereum.development.playground import STRANGER, Playground, playground
from tests.memory_transport import Client, Conversation, advance, run, whole
from wsnode.jsonrpc.work import CallTask

SLOT = f"0x{0:064x}"
SHOW = {STRANGER: {"code": "0x60005460005260206000f3"}}
"""Code that returns slot 0, in a call's overrides."""


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Playground]:
    with playground(tmp_path) as opened:
        yield opened


def batch(*calls: tuple[str, list[Any]]) -> bytes:
    return json.dumps(
        [
            {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
            for place, (method, params) in enumerate(calls)
        ]
    ).encode()


def results(reply: bytes) -> list[Any]:
    return [each["result"] for each in json.loads(reply)]


def answers(chain: Playground, *calls: tuple[str, list[Any]]) -> list[Any]:
    """Return the results of a batch."""
    session = Conversation(chain.dispatcher, Client())
    answer = session.receive(batch(*calls))
    return results(whole(run(answer) if isinstance(answer, CallTask) else answer))


def word(number: int) -> str:
    return f"0x{number:064x}"


def test_a_batch_sees_no_patch_that_comes_while_it_is_answered(chain: Playground) -> None:
    dispatcher = chain.dispatcher
    # Each call has a slice of its own, and before each of them the slot is patched.
    dispatcher.bounds = msgspec.structs.replace(dispatcher.bounds, slice_seconds=-1.0)
    options = {"tracer": "callTracer", "stateOverrides": SHOW}
    calls: list[tuple[str, list[Any]]] = [
        ("eth_call", [{"to": STRANGER}, "latest", SHOW]),
        ("debug_traceCall", [{"to": STRANGER}, "latest", options]),
        ("eth_getStorageAt", [STRANGER, SLOT, "latest"]),
        ("eth_getStorageValues", [{STRANGER: [SLOT]}, "latest"]),
    ]
    chain("anvil_setStorageAt", STRANGER, SLOT, word(5))
    pending = Conversation(dispatcher, Client()).receive(batch(*2 * calls))
    assert isinstance(pending, CallTask)
    patches = 0
    while not advance(pending):
        patches += 1
        chain("anvil_setStorageAt", STRANGER, SLOT, word(5 + patches))
    assert patches >= len(calls)
    seen = {
        result if isinstance(result, str) else result.get("output") or result[STRANGER][0]
        for result in results(whole(pending.reply))
    }
    # The view is opened by the first call, behind the first patches.
    assert len(seen) == 1
    assert seen < {word(value) for value in range(5, 5 + patches)}
    assert chain("eth_getStorageAt", STRANGER, SLOT, "latest") == word(5 + patches)


def test_calls_see_what_one_before_them_in_the_batch_has_changed(chain: Playground) -> None:
    head, sender = chain.head, chain("eth_accounts")[0]
    balance: tuple[str, list[Any]] = ("eth_getBalance", [STRANGER, "latest"])
    number: tuple[str, list[Any]] = ("eth_blockNumber", [])
    send = ("eth_sendTransaction", [{"from": sender, "to": STRANGER, "value": "0x3"}])
    call = ("eth_call", [{"to": STRANGER}, "latest", SHOW])
    patch = ("anvil_setStorageAt", [STRANGER, SLOT, word(9)])

    assert answers(chain, number, balance, send, number, balance)[2:3] != [None]
    assert answers(chain, number, balance, send, number, balance)[3:] == [hex(head + 2), "0x6"]
    assert answers(chain, number, ("evm_mine", []), number) == [hex(head + 2), "0x0", hex(head + 3)]
    assert answers(chain, call, patch, call) == [word(0), True, word(9)]
    assert answers(chain, balance, ("anvil_setBalance", [STRANGER, "0x64"]), balance) == ["0x6", None, "0x64"]


def test_a_pinned_state_stays_as_it_is(chain: Playground) -> None:
    with chain.dispatcher.open_view(Client()) as view:
        view.pin()
        before = chain("eth_getBalance", STRANGER, "latest")
        chain("anvil_setBalance", STRANGER, "0x64")
        block = (view.number, view.head.hash)
        assert view.state.account(bytes.fromhex(STRANGER[2:]), block) is None
        assert (before, chain("eth_getBalance", STRANGER, "latest")) == ("0x0", "0x64")
