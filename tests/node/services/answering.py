"""A folder that is served in memory, and answers that need each kind of its rows.

    python -m tests.node.services.answering FOLDER

prints all answers for each line that it reads, as a JSON array in a line.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ethereum.live.growing import EMITTERS, SENDER, TOPICS
from tests.memory_transport import Ask, asking
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, NetworkConfig
from wsnode.server.access.router import Network

BLOCKS = 6


@contextmanager
def served(data: Path) -> Iterator[tuple[Network, Ask]]:
    told = NetworkConfig(str(data))
    with open_network("one", told, Config(networks={"one": told}, open=True)) as network:
        yield network, asking(Dispatcher(network.registry, network.open_view))


def answers(ask: Ask) -> list[str]:
    """Return replies that need each kind of row."""
    addresses = [hexadecimal(each) for each in (SENDER, *EMITTERS)]
    calls: list[tuple[str, tuple[Any, ...]]] = [
        *(("eth_getBlockByNumber", (hex(number), True)) for number in range(BLOCKS + 1)),
        *(("eth_getBlockReceipts", (hex(number),)) for number in range(BLOCKS + 1)),
        *(("eth_getBalance", (address, "latest")) for address in addresses),
        *(("eth_getCode", (address, "latest")) for address in addresses),
        *(("eth_getTransactionCount", (addresses[0], hex(number))) for number in range(BLOCKS + 1)),
        ("eth_getProof", (addresses[1], [], "latest")),
        ("eth_getLogs", ({"fromBlock": "0x0", "address": addresses[1]},)),
        ("eth_getLogs", ({"fromBlock": "0x0", "topics": [hexadecimal(TOPICS[0])]},)),
        ("eth_call", ({"to": addresses[1], "data": "0x"}, "latest")),
    ]
    return [json.dumps(ask(method, *params)) for method, params in calls]


def look_ups(ask: Ask, hashes: list[str], transactions: list[str]) -> list[str]:
    calls = [
        *(("eth_getBlockByHash", (each, False)) for each in hashes),
        *(("eth_getTransactionByHash", (each,)) for each in transactions),
        *(("eth_getTransactionReceipt", (each,)) for each in transactions),
    ]
    return [json.dumps(ask(method, *params)) for method, params in calls]


def known_hashes(ask: Ask) -> tuple[list[str], list[str]]:
    """Return the hashes of all blocks, and of all transactions."""
    blocks = [ask("eth_getBlockByNumber", hex(number), False)["result"] for number in range(BLOCKS + 1)]
    return [block["hash"] for block in blocks], [each for block in blocks for each in block["transactions"]]


def answering_all(ask: Ask) -> Ask:
    """Answer with an error where a handler raises anything else, as a connection does."""

    def answer(method: str, *params: Any, service_form: bool = False) -> dict[str, Any]:
        try:
            return ask(method, *params, service_form=service_form)
        except Exception as error:
            return {"error": {"code": -32603, "message": str(error)}}

    return answer


def main() -> None:
    with served(Path(sys.argv[1])) as (_, asked):
        ask = answering_all(asked)
        hashes, transactions = known_hashes(ask)
        for _line in sys.stdin:
            print(json.dumps(answers(ask) + look_ups(ask, hashes, transactions)), flush=True)


if __name__ == "__main__":
    main()
