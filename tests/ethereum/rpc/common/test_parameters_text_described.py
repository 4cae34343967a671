"""Two readers of one form, one of them fast, agree on all that the form's description makes.

The description of parameters is the schema in `rpc.discover`, made from the types by which Python reads them.
Requests and heads of HTTP are described here, after JSON-RPC 2.0 (section 4) and RFC 9112.
"""

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clocks import stopped
from tests.ethereum.rpc.common.described import DescribedValues
from tests.ethereum.rpc.common.random_calls import GARBAGE, NOBODY, hashes_of_transactions
from tests.ethereum.rpc.common.test_parameters_text import escaped
from tests.memory_transport import Conversation, run, whole
from tests.vector_files import require_vectors
from wsnode._native.wire import read_request
from wsnode.ethereum.chain import LOCAL_CALLER, Chain
from wsnode.ethereum.rpc.common.parameters import TextParameters
from wsnode.ethereum.rpc.common.schemas import ANY_ADDRESS, ANY_BYTES, ANY_HASH, ANY_QUANTITY
from wsnode.jsonrpc.codec import UNREADABLE
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.fast_path import VersionedCache
from wsnode.jsonrpc.requests import decode_request
from wsnode.jsonrpc.schema import ANYTHING, NULL, STRING, either, list_of, mapping_of, record
from wsnode.jsonrpc.work import CallTask
from wsnode.server.http.fast_request import quick_post

pytestmark = pytest.mark.slow

METHODS = [
    "eth_call",
    "eth_estimateGas",
    "eth_getBalance",
    "eth_getBlockByHash",
    "eth_getBlockByNumber",
    "eth_getCode",
    "eth_getLogs",
    "eth_getStorageAt",
    "eth_getTransactionByHash",
    "eth_getTransactionCount",
    "eth_getTransactionReceipt",
]
REQUEST = record(
    {"jsonrpc": {"const": "2.0"}, "method": STRING},
    {
        "id": either(STRING, {"type": "integer", "minimum": 0, "maximum": 2**53}, NULL),
        "params": either(list_of(ANYTHING), mapping_of(ANYTHING)),
    },
)
HEAD = {
    "Host": ["node", "node:8545", "[::1]", ""],
    "Content-Type": ["application/json", "application/json; charset=utf-8", "a\tb"],
    "Accept": ["*/*", " padded ", "", "é"],
    "Connection": ["keep-alive", "Keep-Alive", "close", "upgrade"],
    "Expect": ["100-continue"],
    "Transfer-Encoding": ["chunked", "identity"],
    "Upgrade": ["websocket"],
}
"""Fields of a head besides the length of the body, and values of each."""
ROOM = 1 << 20


class Form(NamedTuple):
    """A form that two readers read."""

    values: st.SearchStrategy[Any]
    fast: Callable[[Any], Any]
    """Returns what the fast reader makes of a value; None if it leaves that to the other one."""
    exact: Callable[[Any], Any]


@pytest.fixture(scope="session")
def node(execution_apis_chain: Chain, dispatcher: Dispatcher) -> Conversation:
    cache = VersionedCache(execution_apis_chain)
    dispatcher = Dispatcher(
        dispatcher.registry, execution_apis_chain.snapshot, clock=stopped, versioned_cache=cache
    )
    session = Conversation(dispatcher, LOCAL_CALLER, shares_results=True)
    answer(session, message("eth_getBalance", json.dumps([NOBODY, "latest"])))
    return session


@pytest.fixture(scope="session", params=[*METHODS, "request", "head"])
def form(request: pytest.FixtureRequest, execution_apis_chain: Chain, node: Conversation) -> Form:
    match request.param:
        case "request":
            return request_form()
        case "head":
            return head_form()
    return parameter_form(execution_apis_chain, node, request.param)


@given(chosen=st.data())
def test_a_fast_reader_reads_what_the_exact_one_reads(form: Form, chosen: st.DataObject) -> None:
    value = chosen.draw(form.values)
    found = form.fast(value)
    assert found is None or found == form.exact(value)


def test_these_are_the_methods_whose_parameters_the_engine_reads(dispatcher: Dispatcher) -> None:
    methods = dispatcher.registry.methods.values()
    read = (each.name for each in methods if each.native or isinstance(each.parameters, TextParameters))
    assert sorted(read) == METHODS


def parameter_form(chain: Chain, node: Conversation, method: str) -> Form:
    """Return the parameters of a method: as they are written usually, and with escapes in each text."""
    document = json.loads(answer(node, message("rpc.discover", "[]")))["result"]
    (described,) = (each["params"] for each in document["methods"] if each["name"] == method)
    genesis = json.loads((require_vectors("execution-apis") / "genesis.json").read_text())
    accounts = st.sampled_from([*(f"0x{name.removeprefix('0x')}" for name in genesis["alloc"]), NOBODY])
    words = st.integers(0, 5).map("0x{:064x}".format)
    with chain.snapshot() as view:
        blocks = st.sampled_from([f"0x{(view.hash_of(number) or b'').hex()}" for number in (0, view.number)])
    known = {
        ANY_ADDRESS["pattern"]: accounts,
        ANY_HASH["pattern"]: st.one_of(words, blocks, hashes_of_transactions(chain)),
        ANY_QUANTITY["pattern"]: st.integers(0, 60).map(hex),
        ANY_BYTES["pattern"]: words,
    }
    patterns = {pattern[1:-1]: strategy for pattern, strategy in known.items()}
    values = DescribedValues(document["components"]["schemas"], patterns, st.one_of(accounts, words), GARBAGE)
    whole = st.tuples(*(values.of(each["schema"]) for each in described)).map(list)
    lists = st.tuples(whole, st.integers(0, len(described))).map(lambda drawn: drawn[0][: drawn[1]])
    fast_path = node.dispatcher.fast_paths.open(node, are_frames=False)
    assert fast_path is not None

    def fast(params: list[Any]) -> bytes:
        text = message(method, json.dumps(params))
        answered = fast_path.try_answer(text, ROOM, ROOM)
        return answer(node, text) if answered is None else answered[0]

    return Form(st.one_of(whole, lists), fast, lambda params: answer(node, message(method, escaped(params))))


def message(method: str, params: str) -> bytes:
    return f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'.encode()


def answer(node: Conversation, text: bytes) -> bytes:
    session = Conversation(node.dispatcher, LOCAL_CALLER)
    found = session.receive(text)
    session.end_turn()
    # On a busy machine a call may take more than one turn.
    reply = run(found) if isinstance(found, CallTask) else found
    assert reply is not None
    return whole(reply)


def request_form() -> Form:
    values = DescribedValues({}, {}, st.text(max_size=4), GARBAGE)
    styles = st.sampled_from([(",", ":"), (", ", ": "), (" ,\n", "\t: ")])
    written = st.tuples(values.of(REQUEST), styles, st.booleans())
    texts = written.map(
        lambda drawn: json.dumps(drawn[0], separators=drawn[1], ensure_ascii=drawn[2]).encode()
    )

    def exact(text: bytes) -> Any:
        try:
            return decode_request(text)
        except UNREADABLE as error:
            return error

    return Form(texts, read_request, exact)


def head_form() -> Form:
    fields = st.sampled_from([(name, value) for name, values in HEAD.items() for value in values])
    lines = st.lists(fields, max_size=5).map(lambda drawn: [("Host", "node"), *drawn])
    bodies = st.binary(max_size=20)
    return Form(st.tuples(lines, bodies, bodies).map(_written), _read_fast, _read_by_h11)


def _written(drawn: tuple[list[tuple[str, str]], bytes, bytes]) -> bytes:
    fields, body, behind = drawn
    # A head may name its host once.
    fields = [pair for before, pair in pairwise([("", ""), *fields]) if pair[0] != "Host" or before[0] == ""]
    head = "".join(f"{name}: {value}\r\n" for name, value in [*fields, ("Content-Length", str(len(body)))])
    return f"POST /v3 HTTP/1.1\r\n{head}\r\n".encode("latin-1") + body + behind


def _read_fast(data: bytes) -> Any:
    return None if (found := quick_post(data, 1000, 1000)) is None else tuple(found)


def _read_by_h11(data: bytes) -> Any:
    parser = h11.Connection(h11.SERVER)
    parser.receive_data(data)
    request, body = parser.next_event(), b""
    assert isinstance(request, h11.Request)
    while isinstance(event := parser.next_event(), h11.Data):
        body += bytes(event.data)
    headers = {name.decode(): value.decode() for name, value in request.headers}
    # The one value that changes nothing is left out.
    if headers.get("connection", "").lower() == "keep-alive":
        del headers["connection"]
    return request.target.decode(), headers, body, len(data) - len(parser.trailing_data[0])
