"""All methods of the Engine API's port."""

from typing import Final

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.payloads.builds import PayloadBuilds
from wsnode.ethereum.payloads.engine_chain import EngineChain
from wsnode.ethereum.pool.blobs import Blobs
from wsnode.ethereum.rpc.engine import blobs as blob_methods
from wsnode.ethereum.rpc.engine import bodies, forkchoice, identification, payloads
from wsnode.jsonrpc.openrpc.document import add_discovery
from wsnode.jsonrpc.registry import Registry
from wsnode.release import release

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


def engine_registry(
    public: Registry, chain: Chain, driven: EngineChain, builds: PayloadBuilds, blobs: Blobs
) -> Registry:
    """Return the methods of the Engine API, and with them some of the `public` ones."""
    registry = Registry()
    payloads.add_methods(registry, driven, builds, chain.spec)
    forkchoice.add_methods(registry, chain, driven, builds)
    bodies.add_methods(registry)
    blob_methods.add_methods(registry, blobs)
    identification.add_methods(registry, chain.folder.read_genesis())
    registry.methods.update((name, public.methods[name]) for name in SHARED)
    registry.define(public.components)
    add_discovery(registry, title="wsnode", version=release)
    return registry
