"""A network whose head a consensus client chooses: its port, and what builds payloads for it."""

from pathlib import Path
from typing import Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.payloads.builds import PayloadBuilds
from wsnode.ethereum.payloads.driven import DrivenChain, Want
from wsnode.ethereum.pool.blobs import Blobs
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.rpc.engine.methods import engine_registry
from wsnode.ethereum.tree.live import LiveTree
from wsnode.node.config import ConfigurationError, EngineConfig, NetworkConfig
from wsnode.server.access.directory import Network, Port
from wsnode.server.access.tokens import SecretError, Tokens, read_secret
from wsnode.server.limits import MIB, Limits
from wsnode.server.shared import Figure

SECRET_FILE: Final = "jwt.hex"
CONNECTIONS: Final = 100
MESSAGE_BYTES: Final = 64 * MIB
"""Of a payload: a block has up to 8 MiB, and twice as many digits."""
REPLY_BYTES: Final = 256 * MIB
VALUES: Final = 1_000_000
"""Of JSON in a payload; each transaction is one."""


def driven(
    network: Network,
    chain: Chain,
    live: LiveTree,
    pool: TransactionPool,
    told: NetworkConfig,
    want: Want | None = None,
) -> Network:
    """Return `network` with the port of its engine beside it; `want` has missing blocks fetched.

    Raises:
        ConfigurationError: The secret cannot be read, or made.
    """
    assert told.engine is not None, "the network has an engine"
    blobs = pool.blobs = Blobs(pool.limits.blob_bytes)
    builds = PayloadBuilds(chain, pool, gas_limit=told.gas_limit)
    driven_chain = DrivenChain(chain, live, want)
    registry = engine_registry(network.registry, chain, driven_chain, builds, blobs)
    beside = Network(
        f"{network.name} engine",
        registry,
        network.open_view,
        tokens=_tokens(Path(told.data), told.engine),
        versions=network.versions,
    )
    address = told.engine.address
    return msgspec.structs.replace(
        network,
        background=[*network.background, builds.run],
        ports=[*network.ports, Port(address.host, address.port, beside)],
        hindrance=lambda: network.hindrance() or driven_chain.hindrance(),
        figures=lambda: [*network.figures(), *_figures(driven_chain, blobs)],
    )


def _figures(driven_chain: DrivenChain, blobs: Blobs) -> list[Figure]:
    counts = sorted(driven_chain.statuses.items())
    return [
        *(
            Figure("wsnode_payloads", "Payloads by their status", count, {"status": status}, is_counter=True)
            for status, count in counts
        ),
        Figure(
            "wsnode_replaced_blocks", "Blocks that left the chain", driven_chain.replaced, is_counter=True
        ),
        Figure("wsnode_engine_unstored", "Whether blocks cannot be stored now", driven_chain.is_unstored),
        Figure("wsnode_waiting_payloads", "Payloads that wait for ancestors", driven_chain.waiting),
        Figure("wsnode_blob_bytes", "Bytes of blobs that are kept", blobs.bytes),
    ]


def engine_limits(limits: Limits) -> Limits:
    """Return the limits of an engine's port, where payloads and blobs have to pass."""
    return msgspec.structs.replace(
        limits,
        connections=CONNECTIONS,
        body_bytes=max(limits.body_bytes, MESSAGE_BYTES),
        message_bytes=max(limits.message_bytes, MESSAGE_BYTES),
        call_bytes=max(limits.call_bytes, 2 * MESSAGE_BYTES),
        parameter_values=max(limits.parameter_values, VALUES),
        reply_bytes=max(limits.reply_bytes, REPLY_BYTES),
    )


def read_genesis(engine: EngineConfig) -> bytes | None:
    """Return the bytes of the genesis file, if one is named.

    Raises:
        ConfigurationError: It cannot be read.
    """
    try:
        return None if engine.genesis is None else Path(engine.genesis).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{engine.genesis}: {error.strerror}") from error


def _tokens(folder: Path, engine: EngineConfig) -> Tokens:
    path = folder / SECRET_FILE if engine.jwt_secret is None else Path(engine.jwt_secret)
    try:
        return Tokens(read_secret(path))
    except SecretError as error:
        raise ConfigurationError(str(error)) from error
