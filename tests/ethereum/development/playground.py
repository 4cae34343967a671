"""A development chain with all its methods, without a socket."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from tests.memory_transport import Ask, asking, memory_transport
from tests.memory_transport import Client as Caller
from tests.node_process import PATIENCE
from tests.reply_schemas import validating
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.development_service import DevelopmentService, DevelopmentSettings
from wsnode.demo.genesis import development_genesis
from wsnode.demo.run import begin
from wsnode.ethereum.building.gas_limit import GAS_LIMIT_TARGET
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.pool.limits import DEVELOPMENT_POOL_LIMITS
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, NetworkConfig
from wsnode.node.networks import ChainService, OpenChains
from wsnode.node.services.fork import UpstreamForkBackend, forked
from wsnode.server.access.router import Network
from wsnode.upstream.client import Client

ETHER = 10**18
AUTOMATIC = DevelopmentSettings(0, ACCOUNTS)
GENESIS_TIME = 1_750_000_000
CREATOR, RECIPIENT, STRANGER = (
    f"0x{address.hex()}" for address in (ACCOUNTS[0].address, ACCOUNTS[1].address, b"\xaa" * 20)
)


class RefusedError(Exception):
    """A method's error; `code` and the message."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class Playground:
    """Calls methods of one chain; each result has to fit the chain's own document."""

    def __init__(self, ask: Ask, network: Network, dispatcher: Dispatcher, control: DevelopmentChain) -> None:
        self._ask = ask
        self.network = network
        self.dispatcher = dispatcher
        self.registry = dispatcher.registry
        self.control = control

    def __call__(self, method: str, *params: Any) -> Any:
        """Return a method's result.

        Raises:
            RefusedError: It has none.
        """
        reply = self._ask(method, *params)
        if "error" in reply:
            raise RefusedError(reply["error"])
        return reply["result"]

    def raw(self, method: str, params: list[Any]) -> dict[str, Any]:
        """Return a reply, be it a result or an error."""
        return self._ask(method, *params)

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Return the reply to parameters of any form, be it a result or an error."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        reply = memory_transport(self.dispatcher, Caller())(json.dumps(request))
        assert reply is not None
        told: dict[str, Any] = json.loads(reply)
        return told

    @property
    def head(self) -> int:
        """Return the head's number."""
        return int(self("eth_blockNumber"), 16)

    def block(self, number: int | str = "latest") -> dict[str, Any]:
        """Return a block with the hashes of its transactions."""
        block: dict[str, Any] = self(
            "eth_getBlockByNumber", number if isinstance(number, str) else hex(number), False
        )
        return block

    def time(self, number: int | str = "latest") -> int:
        """Return a block's time."""
        return int(self.block(number)["timestamp"], 16)

    def balance(self, address: str, block: str = "latest") -> int:
        """Return an account's wei."""
        return int(self("eth_getBalance", address, block), 16)

    def nonce(self, address: str, block: str = "latest") -> int:
        """Return an account's nonce."""
        return int(self("eth_getTransactionCount", address, block), 16)

    def send(self, sender: str = CREATOR, **members: Any) -> str:
        """Return the hash of a transaction, by default of one wei to `RECIPIENT`."""
        transaction = {"from": sender, "to": RECIPIENT, "value": "0x1"} | members
        sent: str = self("eth_sendTransaction", {name: value for name, value in transaction.items() if value})
        return sent

    def receipt(self, transaction: str) -> dict[str, Any] | None:
        """Return a transaction's receipt, None while it is in no block."""
        receipt: dict[str, Any] | None = self("eth_getTransactionReceipt", transaction)
        return receipt

    @property
    def pool(self) -> tuple[int, int]:
        """Return how many transactions are pending and queued."""
        status = self("txpool_status")
        return int(status["pending"], 16), int(status["queued"], 16)


@contextmanager
def playground(
    folder: Path,
    *,
    gas_limit: int = GAS_LIMIT_TARGET,
    clients: Sequence[Client] | None = None,
    settings: DevelopmentSettings = AUTOMATIC,
) -> Iterator[Playground]:
    """Open the chain in a folder, or begin one there; each transaction gets a block at once.

    `clients` prove the state of the block of another chain on which it began.
    """
    if not (folder / "eth").exists():
        addresses = [account.address for account in ACCOUNTS]
        begin(folder, development_genesis(addresses, 10_000 * ETHER, GENESIS_TIME))
    told = NetworkConfig(str(folder), gas_limit=gas_limit)
    # A call that a busy machine keeps waiting is no failure.
    patient = CallLimits(call_seconds=PATIENCE, trace_seconds=PATIENCE)
    config = Config(
        networks={"dev": told}, open=True, call_limits=patient, pool_limits=DEVELOPMENT_POOL_LIMITS
    )
    live = DevelopmentService(settings, with_traffic=False)
    grown: list[tuple[OpenChains, ChainService]] = []

    @contextmanager
    def grow(opened: OpenChains) -> Iterator[ChainService]:
        if clients is not None:
            opened = msgspec.structs.replace(opened, forking=UpstreamForkBackend(opened.ethereum, clients))
        with live(opened) as growth:
            grown.append((opened, growth))
            yield growth

    with open_network("dev", told, config, grow=grow, durable=False) as network:
        ((opened, growth),) = grown
        if opened.forking is not None:
            network = forked(network, opened.ethereum, opened.forking)
        dispatcher = Dispatcher(network.registry, network.open_view)
        yield Playground(validating(asking(dispatcher)), network, dispatcher, growth.development.control)
