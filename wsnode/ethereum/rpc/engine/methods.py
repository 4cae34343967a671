"""All methods of the Engine API's port, and those that identify the client and the node to each other."""

import logging
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.payloads.builds import PayloadBuilds
from wsnode.ethereum.payloads.engine_chain import EngineChain
from wsnode.ethereum.pool.blobs import Blobs
from wsnode.ethereum.rpc.common.decoding import kind, mismatch
from wsnode.ethereum.rpc.common.parameters import register_list
from wsnode.ethereum.rpc.engine import blobs as blob_methods
from wsnode.ethereum.rpc.engine import forkchoice, payloads
from wsnode.ethereum.rpc.engine.schemas import CLIENT_VERSIONS, TRANSITION
from wsnode.jsonrpc.errors import shortened
from wsnode.jsonrpc.openrpc.document import add_discovery
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import STRING, list_of
from wsnode.release import release

CODE: Final = "WN"
"""Two letters that stand for a client; no list has these for another one."""
_PREFIX: Final = "engine_"
_EXCHANGE: Final = "engine_exchangeCapabilities"
_MAX_NAMES: Final = 1_024
_NEVER: Final = 2**256 - 2**10
"""The terminal total difficulty of a chain that has none (paris.md)."""

SHARED: Final = (
    "eth_blockNumber",
    "eth_call",
    "eth_chainId",
    "eth_getCode",
    "eth_getBlockByHash",
    "eth_getBlockByNumber",
    "eth_getLogs",
    "eth_sendRawTransaction",
    "eth_syncing",
    "web3_clientVersion",
)
"""Methods of the `eth` namespace for a consensus client on the same port (execution-apis,
src/engine/common.md).
"""

logger = logging.getLogger("wsnode.engine")


class MethodNames(tuple[str, ...]):
    """Names of the methods that a client knows."""

    __slots__ = ()


class CapabilitiesParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[names of the methods that the consensus client knows]`."""

    methods: MethodNames


class ClientVersion(msgspec.Struct, frozen=True):
    """Version of a client (ClientVersionV1): its two-letter code, name, version, and the first four bytes of
    its commit as hex.
    """

    code: str
    name: str
    version: str
    commit: str


class ClientVersionParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[version of the consensus client]`."""

    client: ClientVersion


class TransitionConfiguration(msgspec.Struct, frozen=True, rename="camel"):
    """Configuration of the merge (TransitionConfigurationV1): terminal total difficulty, and hash and number
    of the terminal block, all as hex.
    """

    terminal_total_difficulty: str
    terminal_block_hash: str
    terminal_block_number: str


class TransitionParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[configuration of the consensus client]`."""

    configuration: TransitionConfiguration


class IdentificationMethods:
    """Handlers by which the consensus client and the node identify themselves to each other."""

    def __init__(self, registry: Registry, genesis: bytes) -> None:
        self._registry = registry
        configuration: dict[str, Any] = msgspec.json.decode(genesis).get("config", {})
        self._total_difficulty = configuration.get("terminalTotalDifficulty", _NEVER)
        self._told: ClientVersion | None = None

    def exchange_capabilities(self, _params: CapabilitiesParameters) -> list[str]:
        """Return the names of all methods of the Engine API that there are."""
        names = sorted(name for name in self._registry.methods if name.startswith(_PREFIX))
        return [name for name in names if name != _EXCHANGE]

    def get_client_version(self, params: ClientVersionParameters) -> list[ClientVersion]:
        """Return the node's identification: client code, name, version and commit."""
        if params.client != self._told:
            self._told = params.client
            name, version = shortened(params.client.name), shortened(params.client.version)
            logger.info("the consensus client is %s %s", name, version)
        return [ClientVersion(CODE, "wsnode", release(), "0x00000000")]

    def exchange_transition_configuration(self, params: TransitionParameters) -> TransitionConfiguration:
        """Return the block at which proof of stake began, for consensus clients from before Cancun."""
        given = params.configuration
        return TransitionConfiguration(hex(self._total_difficulty), given.terminal_block_hash, "0x0")


def _add_identification(registry: Registry, genesis: bytes) -> None:
    methods = IdentificationMethods(registry, genesis)
    method = partial(registry.method, view=False)
    method(_EXCHANGE, result=list_of(STRING))(methods.exchange_capabilities)
    method("engine_getClientVersionV1", result=CLIENT_VERSIONS)(methods.get_client_version)
    method("engine_exchangeTransitionConfigurationV1", result=TRANSITION)(
        methods.exchange_transition_configuration
    )


def _decode_name(value: Any) -> str:
    if type(value) is not str:
        raise mismatch(kind(value), "string")
    return value


register_list(MethodNames, _decode_name, STRING, most=_MAX_NAMES, type_name="[]string")


def engine_registry(
    public: Registry, chain: Chain, driven: EngineChain, builds: PayloadBuilds, blobs: Blobs
) -> Registry:
    """Return the methods of the Engine API, and with them some of the `public` ones."""
    registry = Registry()
    payloads.add_methods(registry, driven, builds, chain.spec)
    forkchoice.add_methods(registry, chain, driven, builds)
    blob_methods.add_methods(registry, blobs)
    _add_identification(registry, chain.folder.read_genesis())
    registry.methods.update((name, public.methods[name]) for name in SHARED)
    registry.define(public.components)
    add_discovery(registry, title="wsnode", version=release)
    return registry
