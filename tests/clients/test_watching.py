"""viem, ethers and web3.py watch a chain on which something happens all the time."""

from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from typing import Any

import pytest

from tests.clients.conftest import RunScript
from tests.clients.nodes import ADDRESSES
from tests.clients.web3_session import DEMO, Session, connected
from tests.node_process import Node, started

SENDER_KEY = "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6"


@pytest.fixture(scope="module")
def busy() -> Iterator[Node]:
    with started("demo", "--listen", "127.0.0.1:0", "--block-time", "0.3") as node:
        yield node


@pytest.mark.slow
@pytest.mark.parametrize("address", ["http", "websocket"])
@pytest.mark.parametrize("script", ["watch_viem.mjs", "watch_ethers.mjs"])
def test_scripts_watch_the_chain_through_a_reorganisation(
    script: str, address: str, run_script: RunScript, busy: Node
) -> None:
    run_script(script, ADDRESSES[address](busy))


class Watcher:
    """The notifications that web3.py received, by subscription."""

    def __init__(self, w3: Any) -> None:
        self._messages: AsyncIterator[Any] = aiter(w3.socket.process_subscriptions())
        self._returned: Counter[str] = Counter()
        self.told: defaultdict[str, list[Any]] = defaultdict(list)

    async def until(self, subscription: str, wanted: Callable[[Any], bool]) -> Any:
        """Return the next result of a subscription that is wanted, which may have come before another's."""
        told = self.told[subscription]
        while True:
            while self._returned[subscription] == len(told):
                message = await anext(self._messages)
                self.told[message["subscription"]].append(message["result"])
            self._returned[subscription] += 1
            if wanted(result := told[self._returned[subscription] - 1]):
                return result


async def replace_from(session: Session, number: int, block_hash: str) -> None:
    """Replace a block and those behind it.

    Blocks that are mined meanwhile make a reorganisation too shallow: it replaced later ones only, and is
    repeated.
    """
    for more in count(2):
        depth = await session.eth.block_number - number + more
        reply = await session.w3.provider.make_request("wsnode_reorg", [{"depth": depth}])
        if any(block["hash"] == block_hash for block in reply["result"]["dropped"]):
            return


async def watch(session: Session) -> None:
    eth, sender = session.eth, session.eth.account.from_key(SENDER_KEY)
    topics = [DEMO.transferTopic, "0x" + sender.address[2:].lower().rjust(64, "0")]
    heads = await eth.subscribe("newHeads")
    logs = await eth.subscribe("logs", {"address": DEMO.token, "topics": topics})
    pending = await eth.subscribe("newPendingTransactions")
    whole = await eth.subscribe("newBlocks", {"transactions": True, "receipts": True})
    of_sender = {"addresses": [{"from": sender.address}], "includeRemoved": True, "hashesOnly": True}
    mined = await eth.subscribe("alchemy_minedTransactions", of_sender)
    of_pending = {"fromAddress": sender.address, "hashesOnly": True}
    selected = await eth.subscribe("alchemy_pendingTransactions", of_pending)
    watcher = Watcher(session.w3)
    number = (await watcher.until(heads, lambda _head: True))["number"]
    assert (await watcher.until(heads, lambda _head: True))["number"] == number + 1

    transfer = session.token.functions.transfer(DEMO.recipient, 0)
    nonce = await eth.get_transaction_count(sender.address)
    complete = await transfer.build_transaction({"from": sender.address, "nonce": nonce})
    sent = await eth.send_raw_transaction(sender.sign_transaction(complete).raw_transaction)
    await watcher.until(pending, lambda transaction: transaction == sent)
    log = await watcher.until(logs, lambda _log: True)
    receipt = await eth.wait_for_transaction_receipt(sent)
    assert (receipt["status"], receipt["blockHash"]) == (1, log["blockHash"])

    await replace_from(session, log["blockNumber"], log["blockHash"].to_0x_hex())
    removed = await watcher.until(logs, lambda _log: True)
    assert (removed["removed"], removed["blockHash"]) == (True, log["blockHash"])
    again = await watcher.until(logs, lambda _log: True)
    assert (again["removed"], again["transactionHash"]) == (False, sent)
    assert again["blockHash"] != log["blockHash"]

    assert await eth.unsubscribe(logs)
    assert await eth.unsubscribe(pending)
    number = await eth.block_number
    # What had come before the reply may have waited to be taken, but not behind this head.
    await watcher.until(heads, lambda head: head["number"] > number)
    seen = len(watcher.told[pending])
    await watcher.until(heads, lambda head: head["number"] > number + 2)
    assert len(watcher.told[pending]) == seen
    told = [(one["removed"], str(one["transaction"]["hash"])) for one in watcher.told[mined]]
    assert told == [(removed, sent.to_0x_hex()) for removed in (False, True, False)]
    assert set(watcher.told[selected]) == {sent}
    (block, *_others) = (one for one in watcher.told[whole] if one["hash"] == log["blockHash"])
    assert sent.to_0x_hex() in [each["transactionHash"] for each in block["receipts"]]
    assert sent in [each["hash"] for each in block["transactions"]]
    assert await eth.unsubscribe(heads)


@pytest.mark.slow
def test_web3_watches_the_chain_through_a_reorganisation(busy: Node) -> None:
    with connected(pytest.importorskip("web3"), "WebSocketProvider", ADDRESSES["websocket"](busy)) as session:
        session.wait(watch(session))
