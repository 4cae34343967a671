"""eth_getLogs below a fork, of nodes that refuse long ranges and large results as providers do."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.demo.test_exchange import SYNC, Market
from tests.ethereum.development.forks import Lie, MemoryClient, forked_playground
from tests.ethereum.development.playground import ETHER, Playground
from tests.ethereum.rpc.logs.refusals import OF_RATE, OF_SIZE
from tests.ethereum.rpc.middlewares.test_upstream_fallback import PRUNED, client, lying, market, replies
from tests.memory_transport import asking
from wsnode.demo import exchange
from wsnode.ethereum.logs import upstream_logs
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs import methods
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import LIMIT_EXCEEDED
from wsnode.jsonrpc.registry import Registry
from wsnode.upstream.errors import UpstreamError, UpstreamRefusedError

__all__ = ["client", "market"]

WIDE = UpstreamRefusedError(-32602, "query exceeds max block range")
WHOLE = {"fromBlock": "earliest", "toBlock": "latest"}


@pytest.fixture(scope="module")
def fork(
    tmp_path_factory: pytest.TempPathFactory, market: Market, client: MemoryClient
) -> Iterator[Playground]:
    """Open a fork with two blocks of its own."""
    with forked_playground(tmp_path_factory.mktemp("grown"), [client]) as chain:
        for _ in range(2):
            chain.send(to=market.exchange, data=f"0x{exchange.buy().hex()}", value=hex(ETHER))
        yield chain


class Provider:
    """Refuses `eth_getLogs` for more than `blocks` blocks, or with more than `results` logs."""

    def __init__(self, refusal: UpstreamError, *, blocks: int = 1 << 32, results: int = 1 << 32) -> None:
        self.asked: list[tuple[int, int]] = []
        self._refusal = refusal
        self._most = blocks, results

    def __call__(self, method: str, params: list[Any], result: Any) -> Any:
        """Return the result, unless that is refused; a `Lie`."""
        if method == "eth_getLogs":
            first, last = (int(params[0][name], 16) for name in ("fromBlock", "toBlock"))
            self.asked.append((first, last))
            if last - first >= self._most[0] or len(result) > self._most[1]:
                raise self._refusal
        return result


def limited(chain: Playground, wanted: dict[str, Any], most: int) -> dict[str, Any]:
    """Return the reply to eth_getLogs where a query may return `most` logs."""
    registry = Registry()
    methods.add_methods(registry, CallLimits(logs_results=most))
    reply: dict[str, Any] = asking(Dispatcher(registry, chain.network.open_view))("eth_getLogs", wanted)
    return reply


@pytest.mark.slow
@pytest.mark.parametrize("refusal", OF_SIZE)
@pytest.mark.parametrize("bound", [{"blocks": 1}, {"blocks": 2}, {"results": 3}], ids=str)
def test_a_provider_that_refuses_long_ranges_is_asked_for_shorter_ones(
    refusal: UpstreamError, bound: dict[str, int], client: MemoryClient, fork: Playground
) -> None:
    identity = fork("eth_newFilter", WHOLE)
    for wanted in (WHOLE, WHOLE | {"topics": [SYNC]}):
        whole = fork("eth_getLogs", wanted)
        provider = Provider(refusal, **bound)
        with lying(client, provider):
            assert fork("eth_getLogs", wanted) == whole
    with lying(client, Provider(refusal, **bound)):
        assert fork("eth_getFilterLogs", identity) == fork("eth_getLogs", WHOLE)


def test_a_provider_that_refuses_nothing_is_asked_once(
    market: Market, client: MemoryClient, fork: Playground
) -> None:
    provider = Provider(UpstreamError("unreachable"))
    with lying(client, provider):
        fork("eth_getLogs", WHOLE)
    assert provider.asked == [(0, market.chain.head - 1)]


def test_ranges_are_halved_and_stay_short(market: Market, client: MemoryClient, fork: Playground) -> None:
    provider = Provider(WIDE, blocks=2)
    with lying(client, provider):
        fork("eth_getLogs", WHOLE)
    last = market.chain.head - 1
    refused = [(first, end) for first, end in provider.asked if end - first >= 2]
    answered = [(first, end) for first, end in provider.asked if end - first < 2]
    assert refused == [(0, last)]
    assert answered == [(first, min(first + 1, last)) for first in range(0, last + 1, 2)]


def test_few_questions_are_left_without_an_answer(
    market: Market, client: MemoryClient, fork: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream_logs, "RANGE_BLOCKS", 1)
    provider = Provider(UpstreamError("timeout"), blocks=1)
    with lying(client, provider):
        fork("eth_getLogs", WHOLE)
    assert provider.asked == [
        (0, market.chain.head - 1),
        *((each, each) for each in range(market.chain.head)),
    ]


@pytest.mark.parametrize("refusal", OF_RATE)
def test_a_refusal_for_the_rate_of_calls_is_asked_no_more(
    refusal: UpstreamError, client: MemoryClient, fork: Playground
) -> None:
    provider = Provider(refusal, blocks=1)
    with lying(client, provider):
        reply = replies(fork, "eth_getLogs", [WHOLE])
    assert reply["code"] == PRUNED
    assert str(refusal) in reply["data"]["reason"]
    assert len(provider.asked) == 1


def test_what_no_range_gives_is_an_error_and_never_a_part(client: MemoryClient, fork: Playground) -> None:
    for lie in (
        Provider(WIDE, blocks=0),
        Provider(UpstreamRefusedError(PRUNED, "pruned history unavailable"), blocks=1),
        lambda method, _params, result: None if method == "eth_getLogs" else result,
        lambda method, _params, result: result[::-1] if method == "eth_getLogs" else result,
        lambda method, _params, result: result * 2 if method == "eth_getLogs" else result,
    ):
        told: Lie = lie
        with lying(client, told):
            reply = replies(fork, "eth_getLogs", [WHOLE])
        assert reply["code"] == PRUNED
        assert "the forked chain's node" in reply["data"]["reason"]


def test_a_call_asks_a_bounded_number_of_ranges_and_says_where_to_go_on(
    market: Market, client: MemoryClient, fork: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "RANGES_OF_A_CALL", 4)
    provider = Provider(WIDE, blocks=1)
    with lying(client, provider):
        reply = replies(fork, "eth_getLogs", [WHOLE])
        assert len(provider.asked) == 4
        assert reply["code"] == LIMIT_EXCEEDED
        assert "takes more than 4 requests to the forked chain's node" in reply["message"]
        end = int(reply["data"]["to"], 16)
        assert (reply["data"]["from"], end) == ("0x0", len(provider.asked) - 3)
        part = {"fromBlock": "0x0", "toBlock": reply["data"]["to"]}
        whole = market.chain("eth_getLogs", part)
    assert fork("eth_getLogs", part) == whole


def test_the_logs_of_both_sides_are_counted_together(market: Market, fork: Playground) -> None:
    whole = fork("eth_getLogs", WHOLE)
    numbers = [int(log["blockNumber"], 16) for log in whole]
    assert numbers[0] < market.chain.head <= numbers[-2]
    assert limited(fork, WHOLE, len(whole))["result"] == whole
    for most in range(len(whole)):
        error = limited(fork, WHOLE, most)["error"]
        assert (error["code"], error["data"]["limit"]) == (LIMIT_EXCEEDED, most)
        assert error["message"] == f"query returned more than {most} results"
        # The longest range is the one before the block of the first log that is too many.
        assert (error["data"]["from"], int(error["data"]["to"], 16)) == ("0x0", numbers[most] - 1)
        proposed = {"fromBlock": error["data"]["from"], "toBlock": error["data"]["to"]}
        assert limited(fork, proposed, most)["result"] == [
            log for log, number in zip(whole, numbers, strict=True) if number < numbers[most]
        ]
    alone = {"fromBlock": hex(numbers[0]), "toBlock": "latest"}
    assert limited(fork, alone, 0)["error"]["data"] == {"limit": 0}
