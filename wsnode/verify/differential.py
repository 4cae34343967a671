"""Comparison of two nodes of one chain by the same random questions.

Blocks, hashes, accounts and slots for the questions are read from the first node. One question in ten is
damaged on purpose, to compare errors. Answers that depend on the node or on the time (versions, peers, the
pending block) are not compared. The same seed asks the same questions.
"""

import json
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import msgspec
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from wsnode.untrusted.decoding import MalformedError, decode_json, decode_quantity, one_error
from wsnode.verify.comparison import METHOD_NOT_FOUND, Difference, code_of, difference, short
from wsnode.verify.posting import MAX_MESSAGE_BYTES, post
from wsnode.verify.random_requests import METHODS, ChainMaterial, RandomRequest, damaged
from wsnode.verify.results import CaseResult

SECONDS: Final = 60.0
UNREADABLE_RESULT: Final = "<no JSON-RPC>"
COMPARED: Final = ("result", "error")
DAMAGED: Final = 0.1
"""Part of the questions that are damaged."""
Reply = dict[str, Any]
Ask = Callable[[str, list[Any]], Reply]


class NodeMismatchError(Exception):
    """Error of nodes with different chains, or of a node without a usable answer about its chain."""


class ComparisonPlan(msgspec.Struct, frozen=True):
    """Settings of a comparison of two nodes: the number and kinds of random requests, and the strictness."""

    calls: int = 2000
    seed: int = 1
    methods: Sequence[str] = tuple(METHODS)
    messages: bool = False
    """True to compare the messages of errors too."""
    passed_over: str | None = None
    """Regular expression; differences in replies that match it are ignored."""
    shown: int = 3
    """Maximum number of differences of one method that are kept; the others are counted."""


def compare(first: Ask, second: Ask, terms: ComparisonPlan) -> list[CaseResult]:
    """Return a result for each method that was asked about.

    Raises:
        NodeMismatchError: The nodes have different chains.
        MalformedError: The first node answers with another form than a block's.
        OSError: A node does not answer.
    """
    material = ChainMaterial.read(first, common_head(first, second), random.Random(terms.seed))
    comparison = DifferentialRun(first, second, terms)
    for question in questions(material, terms.methods, terms.calls):
        comparison.ask(question)
    return comparison.results()


def common_head(first: Ask, second: Ask) -> int:
    """Return the number of the last block that both nodes have.

    Raises:
        NodeMismatchError: Their chains are different.
        MalformedError: A node answers with another form than a block's.
    """
    head = min(decode_quantity(_result(ask, "eth_blockNumber")) for ask in (first, second))
    for number in (0, head):
        blocks = [_result(ask, "eth_getBlockByNumber", hex(number), False) for ask in (first, second)]
        hashes = [_hash_of(block) for block in blocks]
        if hashes[0] != hashes[1]:
            raise NodeMismatchError(
                f"the nodes have different chains: block {number} is {hashes[0]} at the first "
                f"and {hashes[1]} at the second"
            )
    return head


def _result(ask: Ask, method: str, *params: Any) -> Any:
    reply = ask(method, list(params))
    if reply.get("result") is None:
        raise NodeMismatchError(f"{method}: {short(reply.get('error', reply))}")
    return reply["result"]


def _hash_of(block: Any) -> str:
    with one_error():
        return msgspec.convert(block, _Block).hash


class _Block(msgspec.Struct):
    hash: str


def questions(material: ChainMaterial, methods: Sequence[str], calls: int) -> Iterator[RandomRequest]:
    """Yield random calls, each method as often as any other."""
    for turn in range(calls):
        method = methods[turn % len(methods)]
        params = METHODS[method](material)
        if material.random.random() < DAMAGED:
            params = damaged(params, material.random)
        yield RandomRequest(method, params)


class DifferentialRun:
    """Comparison of two nodes, which sends random requests to both, counts equal answers and keeps different
    ones.
    """

    def __init__(self, first: Ask, second: Ask, terms: ComparisonPlan) -> None:
        self._nodes = (first, second)
        self._terms = terms
        # Without an expression, the pattern is one that matches no text.
        self._passed_over = re.compile(terms.passed_over or r"\Z(?!\Z)")
        self._asked, self._different = Counter[str](), Counter[str]()
        self._seconds = defaultdict[str, float](float)
        self._missing = set[str]()
        self._shown: dict[str, list[str]] = {}

    def ask(self, question: RandomRequest) -> None:
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
        found = self._difference(first, second)
        if found is not None and not self._passed_over.search(json.dumps([first, second])):
            self._note(question, found)

    def _difference(self, first: Any, second: Any) -> Difference | None:
        try:
            with one_error():
                return difference(first, second, messages=self._terms.messages)
        except MalformedError as error:
            # A decoded reply may still be nested too deeply for the recursive comparison.
            return Difference("$", UNREADABLE_RESULT, UNREADABLE_RESULT, str(error))

    def results(self) -> list[CaseResult]:
        return [self._result(method) for method in sorted(self._asked.keys() | self._missing)]

    def _result(self, method: str) -> CaseResult:
        asked, different, seconds = self._asked[method], self._different[method], self._seconds[method]
        if method in self._missing:
            return CaseResult(method, "against", seconds, skipped="one of the nodes does not have the method")
        failures = self._shown.get(method, [])
        if different > len(failures):
            failures = [*failures, f"{different} of {asked} answers differ"]
        return CaseResult(method, "against", seconds, failures, asked=asked)

    def _note(self, question: RandomRequest, found: Difference) -> None:
        self._different[question.method] += 1
        kept = self._shown.setdefault(question.method, [])
        if len(kept) < self._terms.shown:
            here, there = short(found.got), short(found.want)
            kept.append(f"{short(question.params, 300)} at {found.where}: {here}, there {there}")


@contextmanager
def asking(url: str, seconds: float = SECONDS) -> Iterator[Ask]:
    """Yield a function that calls a node, over the transport of its URL.

    Raises:
        OSError: The node does not answer; the function raises it as well.
    """
    if not url.startswith("ws"):
        yield _over_http(url, seconds)
        return
    try:
        connection = connect(url, max_size=MAX_MESSAGE_BYTES, compression=None, open_timeout=seconds)
    except WebSocketException as error:
        raise ConnectionError(f"cannot open a WebSocket connection: {error}") from error
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
        return _reply_in(post(url, _request(method, params), seconds=seconds).body)

    return ask


def _request(method: str, params: list[Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def _reply_in(text: str | bytes) -> Reply:
    try:
        reply = decode_json(text)
    except MalformedError:
        reply = None
    return reply if isinstance(reply, dict) else {"result": UNREADABLE_RESULT}
