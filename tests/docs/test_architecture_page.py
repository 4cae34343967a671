"""docs/contributing/architecture.md: its example works, and its diagrams show the way of a request."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import wsnode
from tests.bench.test_bench import run
from tests.docs.pages import DOCS
from tests.ethereum.counter import COUNTER, counter_chain
from tests.memory_transport import Ask, asking
from wsnode.ethereum.chain import LOCAL_CALLER, Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.registry import Registry

PACKAGE = Path(wsnode.__file__).parent
PAGE = (DOCS / "contributing/architecture.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
METHOD = "eth_getCodeHash"
ACCOUNT = f"0x{COUNTER.hex()}"
NOBODY = "0x" + "99" * 20
ASIDE = {
    "server/transport/event_loop": "part of the poller",
    "server/transport/transport": "part of the connection",
    "server/scheduling/memory_quota": "room of the outbox",
    "server/websocket/call_tasks": "room for slow calls",
    "server/websocket/outbox": "its bytes are counted",
    "ethereum/rpc/calls/execution": "calls need a head with known gas",
    "jsonrpc/resource_quota": "the client's share of slow calls",
    "node/views": "it opens the view",
}
"""Modules on the way of a request that the diagram leaves out, and why."""


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    with counter_chain(tmp_path) as chain:
        yield chain


@pytest.fixture
def registry() -> Registry:
    """Return the method of the page alone; the code has no other names than those that it imports."""
    registry, names = Registry(), dict[str, Any]()
    exec(compile("".join(blocks("python")), "architecture.md", "exec"), names)
    add_methods: Callable[[Registry, PendingState], None] = names["add_methods"]
    add_methods(registry, PendingState())
    return registry


@pytest.fixture
def ask(chain: Chain, registry: Registry) -> Ask:
    return asking(Dispatcher(registry, chain.snapshot))


@pytest.mark.parametrize("block", [[], ["latest"], ["0x0"], ["pending"]], ids=str)
def test_the_method_of_the_page_answers(chain: Chain, ask: Ask, block: list[str]) -> None:
    code = asking(Dispatcher(build_registry(chain), chain.snapshot))("eth_getCode", ACCOUNT)["result"]
    assert ask(METHOD, ACCOUNT, *block) == {"result": f"0x{keccak256(bytes.fromhex(code[2:])).hex()}"}
    assert ask(METHOD, NOBODY, *block) == {"result": "0x" + "0" * 64}


def test_the_method_of_the_page_says_what_is_missing(chain: Chain, ask: Ask, registry: Registry) -> None:
    for block, message in (("0x5", "header not found"), ("0x" + "13" * 32, "header for hash not found")):
        assert ask(METHOD, ACCOUNT, block) == {"error": {"code": -32000, "message": message}}
    params = registry.methods[METHOD].parameters.read(json.dumps([ACCOUNT]).encode())
    builder = BlockBuilder(chain)
    builder.append([], timestamp=12, fee_recipient=bytes(20))
    with chain.snapshot(LOCAL_CALLER) as view:
        builder.unwind(0)
        with pytest.raises(RpcError, match="header not found"):
            registry.methods[METHOD].function(view, params)


def test_the_row_of_the_page_is_that_of_the_crate() -> None:
    sources = "".join(path.read_text() for path in (PACKAGE / "native/src/wire/native_methods").glob("*.rs"))
    (text,) = blocks("rust")
    assert [line for line in text.splitlines() if line not in sources] == []


def test_the_diagrams_name_modules() -> None:
    assert len(blocks("mermaid")) == 3
    named = [name for text in blocks("mermaid") for name in re.findall(r"\w\[([\w/]+)\]", text)]
    assert len(named) > 20
    assert [name for name in named if not (PACKAGE / f"{name}.py").exists()] == []


def test_the_diagram_of_a_request_is_its_way_through_a_running_node() -> None:
    modules, functions = printed_ways("eth_estimateGas")["WebSocket, first"]
    solid = re.sub(r"-\. .*", "", blocks("mermaid")[0])
    shown, engine = re.findall(r"\w\[([\w/]+)\]", solid), re.findall(r"\(\[([\w.]+)\]\)", solid)
    assert [name for name in modules if name in shown] == shown
    assert set(modules) - set(shown) - ASIDE.keys() == set()
    assert set(engine) <= set(functions)


def test_the_fast_path_takes_a_few_modules_and_calls_of_the_engine() -> None:
    printed = printed_ways("eth_call")
    assert list(printed) == [
        f"{transport}, {which}" for transport in ("WebSocket", "HTTP") for which in ("first", "again")
    ]
    for name, (modules, functions) in printed.items():
        # Neither a frame nor a request is read in Python.
        assert not {"take_messages", "read_request", "run_call_text"} & set(functions)
        assert len(modules) <= 8
        assert len(functions) <= 4
        assert name.startswith("WebSocket") or "FastPath.try_answer" in functions


def printed_ways(method: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return the printed paths of a method's call: modules, and functions of the engine."""
    lines = run("path", method).stdout.splitlines()
    return {
        lines[start].partition(":")[0]: (lines[start + 1].split()[1:], lines[start + 2].split()[1:])
        for start in range(0, len(lines), 3)
    }
