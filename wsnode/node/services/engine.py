"""Port of a network for its consensus client, and the builds of payloads."""

from pathlib import Path
from typing import Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.payloads.builds import PayloadBuilds
from wsnode.ethereum.payloads.engine_chain import EngineChain, Want
from wsnode.ethereum.pool.blobs import Blobs
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.engine.methods import engine_registry
from wsnode.ethereum.rpc.engine.schemas import MAX_VALUES
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.node.config import ConfigurationError, EngineConfig, NetworkConfig
from wsnode.server.access.jwt import JwtVerifier, SecretError, read_secret
from wsnode.server.access.router import Network, Port
from wsnode.server.limits import MIB, Limits
from wsnode.server.shared import MetricValue

SECRET_FILE: Final = "jwt.hex"
CONNECTIONS: Final = 100
MESSAGE_BYTES: Final = 64 * MIB
"""Maximum bytes of a payload's message: a block has up to 8 MiB, with two hexadecimal digits a byte."""
REPLY_BYTES: Final = 256 * MIB


def driven(
    network: Network,
    chain: Chain,
    live: LiveTree,
    pool: TransactionPool,
    config: NetworkConfig,
    want: Want | None = None,
) -> Network:
    """Return `network` with the port of its engine; `want` fetches missing blocks.

    Raises:
        ConfigurationError: The secret cannot be read, or made.
    """
    assert config.engine is not None, "the network has an engine"
    blobs = pool.blobs = Blobs(pool.limits.blob_bytes)
    builds = PayloadBuilds(chain, pool, gas_limit=config.gas_limit)
    driven_chain = EngineChain(chain, live, want)
    registry = engine_registry(network.registry, chain, driven_chain, builds, blobs)
    beside = Network(
        f"{network.name} engine",
        registry,
        network.open_view,
        tokens=_tokens(Path(config.data), config.engine),
        versions=network.versions,
    )
    address = config.engine.address
    return msgspec.structs.replace(
        network,
        background=[*network.background, builds.run],
        ports=[*network.ports, Port(address.host, address.port, beside)],
        not_ready_reason=lambda: network.not_ready_reason() or driven_chain.not_ready_reason(),
        figures=lambda: [*network.figures(), *_figures(driven_chain, blobs)],
    )


def _figures(driven_chain: EngineChain, blobs: Blobs) -> list[MetricValue]:
    counts = sorted(driven_chain.statuses.items())
    return [
        *(MetricValue("wsnode_payloads_total", count, {"status": status}) for status, count in counts),
        MetricValue("wsnode_replaced_blocks_total", driven_chain.replaced),
        MetricValue("wsnode_engine_unstored", driven_chain.is_unstored),
        MetricValue("wsnode_waiting_payloads", driven_chain.waiting),
        MetricValue("wsnode_blob_bytes", blobs.bytes),
    ]


def engine_limits(limits: Limits) -> Limits:
    """Return the limits of an engine's port, which are large enough for payloads and blobs."""
    return msgspec.structs.replace(
        limits,
        connections=CONNECTIONS,
        body_bytes=max(limits.body_bytes, MESSAGE_BYTES),
        message_bytes=max(limits.message_bytes, MESSAGE_BYTES),
        call_bytes=max(limits.call_bytes, 2 * MESSAGE_BYTES),
        parameter_values=max(limits.parameter_values, MAX_VALUES),
        reply_bytes=max(limits.reply_bytes, REPLY_BYTES),
    )


def _tokens(folder: Path, engine: EngineConfig) -> JwtVerifier:
    path = folder / SECRET_FILE if engine.jwt_secret is None else Path(engine.jwt_secret)
    try:
        return JwtVerifier(read_secret(path))
    except SecretError as error:
        raise ConfigurationError(str(error)) from error
