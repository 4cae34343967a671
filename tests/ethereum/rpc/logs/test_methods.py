import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.memory_transport import asking
from tests.slices import result_of
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.logs.index import search_logs
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.logs.methods import longest_fitting
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

Logs = list[dict[str, Any]]
HEAD = 54
shared_chain = settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def matches(log: dict[str, Any], criteria: LogFilter) -> bool:
    return criteria.matches((raw(log["address"]), tuple(map(raw, log["topics"]))))


@pytest.fixture(scope="session")
def all_logs(execution_apis_chain: Chain) -> Logs:
    """Return every log of the chain, out of its receipts."""
    ask = asking(Dispatcher(build_registry(execution_apis_chain), execution_apis_chain.snapshot))
    blocks = [ask("eth_getBlockReceipts", hex(number))["result"] for number in range(HEAD + 1)]
    return [log for receipts in blocks for receipt in receipts for log in receipt["logs"]]


@st.composite
def filters(draw: st.DrawFn, logs: Logs) -> dict[str, Any]:
    """Draw a filter from what occurs in `logs`, and from what does not."""
    addresses = [*sorted({log["address"] for log in logs}), "0x" + "13" * 20]
    topics = [*sorted({topic for log in logs for topic in log["topics"]}), "0x" + "13" * 32]
    topic = st.sampled_from(topics)
    position = st.none() | topic | st.lists(topic, max_size=3)
    first = draw(st.integers(0, HEAD))
    return {
        "fromBlock": hex(first),
        "toBlock": hex(draw(st.integers(first, HEAD))),
        "address": draw(
            st.none() | st.sampled_from(addresses) | st.lists(st.sampled_from(addresses), max_size=3)
        ),
        "topics": draw(st.lists(position, max_size=4)),
    }


def criteria_of(log_filter: dict[str, Any]) -> LogFilter:
    address = log_filter["address"] or []
    return LogFilter(
        [raw(text) for text in ([address] if isinstance(address, str) else address)],
        [
            [raw(topic) for topic in ([position] if isinstance(position, str) else position or [])]
            for position in log_filter["topics"]
        ],
    )


def raw(text: str) -> bytes:
    return bytes.fromhex(text[2:])


@shared_chain
@given(data=st.data())
def test_the_answer_is_what_looking_at_every_log_finds(
    data: st.DataObject, dispatcher: Dispatcher, all_logs: Logs
) -> None:
    log_filter = data.draw(filters(all_logs))
    criteria = criteria_of(log_filter)
    blocks = range(int(log_filter["fromBlock"], 16), int(log_filter["toBlock"], 16) + 1)
    expected = [log for log in all_logs if int(log["blockNumber"], 16) in blocks and matches(log, criteria)]
    assert asking(dispatcher)("eth_getLogs", log_filter) == {"result": expected}


@shared_chain
@given(data=st.data(), limit=st.integers(1, 30))
def test_the_range_that_is_proposed_fits_and_no_longer_one_does(
    data: st.DataObject, limit: int, execution_apis_chain: Chain, all_logs: Logs
) -> None:
    log_filter = data.draw(filters(all_logs))
    criteria = criteria_of(log_filter).criteria
    first, last = int(log_filter["fromBlock"], 16), int(log_filter["toBlock"], 16)
    with execution_apis_chain.snapshot() as view:

        def count(end: int) -> int:
            found = search_logs(view.reader, criteria, first, end)
            return result_of(found).count if end >= first else 0

        if count(last) <= limit:
            return
        fitting = result_of(longest_fitting(view, criteria, first, last, limit))
        assert count(fitting if fitting is not None else first - 1) <= limit
        assert count((first - 1 if fitting is None else fitting) + 1) > limit


def test_too_many_results_are_an_error_that_proposes_a_range(
    execution_apis_chain: Chain, all_logs: Logs
) -> None:
    limit = len(all_logs) - 1
    registry = build_registry(execution_apis_chain, limits=CallLimits(logs_results=limit))
    ask = asking(Dispatcher(registry, execution_apis_chain.snapshot))
    error = ask("eth_getLogs", {"fromBlock": "earliest", "toBlock": "latest"})["error"]
    proposed = error.pop("data")
    assert error == {"code": -32005, "message": f"query returned more than {limit} results"}
    assert (proposed["from"], proposed["limit"]) == ("0x0", limit)
    found = ask("eth_getLogs", {"fromBlock": proposed["from"], "toBlock": proposed["to"]})["result"]
    assert found == all_logs[: len(found)]


def test_a_query_beyond_its_time_is_ended(execution_apis_chain: Chain) -> None:
    registry = build_registry(execution_apis_chain, limits=CallLimits(logs_slice=1))
    seconds = itertools.count(step=4.0)
    ask = asking(Dispatcher(registry, execution_apis_chain.snapshot, clock=lambda: next(seconds)))
    reply = ask("eth_getLogs", {"fromBlock": "earliest"})
    assert reply == {"error": {"code": -32005, "message": "query timeout exceeded"}}


@pytest.mark.parametrize("log_filter", [{"address": []}, {"topics": []}, {"topics": [[]]}, {"other": 1}])
def test_an_empty_criterion_is_none(
    log_filter: dict[str, Any], dispatcher: Dispatcher, all_logs: Logs
) -> None:
    ask = asking(dispatcher)
    of_head = [log for log in all_logs if int(log["blockNumber"], 16) == HEAD]
    assert ask("eth_getLogs", {})["result"] == of_head
    if "topics" not in log_filter or log_filter["topics"] == []:
        assert ask("eth_getLogs", log_filter)["result"] == of_head
    else:
        assert ask("eth_getLogs", log_filter)["result"] == [log for log in of_head if log["topics"]]
