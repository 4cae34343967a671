"""A consensus client of a few lines, and the node that it drives, joined by streams in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
import trio
import trio.testing

from tests.node_process import PATIENCE
from tests.reply_schemas import ReplySchemas, document_of
from tests.server.http.test_connection import Client
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import Payload
from wsnode.ethereum.codec.transactions import sign_transaction
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.payloads import builds
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.node.config import EngineConfig, NetworkConfig
from wsnode.node.networks import network_of, pool_beside
from wsnode.node.services.engine import driven, engine_limits
from wsnode.server.access.router import Network
from wsnode.server.limits import Limits
from wsnode.server.server import Server

GENESIS_TIME = 1_700_000_000
ETHER = 10**18
ZERO = "0x" + "00" * 32
ROOT = "0x" + "42" * 32
RECIPIENT = "0x" + "fe" * 20
FORKS = ("paris", "shanghai", "cancun", "prague", "osaka", "amsterdam")
NEW_PAYLOAD = dict(zip(FORKS, (1, 2, 3, 4, 4, 5), strict=True))
GET_PAYLOAD = dict(zip(FORKS, (1, 2, 3, 4, 5, 6), strict=True))
FORKCHOICE = dict(zip(FORKS, (1, 2, 3, 3, 3, 4), strict=True))


class FailedCallError(Exception):
    """A call that was answered with an error."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["code"], error["message"])
        self.code, self.message = error["code"], error["message"]


class Made(msgspec.Struct, frozen=True):
    """A payload and what is given beside it."""

    payload: dict[str, Any]
    blob_hashes: Sequence[str] = ()
    root: str | None = None
    requests: Sequence[str] | None = None

    @property
    def hash(self) -> str:
        return str(self.payload["blockHash"])

    @property
    def time(self) -> int:
        return int(self.payload["timestamp"], 16)

    def arguments(self, version: int) -> list[Any]:
        beside = [list(self.blob_hashes), self.root, self.requests]
        return [self.payload, *beside[: max(0, version - 1) if version > 2 else 0]]

    def changed(self, **members: Any) -> Made:
        """Return a payload with other members, the same hash; None leaves one out."""
        payload = {name: value for name, value in {**self.payload, **members}.items() if value is not None}
        return msgspec.structs.replace(self, payload=payload)


class Driven:
    """The node, and calls of it as a consensus client makes them."""

    def __init__(self, chain: Chain, fork: str, engine: Network, public: Network) -> None:
        self.chain, self.fork = chain, fork
        self.genesis = hexadecimal(chain.head.hash)
        self.nursery: trio.Nursery
        limits = engine_limits(Limits())
        self._schemas = ReplySchemas(document_of(engine.registry))
        self._servers = {"engine": Server([engine], limits), "public": Server([public], limits)}
        self.not_ready_reason = public.not_ready_reason
        self._nonces = dict.fromkeys(range(len(ACCOUNTS)), 0)

    def connect(self, name: str = "engine") -> Client:
        near, far = trio.testing.memory_stream_pair()
        self.nursery.start_soon(self._servers[name].serve_stream, far)
        return Client(near)

    async def ask(self, method: str, *params: Any, at: str = "engine") -> Any:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        answer = (await self.connect(at).ask(body, target="/")).json
        if "error" in answer:
            raise FailedCallError(answer["error"])
        if at == "engine":
            self._schemas.validate(method, answer["result"])
        return answer["result"]

    async def give(self, made: Made, version: int | None = None) -> dict[str, Any]:
        """Return the status of a payload."""
        version = version or NEW_PAYLOAD[self.fork]
        return dict(await self.ask(f"engine_newPayloadV{version}", *made.arguments(version)))

    async def choose(
        self,
        head: str,
        *,
        safe: str = ZERO,
        finalized: str = ZERO,
        attributes: dict[str, Any] | None = None,
        version: int | None = None,
    ) -> dict[str, Any]:
        """Return what a fork choice is answered."""
        state = {"headBlockHash": head, "safeBlockHash": safe, "finalizedBlockHash": finalized}
        version = version or FORKCHOICE[self.fork]
        return dict(await self.ask(f"engine_forkchoiceUpdatedV{version}", state, attributes))

    def attributes(self, timestamp: int, **others: Any) -> dict[str, Any]:
        """Return attributes of the fork's version."""
        made: dict[str, Any] = {"timestamp": hex(timestamp), "prevRandao": ROOT}
        made["suggestedFeeRecipient"] = RECIPIENT
        if FORKCHOICE[self.fork] > 1:
            made["withdrawals"] = []
        if FORKCHOICE[self.fork] > 2:
            made["parentBeaconBlockRoot"] = ROOT
        if FORKCHOICE[self.fork] > 3:
            made |= {"slotNumber": hex((timestamp - GENESIS_TIME) // 12), "targetGasLimit": hex(60_000_000)}
        return made | others

    async def built(self, parent: Made | None = None, **attributes: Any) -> Made:
        """Return a payload that the node builds on a parent, which becomes the head."""
        head = self.genesis if parent is None else parent.hash
        after = GENESIS_TIME if parent is None else parent.time
        reply = await self.choose(head, attributes=self.attributes(after + 12, **attributes))
        assert reply["payloadStatus"]["status"] == "VALID", reply
        return self.made(await self.fetch(reply["payloadId"]), attributes.get("parentBeaconBlockRoot", ROOT))

    async def fetch(self, identity: str) -> dict[str, Any]:
        """Return the envelope of a payload that was built."""
        found = dict(await self.ask(f"engine_getPayloadV{GET_PAYLOAD[self.fork]}", identity))
        return {"executionPayload": found} if self.fork == "paris" else found

    def made(self, envelope: dict[str, Any], root: str = ROOT) -> Made:
        version = NEW_PAYLOAD[self.fork]
        return Made(
            envelope["executionPayload"],
            root=root if version > 2 else None,
            requests=envelope["executionRequests"] if version > 3 else None,
        )

    async def extended(self, parent: Made | None = None, **attributes: Any) -> Made:
        """Return a new block that is the head by now."""
        made = await self.built(parent, **attributes)
        assert (await self.give(made))["status"] == "VALID"
        assert (await self.choose(made.hash))["payloadStatus"]["status"] == "VALID"
        return made

    def sealed(self, made: Made, **members: Any) -> Made:
        """Return a payload with other members and the hash that it has with them."""
        other = made.changed(**members)
        root = None if other.root is None else bytes.fromhex(other.root[2:])
        requests = None if other.requests is None else [bytes.fromhex(each[2:]) for each in other.requests]
        found = Payload(json.dumps(other.changed(blockHash=ZERO).payload).encode()).block(
            self.chain.spec, parent_beacon_block_root=root, requests=requests
        )
        assert isinstance(found, InvalidBlockError)
        assert found.rule == "block_hash"
        return other.changed(blockHash=found.expected)

    def transfer(self, sender: int = 0, value: int = 1, *, nonce: int | None = None, **members: Any) -> str:
        """Return a signed transaction of one of the funded accounts."""
        if nonce is None:
            nonce = self._nonces[sender]
            self._nonces[sender] += 1
        given: dict[str, Any] = {"max_fee": 10**11, "max_priority_fee": 10**9, "gas": 21_000, "input": b""}
        given |= {"to": ACCOUNTS[9].address, "value": value, "chain_id": self.chain.spec.chain_id} | members
        return hexadecimal(sign_transaction(ACCOUNTS[sender].secret, nonce=nonce, **given))

    async def send(self, transaction: str) -> str:
        return str(await self.ask("eth_sendRawTransaction", transaction))

    async def head(self) -> str:
        """Return the hash of the block that clients see as the latest."""
        return str((await self.ask("eth_getBlockByNumber", "latest", False, at="public"))["hash"])


@asynccontextmanager
async def opened(folder: Path, fork: str = "osaka", genesis: bytes | None = None) -> AsyncIterator[Driven]:
    """Serve a new chain that is driven; `fork` is in force from its first block on."""
    given = genesis or development_genesis(
        [account.address for account in ACCOUNTS], 1000 * ETHER, GENESIS_TIME, fork=fork
    )
    with Chain.open(folder / "eth", given, writer=True, durable=False) as chain:
        hub = Hub(chain)
        pool = pool_beside(hub, chain, PoolLimits())
        public = network_of("test", (), (chain, None), CallLimits(), None, hub=hub, pool=pool)
        live = LiveTree(BlockTree(chain), hub)
        public = driven(public, chain, live, pool, NetworkConfig(str(folder), engine=EngineConfig()))
        engine = msgspec.structs.replace(public.ports[0].network, tokens=None)
        node = Driven(chain, fork, engine, public)
        with pytest.MonkeyPatch.context() as patience:
            # A busy machine may take longer to fill a payload than a consensus client waits for it.
            patience.setattr(builds, "FULL_SECONDS", PATIENCE)
            async with trio.open_nursery() as nursery:
                node.nursery = nursery
                for work in public.background:
                    nursery.start_soon(work)
                yield node
                nursery.cancel_scope.cancel()
