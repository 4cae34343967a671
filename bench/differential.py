"""Ask two nodes of one chain the same random questions, and print the first answers that differ.

    python -m bench.differential URL_A URL_B [--calls 2000] [--seed 1] [--methods eth_call,…] [--shown 20]

URLs are http://, https://, ws:// or wss://. The chain is read from A (up to the lower of the two heads),
and so are the hashes, accounts and slots that are asked about; one question in ten is damaged on
purpose, for the errors. Replies are compared whole: `result`, or `code`, `message` and `data` of the
error. A method that one of the two does not have is named once and left out. What depends on the node
or on the time (versions, peers, the pending block) is not asked. The same seed asks the same questions.
Exit status: 0 no difference, 1 differences, 2 not the same chain.

Against geth, let its gas cap (`--rpc.gascap`) be ten times the blocks' gas limit, as wsnode's is for calls;
for `eth_simulateV1` leave it at geth's 50 million, which wsnode takes there.
"""

import argparse
import json
import random
import re
import sys
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from websockets.sync.client import connect

from bench.lib.questions import METHODS, Material, Question, damaged

METHOD_NOT_FOUND = -32601
UNREADABLE_RESULT = "<no JSON-RPC>"
Reply = dict[str, Any]
Ask = Callable[[str, list[Any]], Reply]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("first", metavar="URL_A")
    parser.add_argument("second", metavar="URL_B")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--shown", type=int, default=20, help="differences to print")
    parser.add_argument("--each", type=int, default=3, help="of these, at most so many of one method")
    parser.add_argument("--codes-only", action="store_true", help="do not compare the words of errors")
    parser.add_argument("--except", dest="known", metavar="REGEX", help="pass over replies that hold this")
    given = parser.parse_args()
    methods = given.methods.split(",")
    if unknown := set(methods) - METHODS.keys():
        parser.error(f"unknown methods: {', '.join(sorted(unknown))}")
    with asking(given.first) as first, asking(given.second) as second:
        sys.exit(compared(first, second, methods, given))


def compared(first: Ask, second: Ask, methods: list[str], given: argparse.Namespace) -> int:
    """Return the exit status of asking both."""
    head = common_head(first, second)
    if head is None:
        return 2
    material = Material.read(first, head, random.Random(given.seed))
    print(f"{given.calls} calls up to block {head}, {material}", flush=True)
    comparison = Comparison(first, second, given)
    for question in questions(material, methods, given.calls):
        comparison.ask(question)
    return comparison.report()


def common_head(first: Ask, second: Ask) -> int | None:
    """Return the last block that both have; None, said on standard error, if their chains are different."""
    head = min(int(ask("eth_blockNumber", [])["result"], 16) for ask in (first, second))
    for number in (0, head):
        hashes = [
            ask("eth_getBlockByNumber", [hex(number), False])["result"]["hash"] for ask in (first, second)
        ]
        if hashes[0] != hashes[1]:
            print(f"block {number} is {hashes[0]} here and {hashes[1]} there", file=sys.stderr)
            return None
    return head


def questions(material: Material, methods: list[str], calls: int) -> Iterator[Question]:
    """Yield random calls, each method as often as any other."""
    for turn in range(calls):
        method = methods[turn % len(methods)]
        params = METHODS[method](material)
        if material.random.random() < 0.1:
            params = damaged(params, material.random)
        yield Question(method, params)


class Comparison:
    """Counts what agrees, and shows what does not."""

    def __init__(self, first: Ask, second: Ask, given: argparse.Namespace) -> None:
        self._nodes = (first, second)
        # Without an exception, what no reply can hold.
        self._known = re.compile(given.known or r"\Z(?!\Z)")
        self._left_to_show, self._each = given.shown, given.each
        self._codes_only = given.codes_only
        self._asked, self._different, self._missing = Counter[str](), Counter[str](), set[str]()

    def ask(self, question: Question) -> None:
        """Ask both, and compare."""
        if question.method in self._missing:
            return
        replies = [ask(question.method, question.params) for ask in self._nodes]
        if METHOD_NOT_FOUND in (code_of(reply) for reply in replies):
            self._missing.add(question.method)
            return
        self._asked[question.method] += 1
        comparable = [self._comparable(reply) for reply in replies]
        if comparable[0] != comparable[1] and not self._known.search(json.dumps(comparable)):
            self._show(question, *comparable)

    def report(self) -> int:
        """Print the counts and return the exit status."""
        for method in sorted(self._missing):
            print(f"left out: {method}, which one of the two does not have")
        for method, count in sorted(self._different.items()):
            print(f"{method}: {count} of {self._asked[method]} differ")
        total = sum(self._different.values())
        print(f"{sum(self._asked.values())} calls of {len(self._asked)} methods, {total} differences")
        return 1 if total else 0

    def _comparable(self, reply: Reply) -> Any:
        error = reply.get("error")
        if error is not None and self._codes_only:
            return {"error": error.get("code")}
        return {name: reply[name] for name in ("result", "error") if name in reply}

    def _show(self, question: Question, first: Any, second: Any) -> None:
        self._different[question.method] += 1
        if self._left_to_show == 0 or self._different[question.method] > self._each:
            return
        self._left_to_show -= 1
        path, here, there = next(differences(first, second))
        print(f"{question.method} {short(question.params, 300)}\n  at {path}")
        print(f"    A {short(here)}\n    B {short(there)}", flush=True)


def differences(first: Any, second: Any, path: str = "$") -> Iterator[tuple[str, Any, Any]]:
    """Yield the places where two JSON values differ."""
    if isinstance(first, dict) and isinstance(second, dict):
        for name in {**first, **second}:
            yield from differences(
                first.get(name, "<absent>"), second.get(name, "<absent>"), f"{path}.{name}"
            )
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for index, pair in enumerate(zip(first, second, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif first != second or type(first) is not type(second):
        yield path, first, second


def short(value: Any, length: int = 160) -> str:
    """Return JSON text, cut."""
    text = json.dumps(value)
    return text if len(text) <= length else f"{text[:length]}… ({len(text)} characters)"


def code_of(reply: Reply) -> int | None:
    """Return the code of an error."""
    error = reply.get("error")
    return error.get("code") if isinstance(error, dict) else None


@contextmanager
def asking(url: str) -> Iterator[Ask]:
    """Return a function that calls a node."""
    if not url.startswith("ws"):
        yield over_http(url)
        return
    with connect(url, max_size=None, compression=None) as connection:

        def ask(method: str, params: list[Any]) -> Reply:
            connection.send(request(method, params))
            return reply_in(connection.recv())

        yield ask


def over_http(url: str) -> Ask:
    def ask(method: str, params: list[Any]) -> Reply:
        headers = {"Content-Type": "application/json"}
        message = urllib.request.Request(url, request(method, params).encode(), headers)
        with urllib.request.urlopen(message, timeout=60) as reply:
            return reply_in(reply.read())

    return ask


def request(method: str, params: list[Any]) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def reply_in(text: str | bytes) -> Reply:
    reply = json.loads(text)
    return reply if isinstance(reply, dict) else {"result": UNREADABLE_RESULT}


if __name__ == "__main__":
    main()
