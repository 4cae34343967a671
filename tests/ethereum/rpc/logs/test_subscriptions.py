"""eth_subscribe and eth_unsubscribe: geth's words for what does not fit, and the members that are ours."""

import json
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.ethereum.live.growing import EMITTERS, TOPICS, GrowingChain
from tests.ethereum.live.sessions import LogView, open_node
from tests.ethereum.live.test_replay_model import expected
from wsnode.ethereum.codec.blocks import block_from_rows
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.live import hub
from wsnode.ethereum.live.position import Position
from wsnode.ethereum.logs.filter import LogFilter
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.limits import CallLimits

TOPIC = "0x" + "22" * 32
UNKNOWN = str(Position(0, Hash32(bytes(32)), 0))

SOMEBODY = "0x" + "77" * 20

NOTHING_NAMED = "invalid argument 1: state names neither accounts nor slots"
MEMBERS_OF_BLOCKS = "unknown member {}, there are cursor, cursors, receipts, reorgs, transactions"
MEMBERS_OF_RECEIPTS = "unknown member {}, there are cursor, cursors, fromBlock, reorgs, transactionHashes"

REFUSED: list[tuple[Any, int, str]] = [
    ([], -32602, "expected subscription name as first argument"),
    ({}, -32602, "non-array args"),
    ([1], -32602, "expected subscription name as first argument"),
    ([None], -32602, "expected subscription name as first argument"),
    (["x"], -32601, 'no "x" subscription in eth namespace'),
    (["newHeads", 1, 2], -32602, "too many arguments, want at most 2"),
    (["logs"], -32602, "missing value for required argument 1"),
    (["logs", None], -32602, "missing value for required argument 1"),
    (
        ["logs", 1],
        -32602,
        "invalid argument 1: json: cannot unmarshal number into Go value of type filters.input",
    ),
    (["logs", {}, 1], -32602, "too many arguments, want at most 2"),
    (["logs", {"address": "0x1"}], -32602, "invalid argument 1: invalid address: hex string of odd length"),
    (["logs", {"topics": [TOPIC] * 5}], -32602, "invalid argument 1: exceed max topics"),
    (["logs", {"fromBlock": "pending"}], -32602, "pending logs are not supported"),
    (["logs", {"toBlock": "pending"}], -32602, "pending logs are not supported"),
    (["logs", {"fromBlock": "0x5", "toBlock": "0x2"}], -32602, "invalid block range params"),
    (["logs", {"toBlock": "0x2"}], -32602, "invalid block range params"),
    (["logs", {"fromBlock": "0x1", "toBlock": "safe"}], -32602, "invalid block range params"),
    (["logs", {"fromBlock": "zz"}], -32602, "invalid argument 1: hex string without 0x prefix"),
    (
        ["newPendingTransactions", 1],
        -32602,
        "invalid argument 1: json: cannot unmarshal number into Go value of type bool",
    ),
    (
        ["newPendingTransactions", "x"],
        -32602,
        "invalid argument 1: json: cannot unmarshal string into Go value of type bool",
    ),
    (["newPendingTransactions", True, None, 1], -32602, "too many arguments, want at most 3"),
    (["syncing", 1], -32602, "too many arguments, want at most 1"),
    (["logs", {"fromBlock": "safe"}], -32602, "invalid block range params"),
    (["logs", {"fromBlock": "finalized", "toBlock": "latest"}], -32602, "invalid block range params"),
    (["logs", {"fromBlock": "0x1", "toBlock": "earliest"}], -32602, "invalid block range params"),
    (["transactionReceipts", {}, 1], -32602, "too many arguments, want at most 2"),
    (
        ["transactionReceipts", 1],
        -32602,
        "invalid argument 1: json: cannot unmarshal number into Go value of type filters.input",
    ),
    (
        ["transactionReceipts", {"transactionHashes": TOPIC}],
        -32602,
        "invalid argument 1: json: cannot unmarshal string into Go struct field input.transactionHashes"
        " of type []common.Hash",
    ),
    (
        ["transactionReceipts", {"transactionHashes": ["0x1"]}],
        -32602,
        "invalid argument 1: json: cannot unmarshal hex string of odd length into Go struct field"
        " input.transactionHashes of type common.Hash",
    ),
    (
        ["transactionReceipts", {"transactionHashes": [TOPIC] * 201}],
        -32000,
        "exceed max number of transaction hashes allowed per transactionReceipts subscription",
    ),
    # From here on the members that geth does not have.
    (["logs", {"cursor": "AQ=="}], -32602, "invalid argument 1: invalid cursor"),
    (["logs", {"cursor": 1}], -32602, "invalid argument 1: invalid cursor"),
    (["logs", {"cursor": UNKNOWN}], -32001, "the cursor's block is unknown"),
    (["newHeads", {"cursor": UNKNOWN}], -32001, "the cursor's block is unknown"),
    (
        ["logs", {"cursor": UNKNOWN, "fromBlock": "0x1"}],
        -32602,
        "invalid argument 1: cannot specify both cursor and fromBlock, choose one or the other",
    ),
    (
        ["logs", {"cursors": 1}],
        -32602,
        "invalid argument 1: json: cannot unmarshal number into Go struct field input.cursors of type bool",
    ),
    (
        ["newHeads", "latest"],
        -32602,
        "invalid argument 1: json: cannot unmarshal string into Go value of type filters.input",
    ),
    (["newHeads", {"fromBlock": 1}], -32602, "invalid argument 1: hex string without 0x prefix"),
    (
        ["newPendingTransactions", True, 1],
        -32602,
        "invalid argument 2: json: cannot unmarshal number into Go value of type filters.input",
    ),
    (
        ["newPendingTransactions", True, {"notices": 1}],
        -32602,
        "invalid argument 2: json: cannot unmarshal number into Go struct field input.notices of type bool",
    ),
    # A misspelt member of ours changes what is sent: it is refused where geth passes over unknown ones too.
    (["logs", {"curser": UNKNOWN}], -32602, "unknown member curser, did you mean cursor?"),
    (["logs", {"Cursors": True}], -32602, "unknown member Cursors, did you mean cursors?"),
    (["logs", {"reorg": True}], -32602, "unknown member reorg, did you mean reorgs?"),
    (["newHeads", {"cursros": True}], -32602, "unknown member cursros, did you mean cursors?"),
    (["newHeads", {"cusors": None}], -32602, "unknown member cusors, did you mean cursors?"),
    (["transactionReceipts", {"cursers": True}], -32602, "unknown member cursers, did you mean cursors?"),
    (
        ["transactionReceipts", {"transactionHash": TOPIC}],
        -32602,
        MEMBERS_OF_RECEIPTS.format("transactionHash"),
    ),
    (["transactionReceipts", {"address": []}], -32602, MEMBERS_OF_RECEIPTS.format("address")),
    (
        ["transactionReceipts", {"x" * 100: 1}],
        -32602,
        MEMBERS_OF_RECEIPTS.format("x" * 64),
    ),
    (
        ["newPendingTransactions", True, {"to": []}],
        -32602,
        "unknown member to, there are fromAddress, notices, toAddress",
    ),
    (
        ["newPendingTransactions", True, {"toAdress": []}],
        -32602,
        "unknown member toAdress, did you mean toAddress?",
    ),
    (
        ["newPendingTransactions", True, {"toAddress": "0x1"}],
        -32602,
        "invalid argument 2: invalid address: hex string of odd length",
    ),
    (
        ["newPendingTransactions", True, {"fromAddress": [SOMEBODY] * 600, "toAddress": [SOMEBODY] * 401}],
        -32602,
        "invalid argument 2: too many addresses in fromAddress and toAddress: 1001, want at most 1000",
    ),
    (
        ["alchemy_pendingTransactions", {"toAddress": 1}],
        -32602,
        "invalid argument 1: invalid addresses in query",
    ),
    (
        ["alchemy_pendingTransactions", {"notices": True}],
        -32602,
        "unknown member notices, there are fromAddress, hashesOnly, toAddress",
    ),
    (["alchemy_pendingTransactions", {}, 1], -32602, "too many arguments, want at most 2"),
    (
        ["alchemy_minedTransactions", {"addresses": [{}]}],
        -32602,
        "invalid argument 1: an entry of addresses names neither from nor to",
    ),
    (
        ["alchemy_minedTransactions", {"addresses": [{"form": SOMEBODY}]}],
        -32602,
        "unknown member form, did you mean from?",
    ),
    (
        ["alchemy_minedTransactions", {"addresses": [{"to": SOMEBODY}] * 1001}],
        -32602,
        "invalid argument 1: too many entries in addresses: 1001, want at most 1000",
    ),
    (
        ["alchemy_minedTransactions", {"hashsOnly": True}],
        -32602,
        "unknown member hashsOnly, did you mean hashesOnly?",
    ),
    (["state", {}], -32602, NOTHING_NAMED),
    (["state", {"accounts": [], "slots": {SOMEBODY: []}}], -32602, NOTHING_NAMED),
    (
        ["state"],
        -32602,
        "invalid argument 1: json: cannot unmarshal null into Go value of type filters.input",
    ),
    (["state", {"account": [SOMEBODY]}], -32602, "unknown member account, did you mean accounts?"),
    (
        ["state", {"accounts": ["0x1"]}],
        -32602,
        "invalid argument 1: json: cannot unmarshal hex string of odd length into Go struct field"
        " input.accounts of type common.Address",
    ),
    (
        ["state", {"slots": {SOMEBODY: ["0xzz"]}}],
        -32602,
        'invalid argument 1: invalid hex in storage key: "0xzz"',
    ),
    (["state", {"accounts": [SOMEBODY], "cursor": UNKNOWN}], -32602, "invalid argument 1: invalid cursor"),
    (["newBlocks", {"fullTransactions": True}], -32602, MEMBERS_OF_BLOCKS.format("fullTransactions")),
    (["newBlocks", {"fromBlock": "0x1"}], -32602, MEMBERS_OF_BLOCKS.format("fromBlock")),
    (["newBlocks", {"receipt": True}], -32602, "unknown member receipt, did you mean receipts?"),
    (["newBlocks", {"cursor": UNKNOWN}], -32001, "the cursor's block is unknown"),
    (
        ["newBlocks", {"receipts": 1}],
        -32602,
        "invalid argument 1: json: cannot unmarshal number into Go struct field input.receipts of type bool",
    ),
    (
        ["newPendingTransactions", True, {"notice": True}],
        -32602,
        "unknown member notice, did you mean notices?",
    ),
]

ACCEPTED: list[list[Any]] = [
    ["logs", {}],
    ["logs", {"toBlock": "latest"}],
    ["logs", {"blockHash": TOPIC}],
    ["logs", {"fromBlock": "0x100000"}],
    ["newPendingTransactions", None],
    ["newPendingTransactions"],
    ["newPendingTransactions", True],
    ["syncing"],
    ["newHeads"],
    ["newHeads", {}],
    ["newPendingTransactions", None, {"notices": True}],
    ["transactionReceipts"],
    ["transactionReceipts", None],
    ["transactionReceipts", {}],
    ["transactionReceipts", {"transactionHashes": None}],
    ["transactionReceipts", {"transactionHashes": [TOPIC] * 200}],
    ["logs", {"fromBlock": "earliest", "toBlock": "latest"}],
    ["logs", {"fromBlock": "earliest", "toBlock": "0x5"}],
    ["logs", {"fromBlock": "0x0", "toBlock": "earliest"}],
    # What go-ethereum's client sends, and members of others, which geth passes over.
    ["transactionReceipts", {"TransactionHashes": None}],
    ["transactionReceipts", {"TransactionHashes": [TOPIC]}],
    ["logs", {"fromBlock": "0x0", "toBlock": "latest", "topics": [], "Address": None}],
    ["logs", {"limit": 5, "curs": 1, "order": "x", "reorganised": True}],
    ["newHeads", {"includeTransactions": True}],
    ["newPendingTransactions", False, {}],
    ["newPendingTransactions", False, {"fromAddress": [SOMEBODY] * 600, "toAddress": [SOMEBODY] * 400}],
    ["alchemy_pendingTransactions"],
    ["alchemy_pendingTransactions", {"toAddress": SOMEBODY, "hashesOnly": True}],
    ["alchemy_minedTransactions"],
    ["alchemy_minedTransactions", {"addresses": [{"to": SOMEBODY, "from": SOMEBODY}] * 400}],
    ["state", {"accounts": [SOMEBODY], "slots": {SOMEBODY: ["0x0"]}, "cursors": True, "reorgs": True}],
    ["newBlocks"],
    ["newBlocks", {"transactions": True, "receipts": True, "cursors": True, "reorgs": True}],
]


def named(case: Any) -> str:
    return json.dumps(case).replace(TOPIC, "topic")[:50]


@pytest.mark.slow
@pytest.mark.parametrize(("params", "code", "message"), REFUSED, ids=[named(case[0]) for case in REFUSED])
async def test_what_does_not_fit_is_refused_in_words(
    growing: GrowingChain, params: Any, code: int, message: str
) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        await client.peer.send(
            json.dumps({"jsonrpc": "2.0", "id": 0, "method": "eth_subscribe", "params": params})
        )
        error = (await client.reply(0))["error"]
        assert (error["code"], error["message"]) == (code, message)


@pytest.mark.slow
@pytest.mark.parametrize("params", ACCEPTED, ids=named)
async def test_what_geth_takes_is_taken(growing: GrowingChain, params: list[Any]) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        identity = await client.subscribe(*params)
        assert len(identity) == 34
        assert (await client.call("eth_unsubscribe", identity))["result"] is True
        again = (await client.call("eth_unsubscribe", identity))["error"]
        assert again == {"code": -32000, "message": "subscription not found"}


@pytest.mark.parametrize(
    ("params", "code", "message"),
    [
        ([], -32602, "missing value for required argument 0"),
        ([None], -32602, "missing value for required argument 0"),
        (["0x1"], -32000, "subscription not found"),
        (["\ud800"], -32000, "subscription not found"),
        ([1], -32602, "invalid argument 0: json: cannot unmarshal number into Go value of type rpc.ID"),
        (["0x1", 2], -32602, "too many arguments, want at most 1"),
    ],
    ids=str,
)
async def test_ids_of_nothing_are_refused_in_words(
    growing: GrowingChain, params: list[Any], code: int, message: str
) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        error = (await client.call("eth_unsubscribe", *params))["error"]
        assert (error["code"], error["message"]) == (code, message)


LOGS = [(EMITTERS[0], TOPICS[:1]), (EMITTERS[1], TOPICS[:2])]


async def test_without_options_every_message_has_geths_members_only(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        heads, logs = await client.subscribe("newHeads"), await client.subscribe("logs", {})
        growing.grow(LOGS)
        node.hub.advance()
        stored = (await client.call("eth_getLogs", {}))["result"]
        block = (await client.call("eth_getBlockByNumber", "latest", False))["result"]

        assert client.told[logs] == [{"subscription": logs, "result": log} for log in stored]
        (told,) = client.told[heads]
        assert list(told) == ["subscription", "result"]
        # As in geth, members of later forks are null here and absent in a block.
        header = {name: value for name, value in told["result"].items() if value is not None}
        assert header == {name: block[name] for name in header}
        assert set(block) - set(header) <= {
            "size",
            "totalDifficulty",
            "transactions",
            "uncles",
            "withdrawals",
        }
        for message in client.messages:
            if "method" in message:
                assert list(message) == ["jsonrpc", "method", "params"]
                assert message["method"] == "eth_subscription"


async def test_a_reorganisation_takes_logs_back_in_reverse_and_tells_of_it_who_asked(
    growing: GrowingChain,
) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        first, second = growing.grow(LOGS), growing.grow(LOGS[:1])
        node.hub.advance()
        logs = await client.subscribe("logs", {"reorgs": True})
        heads = await client.subscribe("newHeads", {"reorgs": True, "cursors": True})
        growing.reorganise(2, [LOGS[1:], []])
        node.hub.advance()
        await client.call("eth_chainId")

        notice, *rest = client.told[logs]
        new = [block.head for block in growing.blocks]

        def place(head: Any) -> dict[str, str]:
            return {"number": hex(head.number), "hash": f"0x{head.hash.hex()}"}

        genesis = (await client.call("eth_getBlockByNumber", "0x0", False))["result"]
        assert notice == {
            "subscription": logs,
            "reorg": {
                "commonAncestor": {"number": "0x0", "hash": genesis["hash"]},
                "dropped": [place(second), place(first)],
                "added": [place(head) for head in new],
            },
        }
        assert [(told["result"]["removed"], told["result"]["blockHash"]) for told in rest] == [
            (True, place(second)["hash"]),
            (True, place(first)["hash"]),
            (True, place(first)["hash"]),
            (False, place(new[0])["hash"]),
        ]
        assert [told["result"]["logIndex"] for told in rest] == ["0x0", "0x1", "0x0", "0x0"]
        notice, *rest = client.told[heads]
        assert Position.parse(notice["cursor"]).head == second
        assert [told["result"]["hash"] for told in rest] == [place(head)["hash"] for head in new]
        assert [Position.parse(told["cursor"]) for told in rest] == [
            Position(head.number, head.hash, 0) for head in new
        ]


async def test_heads_are_replayed_and_go_on_behind_a_cursor(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        growing.reorganise(0, [[]] * 5)
        whole = await client.subscribe("newHeads", {"fromBlock": "earliest", "cursors": True})
        assert [told["result"]["number"] for told in client.told[whole]] == [hex(n) for n in range(6)]
        third = client.told[whole][3]["cursor"]
        growing.reorganise(4, [[]] * 5)
        node.hub.advance()
        rest = await client.subscribe("newHeads", {"cursor": third})
        assert [told["result"]["number"] for told in client.told[rest]] == [hex(n) for n in range(2, 7)]
        late = await client.subscribe("newHeads", {"fromBlock": "0x5", "cursors": True})
        assert [told["result"]["number"] for told in client.told[late]] == ["0x5", "0x6"]
        assert client.told[whole][6:] == [{**told, "subscription": whole} for told in client.told[rest]]


LIVE_ONLY: list[list[Any]] = [
    # As go-ethereum's client, cast and web3.js write that they want what comes from now on.
    ["logs", {"fromBlock": "0x0", "toBlock": "latest"}],
    ["logs", {"fromBlock": "earliest", "toBlock": "latest"}],
    ["logs", {"fromBlock": "0x0"}],
    ["logs", {"fromBlock": "earliest", "reorgs": False}],
    ["logs", {"fromBlock": "0x1", "toBlock": "0x2"}],
    ["newHeads", {"fromBlock": "0x0"}],
]


async def test_clients_that_mean_new_logs_are_not_given_the_history(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        growing.grow(LOGS)
        live = [await client.subscribe(*params) for params in LIVE_ONLY]
        also = {"fromBlock": "0x0", "toBlock": "latest", "cursors": True}
        with_cursors = await client.subscribe("logs", also)
        growing.grow(LOGS[:1])
        node.hub.advance()
        await client.call("eth_chainId")
        for name in live:
            assert [list(told) for told in client.told[name]] == [["subscription", "result"]]
        assert len(client.told[with_cursors]) == 1


async def test_bounds_count_as_blocks_come(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        growing.grow(LOGS)
        ended = await client.subscribe("logs", {"fromBlock": "0x1", "toBlock": "0x2", "cursors": True})
        later = await client.subscribe("logs", {"fromBlock": "0x3"})
        for _ in range(3):
            growing.grow(LOGS[:1])
            node.hub.advance()
        await client.call("eth_chainId")
        assert [told["result"]["blockNumber"] for told in client.told[ended]] == ["0x1", "0x1", "0x2"]
        assert [told["result"]["blockNumber"] for told in client.told[later]] == ["0x3", "0x4"]


async def test_http_has_filters_but_no_subscriptions(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        assert (await node.post("eth_subscribe", ["newHeads"]))["error"] == {
            "code": -32601,
            "message": "notifications not supported",
        }
        assert len((await node.post("eth_newBlockFilter", []))["result"]) == 34


async def test_a_subscription_made_in_a_batch_tells_nothing_before_the_batch_is_answered(
    growing: GrowingChain,
) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        growing.grow(LOGS)
        calls = [("eth_subscribe", ["newHeads", {"fromBlock": "0x0", "cursors": True}]), ("eth_chainId", [])]
        await client.peer.send(
            json.dumps(
                [
                    {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
                    for place, (method, params) in enumerate(calls)
                ]
            )
        )
        await client.settle()
        assert isinstance(client.messages[0], list)
        assert [message["params"]["result"]["number"] for message in client.messages[1:]] == ["0x0", "0x1"]


async def test_subscriptions_name_only_so_many_addresses_together(growing: GrowingChain) -> None:
    wanted = {"address": [f"0x{address.hex()}" for address in EMITTERS[:2]]}
    async with open_node(growing, calls=CallLimits(subscriptions_parameters=3)) as node:
        first, second = await node.connect(), await node.connect()
        await first.subscribe("logs", wanted)
        refused = (await second.call("eth_subscribe", "logs", wanted))["error"]
        assert (refused["code"], refused["data"]) == (-32005, {"parameters": 3})
        await second.subscribe("newHeads")
        await first.leave()
        await second.subscribe("logs", wanted)
        assert node.hub.parameters == 2


async def test_one_connection_has_only_its_share_of_the_addresses(growing: GrowingChain) -> None:
    wanted = {"address": [f"0x{address.hex()}" for address in EMITTERS[:2]]}
    limits = CallLimits(subscriptions_parameters=6, subscriptions_parameters_per_connection=3)
    async with open_node(growing, calls=limits) as node:
        first, second = await node.connect(), await node.connect()
        name = await first.subscribe("logs", wanted)
        refused = (await first.call("eth_subscribe", "logs", wanted))["error"]
        assert (refused["code"], refused["data"]) == (-32005, {"parameters": 3})
        await first.subscribe("newHeads")
        await second.subscribe("logs", wanted)
        assert (await first.call("eth_unsubscribe", name))["result"] is True
        await first.subscribe("logs", wanted)
        assert node.hub.parameters == 4


async def test_many_blocks_at_once_are_told_of_a_part_at_a_time(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock
) -> None:
    # The clock stands still, so the hub does not wait for its next look at the store.
    assert mock_clock.rate == 0
    monkeypatch.setattr(hub, "STEP_LOGS", 5)
    async with open_node(growing) as node:
        client = await node.connect()
        await client.subscribe("newHeads", {"cursors": True})
        growing.reorganise(0, [LOGS] * 7)
        growing.reorganise(0, [[]] * 100)
        assert [head.number for head in node.hub.advance().added] == [1, 2]
        # A cursor of another node may be ahead of the published position.
        ahead = str(Position(70, growing.blocks[69].head.hash, 0))
        await client.ask("eth_subscribe", "newHeads", {"cursor": ahead})
        await client.settle()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node.hub.watch)
            for _ in range(1000):
                await trio.lowlevel.checkpoint()
            assert node.hub.head.number == 107
            await client.settle()
            nursery.cancel_scope.cancel()
        first, second = (
            [int(told["result"]["number"], 16) for told in notifications]
            for notifications in client.told.values()
        )
        assert first == list(range(1, 108))
        assert second == list(range(71, 108))


@pytest.mark.parametrize("returns", [False, True], ids=["", "to the old branch"])
async def test_many_dropped_blocks_are_taken_back_a_part_at_a_time(
    growing: GrowingChain, monkeypatch: pytest.MonkeyPatch, mock_clock: MockClock, returns: bool
) -> None:
    assert mock_clock.rate == 0
    monkeypatch.setattr(hub, "STEP_LOGS", 4)
    growing.reorganise(0, [LOGS] * 20)
    old = growing.blocks[-1].head
    async with open_node(growing) as node:
        client = await node.connect()
        names = [await client.subscribe("logs", {"cursors": True, "reorgs": True})]
        names.append(await client.subscribe("newHeads", {"reorgs": True}))
        dropped = growing.shrink(19)
        growing.grow(LOGS[:1])
        change = node.hub.advance()
        assert ([head.number for head in change.removed], change.added) == ([20, 19], ())
        if returns:
            growing.shrink(1)
            growing.return_to(dropped)
        # A subscription that joins meanwhile gets the remaining removals, after its own notice.
        names.append(await client.subscribe("logs", {"cursors": True, "reorgs": True}))
        await client.settle()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(node.hub.watch)
            for _ in range(1000):
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        assert node.hub.meeting_point == Position.after(growing.blocks[-1].head)
        assert returns == (growing.blocks[-1].head == old)
        await client.settle()
        before = LogView()
        before.logs = [(f"0x{head.hash.hex()}", index) for head in dropped[::-1] for index in range(2)]
        for params in client.told[names[0]]:
            before.apply(params)
        assert before.logs == expected(growing, LogFilter())[2:]
        notices = [[params for params in client.told[name] if "reorg" in params] for name in names]
        assert [len(some) for some in notices[:2]] == [1, 1]
        assert [len(params["reorg"]["dropped"]) for params in notices[0]] == [19]


async def test_a_notice_lists_only_so_many_dropped_blocks(growing: GrowingChain) -> None:
    growing.reorganise(0, [[]] * 260)
    async with open_node(growing) as node:
        client = await node.connect()
        heads = await client.subscribe("newHeads", {"reorgs": True})
        growing.reorganise(259, [[]])
        node.hub.advance()
        await client.settle()
        reorg = client.told[heads][0]["reorg"]
        assert [int(block["number"], 16) for block in reorg["dropped"]] == list(range(260, 4, -1))
        assert reorg["commonAncestor"]["number"] == "0x1"


async def test_a_block_that_never_was_canonical_is_no_place_to_go_on_from(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        head = growing.grow(LOGS)
        with growing.chain.snapshot() as view:
            rows = view.block_rows(head.hash)
            assert rows is not None
        growing.shrink(1)
        growing.chain.forget([head.hash])
        growing.chain.store_side_block([(block_from_rows(growing.chain.spec, *rows), 0)])
        growing.grow()
        cursor = str(Position.after(head))
        refused = (await client.call("eth_subscribe", "logs", {"cursor": cursor}))["error"]
        assert (refused["code"], refused["data"]["blockNumber"]) == (-32001, "0x1")


async def test_what_is_beyond_a_bound_is_not_taken_back_either(growing: GrowingChain) -> None:
    async with open_node(growing) as node:
        client = await node.connect()
        for _ in range(4):
            head = growing.grow(LOGS[:1])
        growing.reorganise(3, [[]] * 4)
        bounded = {"cursor": str(Position.after(head)), "toBlock": "0x2"}
        logs = await client.subscribe("logs", bounded)
        assert [told["result"]["blockNumber"] for told in client.told[logs]] == ["0x2"]
        assert client.told[logs][0]["result"]["removed"]


async def test_subscribers_are_told_whatever_becomes_of_who_else_follows(growing: GrowingChain) -> None:
    def fail(_change: HeadChange) -> None:
        raise RuntimeError("the pool is broken")

    async with open_node(growing) as node:
        node.hub.on_change.append(fail)
        client = await node.connect()
        heads = await client.subscribe("newHeads")
        growing.grow()
        assert len(node.hub.advance().added) == 1
        await client.settle()
        assert len(client.told[heads]) == 1
