"""Pending transactions of some senders and to some receivers: subscriptions, and filters that are polled."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import trio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from tests.drawing import examples
from tests.ethereum.live.arrived import Arrived
from tests.ethereum.live.growing import GrowingChain
from tests.ethereum.live.sessions import open_node
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.server.limits import Limits

ADDRESSES = [bytes([place]) * 20 for place in range(1, 5)]
PLAIN, ALCHEMY = "newPendingTransactions", "alchemy_pendingTransactions"


class Wanted(msgspec.Struct, frozen=True):
    """A filter as a client writes it; None for a member that is absent."""

    senders: Sequence[bytes] | None
    receivers: Sequence[bytes] | None
    full: bool

    def members(self) -> dict[str, Any]:
        given = {"fromAddress": self.senders, "toAddress": self.receivers}
        return {name: _written(some) for name, some in given.items() if some is not None}

    def selects(self, arrived: Arrived) -> bool:
        if self.senders is None and self.receivers is None:
            return True
        return arrived.sender in (self.senders or ()) or arrived.to in (self.receivers or ())


def _written(addresses: Sequence[bytes]) -> Any:
    """Return a single address as a string, as many clients write it."""
    texts = [f"0x{address.hex()}" for address in addresses]
    return texts[0] if len(texts) == 1 else texts


def render(arrived: Arrived) -> bytes:
    return b'{"hash":"0x%b"}' % arrived.hash.hex().encode()


def shown(arrived: Arrived, *, full: bool) -> Any:
    return {"hash": f"0x{arrived.hash.hex()}"} if full else f"0x{arrived.hash.hex()}"


addresses = st.sampled_from(ADDRESSES)
some = st.none() | st.lists(addresses, max_size=3)
filters = st.builds(Wanted, some, some, st.booleans())
arrivals = st.lists(st.tuples(addresses, st.none() | addresses), max_size=12)


async def check(growing: GrowingChain, wanted: Sequence[Wanted], clients: Sequence[Any]) -> None:
    arrived = [Arrived(place.to_bytes(32), *pair) for place, pair in enumerate(clients)]
    async with open_node(growing) as node:
        node.hub.pending.render = render
        client = await node.connect()
        names, polled = [], []
        for each in wanted:
            plain = await client.subscribe(PLAIN, each.full, each.members())
            alchemy = await client.subscribe(ALCHEMY, {**each.members(), "hashesOnly": not each.full})
            names.append((plain, alchemy))
            new = await client.call("eth_newPendingTransactionFilter", each.full, each.members())
            polled.append(new["result"])
        for start in range(0, len(arrived), 5):
            node.hub.pending.announce(arrived[start : start + 5])
        await wait_all_tasks_blocked()
        for each, pair, filter_id in zip(wanted, names, polled, strict=True):
            expected = [shown(one, full=each.full) for one in arrived if each.selects(one)]
            for name in pair:
                assert [told["result"] for told in client.told[name]] == expected
            assert (await client.call("eth_getFilterChanges", filter_id))["result"] == expected
        await client.leave()
        assert node.hub.parameters == 0
        assert not node.hub.pending.is_watched


@settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(wanted=st.lists(filters, max_size=5), clients=arrivals)
def test_each_subscription_has_exactly_what_its_filter_selects(
    growing: GrowingChain, wanted: list[Wanted], clients: list[Any]
) -> None:
    trio.run(check, growing, wanted, clients)


async def test_a_slow_reader_is_told_how_many_that_it_selected_were_missed(growing: GrowingChain) -> None:
    async with open_node(growing, limits=Limits(outbox_bytes=8192)) as node:
        slow = await node.connect(pauses=True)
        wanted = {"toAddress": f"0x{ADDRESSES[0].hex()}", "notices": True}
        name = await slow.subscribe(PLAIN, False, wanted)
        slow.pause()
        for number in range(0, 200, 25):
            numbers = range(number, number + 25)
            node.hub.pending.announce(
                [Arrived(n.to_bytes(32), ADDRESSES[1], ADDRESSES[n % 2]) for n in numbers]
            )
            await wait_all_tasks_blocked()
        slow.go_on()
        await wait_all_tasks_blocked()
        told = slow.told[name]
        (notice,) = [params["error"] for params in told if "error" in params]
        results = [int(params["result"], 16) for params in told if "result" in params]
        assert all(number % 2 == 0 for number in results)
        assert notice["data"]["missed"] + len(results) == 100


@pytest.mark.parametrize("kind", [PLAIN, ALCHEMY])
async def test_addresses_of_filters_count_as_those_of_logs_do(growing: GrowingChain, kind: str) -> None:
    pair = {"fromAddress": [f"0x{each.hex()}" for each in ADDRESSES[:2]], "toAddress": []}
    params = [kind, False, pair] if kind == PLAIN else [kind, pair]
    async with open_node(growing, calls=CallLimits(subscriptions_parameters=3)) as node:
        client = await node.connect()
        name = await client.subscribe(*params)
        refused = (await client.call("eth_subscribe", *params))["error"]
        assert (refused["code"], refused["data"]) == (-32005, {"parameters": 3})
        assert (await client.call("eth_unsubscribe", name))["result"] is True
        await client.subscribe(*params)
        assert node.hub.parameters == 2
