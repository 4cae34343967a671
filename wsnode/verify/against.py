"""The same random questions to two nodes of one chain, and where their answers differ.

The chain is read from the first node, and so are the hashes, accounts and slots that are asked about; one
question in ten is damaged on purpose, for the errors. What depends on the node or on the time (versions,
peers, the pending block) is not asked. The same seed asks the same questions.
"""

import json
import random
import re
import time
import urllib.error
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from wsnode.verify.comparison import METHOD_NOT_FOUND, Difference, code_of, difference, short
from wsnode.verify.questions import METHODS, Material, Question, damaged
from wsnode.verify.results import Result

SECONDS: Final = 60.0
UNREADABLE_RESULT: Final = "<no JSON-RPC>"
COMPARED: Final = ("result", "error")
DAMAGED: Final = 0.1
"""The part of the questions that are wrong."""
Reply = dict[str, Any]
Ask = Callable[[str, list[Any]], Reply]


class OtherChainError(Exception):
    """The nodes have different chains, or one says nothing of its own; the message says which."""


class Terms(msgspec.Struct, frozen=True):
    """What is asked, and how strictly answers are compared."""

    calls: int = 2000
    seed: int = 1
    methods: Sequence[str] = tuple(METHODS)
    messages: bool = False
    """Compare the words of errors too."""
    passed_over: str | None = None
    """Differences in which this regular expression is found are none."""
    shown: int = 3
    """Differences of one method that are kept; the others are counted."""


def compare(first: Ask, second: Ask, terms: Terms) -> list[Result]:
    """Return a result for each method that was asked about.

    Raises:
        OtherChainError: The nodes have not the same chain.
        OSError: A node does not answer.
    """
    material = Material.read(first, common_head(first, second), random.Random(terms.seed))
    comparison = Comparison(first, second, terms)
    for question in questions(material, terms.methods, terms.calls):
        comparison.ask(question)
    return comparison.results()


def common_head(first: Ask, second: Ask) -> int:
    """Return the last block that both have.

    Raises:
        OtherChainError: Their chains are different.
    """
    head = min(int(_result(ask, "eth_blockNumber"), 16) for ask in (first, second))
    for number in (0, head):
        hashes = [_result(ask, "eth_getBlockByNumber", hex(number), False)["hash"] for ask in (first, second)]
        if hashes[0] != hashes[1]:
            raise OtherChainError(f"block {number} is {hashes[0]} here and {hashes[1]} there")
    return head


def _result(ask: Ask, method: str, *params: Any) -> Any:
    reply = ask(method, list(params))
    if reply.get("result") is None:
        raise OtherChainError(f"{method}: {short(reply.get('error', reply))}")
    return reply["result"]


def questions(material: Material, methods: Sequence[str], calls: int) -> Iterator[Question]:
    """Yield random calls, each method as often as any other."""
    for turn in range(calls):
        method = methods[turn % len(methods)]
        params = METHODS[method](material)
        if material.random.random() < DAMAGED:
            params = damaged(params, material.random)
        yield Question(method, params)


class Comparison:
    """Counts what agrees, and keeps what does not."""

    def __init__(self, first: Ask, second: Ask, terms: Terms) -> None:
        self._nodes = (first, second)
        self._terms = terms
        # Without an expression, what no reply can hold.
        self._passed_over = re.compile(terms.passed_over or r"\Z(?!\Z)")
        self._asked, self._different = Counter[str](), Counter[str]()
        self._seconds = defaultdict[str, float](float)
        self._missing = set[str]()
        self._shown: dict[str, list[str]] = {}

    def ask(self, question: Question) -> None:
        """Ask both, and compare."""
        if question.method in self._missing:
            return
        began = time.perf_counter()
        replies = [ask(question.method, question.params) for ask in self._nodes]
        if METHOD_NOT_FOUND in (code_of(reply) for reply in replies):
            self._missing.add(question.method)
            return
        self._asked[question.method] += 1
        self._seconds[question.method] += time.perf_counter() - began
        first, second = ({name: reply[name] for name in COMPARED if name in reply} for reply in replies)
        found = difference(first, second, messages=self._terms.messages)
        if found is not None and not self._passed_over.search(json.dumps([first, second])):
            self._note(question, found)

    def results(self) -> list[Result]:
        """Return a result for each method, in the order of their names."""
        return [self._result(method) for method in sorted(self._asked.keys() | self._missing)]

    def _result(self, method: str) -> Result:
        asked, different, seconds = self._asked[method], self._different[method], self._seconds[method]
        if method in self._missing:
            return Result(method, "against", seconds, skipped="one of the two does not have it")
        failures = self._shown.get(method, [])
        if different > len(failures):
            failures = [*failures, f"{different} of {asked} answers differ"]
        return Result(method, "against", seconds, failures, asked=asked)

    def _note(self, question: Question, found: Difference) -> None:
        self._different[question.method] += 1
        kept = self._shown.setdefault(question.method, [])
        if len(kept) < self._terms.shown:
            here, there = short(found.got), short(found.want)
            kept.append(f"{short(question.params, 300)} at {found.where}: {here}, there {there}")


@contextmanager
def asking(url: str, seconds: float = SECONDS) -> Iterator[Ask]:
    """Return a function that calls a node, over the transport of its URL.

    Raises:
        OSError: It does not answer; so does the function.
    """
    if not url.startswith("ws"):
        yield _over_http(url, seconds)
        return
    try:
        connection = connect(url, max_size=None, compression=None, open_timeout=seconds)
    except WebSocketException as error:
        raise ConnectionError(f"no WebSocket: {error}") from error
    with connection:

        def ask(method: str, params: list[Any]) -> Reply:
            try:
                connection.send(_request(method, params))
                return _reply_in(connection.recv(seconds))
            except WebSocketException as error:
                raise ConnectionError(f"{method}: {error}") from error

        yield ask


def _over_http(url: str, seconds: float) -> Ask:
    def ask(method: str, params: list[Any]) -> Reply:
        headers = {"Content-Type": "application/json"}
        message = urllib.request.Request(url, _request(method, params).encode(), headers)
        try:
            with urllib.request.urlopen(message, timeout=seconds) as reply:
                return _reply_in(reply.read())
        except urllib.error.HTTPError as error:
            # A JSON-RPC error may come with any status.
            with error:
                return _reply_in(error.read())

    return ask


def _request(method: str, params: list[Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def _reply_in(text: str | bytes) -> Reply:
    try:
        reply = json.loads(text)
    except ValueError:
        reply = None
    return reply if isinstance(reply, dict) else {"result": UNREADABLE_RESULT}
