"""Cases put to transports in memory: what is said, and what is counted."""

from collections.abc import Callable

import trio
import trio.testing

from tests.memory_transport import Client, memory_transport
from tests.vector_files import require_vectors
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.verify.case_runner import CaseTerms, put
from wsnode.verify.cases import Case, Exchange, read_cases
from wsnode.verify.results import ResultTally

CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
SEND = '{"jsonrpc":"2.0","id":1,"method":"eth_sendRawTransaction"}'
RIGHT = '{"jsonrpc":"2.0","id":1,"result":"0x1"}'
WRONG = '{"jsonrpc":"2.0","id":1,"result":"0x2"}'


class Fake:
    """A transport that answers from a function."""

    def __init__(self, name: str, answer: Callable[[str], str | None]) -> None:
        self.name = name
        self.asked = 0
        self._answer = answer

    async def ask(self, request: str) -> str:
        self.asked += 1
        reply = self._answer(request)
        if reply is None:
            await trio.sleep_forever()
        return reply or ""

    async def close(self) -> None:
        """Have nothing to end."""


def lost(request: str) -> str:
    raise ConnectionError("the connection was closed")


async def said(case: Case, *transports: Fake) -> tuple[list[str], ResultTally]:
    lines: list[str] = []
    tally = ResultTally.of(await put([case], transports, CaseTerms(seconds=5), lines.append))
    return lines, tally


async def test_what_differs_on_every_transport_is_one_line() -> None:
    case = Case("a/b", [Exchange(CALL, RIGHT)])
    lines, tally = await said(case, Fake("WebSocket", lambda _: WRONG), Fake("HTTP", lambda _: WRONG))
    assert lines == ['FAIL a/b over WebSocket and HTTP: $.result: got "0x2", want "0x1"']
    assert (tally, str(tally)) == (ResultTally(0, 1), "0 passed, 1 failed")


async def test_each_exchange_of_a_case_is_told_and_the_case_counts_once() -> None:
    case = Case("a/b", [Exchange(CALL, RIGHT), Exchange(CALL, WRONG), Exchange(CALL, RIGHT)])
    lines, tally = await said(case, Fake("WebSocket", lambda _: RIGHT), Fake("HTTP", lost))
    assert [line.partition(": ")[0] for line in lines] == [
        "FAIL a/b #1 over HTTP",
        "FAIL a/b #2 over WebSocket",
        "FAIL a/b #2 over HTTP",
        "FAIL a/b #3 over HTTP",
    ]
    assert lines[0].endswith("no reply: the connection was closed")
    assert tally == ResultTally(0, 1)


async def test_a_transaction_is_sent_once() -> None:
    first, second = Fake("WebSocket", lambda _: RIGHT), Fake("HTTP", lambda _: RIGHT)
    assert await said(Case("a/b", [Exchange(SEND, RIGHT)]), first, second) == ([], ResultTally(1, 0))
    assert (first.asked, second.asked) == (1, 0)


async def test_a_silent_node_is_not_waited_for(autojump_clock: trio.testing.MockClock) -> None:
    lines, _tally = await said(Case("a/b", [Exchange(CALL, RIGHT)]), Fake("HTTP", lambda _: None))
    assert lines == ["FAIL a/b over HTTP: no reply in 5 s"]


async def test_every_case_of_execution_apis_for_a_method_there_is_passes(dispatcher: Dispatcher) -> None:
    cases = read_cases(require_vectors("execution-apis/tests"))
    offered = [case for case in cases if case.methods <= dispatcher.registry.methods.keys()]
    lines: list[str] = []
    answer = memory_transport(dispatcher, Client())
    tally = ResultTally.of(await put(offered, [Fake("memory", answer)], CaseTerms(), lines.append))
    assert (lines, tally.passed) == ([], len(offered))
