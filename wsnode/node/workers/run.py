"""Run of a node with several workers, in the master process, which opens no chain."""

import logging
import signal
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial

import msgspec
import trio

from wsnode.node.config import Config, ConfigurationError
from wsnode.node.config_line import read_again
from wsnode.node.listen_address import ListenAddress
from wsnode.node.listen_sockets import open_clients, open_operators
from wsnode.node.signals import open_signals
from wsnode.node.workers.master.master import Master, StartError
from wsnode.server.observability.logs import configure
from wsnode.server.observability.open_files import raise_most_files
from wsnode.server.scheduling.gc_policy import collect_garbage
from wsnode.server.transport.sockets import ListenerKind, listener_kind

logger = logging.getLogger("wsnode.node")

KILL_SECONDS = 0.95
"""Seconds in which workers have to end after the second signal."""
CLOSING_SECONDS = 3.0
"""Seconds beyond a worker's own grace periods after which it is killed."""


async def run(
    config: Config, announce: Callable[[ListenAddress], None], reread: Callable[[], Config]
) -> None:
    """Serve with `config.workers` processes until SIGINT or SIGTERM.

    `announce` gets the address once all workers are ready. On SIGHUP all processes apply the configuration
    from `reread`; on SIGUSR1 workers are replaced one by one.

    Raises:
        ConfigurationError, OSError: The node cannot start.
    """
    collect_garbage()
    configure(config.log_level, config.log_format)
    raise_most_files()
    listeners = [(listener, listener_kind(listener)) for listener in open_clients(config)]
    address = ListenAddress(config.address.host, listeners[0][0].getsockname()[1])
    listeners += [(listener, ListenerKind.OPERATORS) for listener in open_operators(config.metrics.address)]
    await MultiProcessNode(
        config, Master(config.workers, msgspec.json.encode(config), follows=_follows(config)), reread
    ).serve(listeners, partial(announce, address))


class MultiProcessNode:
    """Parent of the workers, with its handling of signals."""

    def __init__(self, config: Config, parent: Master, reread: Callable[[], Config]) -> None:
        self._config = config
        self._parent = parent
        self._reread = reread
        self._is_ending = False

    async def serve(
        self, listeners: Sequence[tuple[socket.socket, ListenerKind]], announce: Callable[[], None]
    ) -> None:
        """Serve the connections of `listeners` until a signal ends the node.

        Raises:
            ConfigurationError: The workers cannot start.
        """
        with open_signals() as signals:
            async with trio.open_nursery() as ending:
                ending.start_soon(self._obey, signals, ending)
                try:
                    async with trio.open_nursery() as nursery:
                        await nursery.start(self._parent.serve, listeners)
                        if not self._is_ending:
                            announce()
                except* StartError as group:
                    raise ConfigurationError(str(_first(group))) from None
                ending.cancel_scope.cancel()

    async def _obey(self, signals: AsyncIterator[int], nursery: trio.Nursery) -> None:
        async for number in signals:
            if number == signal.SIGHUP:
                self._reload()
            elif number == signal.SIGUSR1:
                nursery.start_soon(self._parent.replace_all)
            elif self._is_ending:
                self._parent.hurry()
                nursery.start_soon(self._kill_after, KILL_SECONDS)
            else:
                self._is_ending = True
                self._parent.drain(restarts=number == signal.SIGTERM)
                seconds = self._config.limits.ending_seconds + CLOSING_SECONDS
                nursery.start_soon(self._kill_after, seconds)

    async def _kill_after(self, seconds: float) -> None:
        await trio.sleep(seconds)
        self._parent.kill()

    def _reload(self) -> None:
        """Send the workers another configuration; if it cannot be read, the old one stays."""
        self._config = config = read_again(self._reread) or self._config
        configure(config.log_level, config.log_format)
        # Even an unchanged configuration is sent, because workers then also read their keys again, which are
        # in separate files.
        self._parent.configure(msgspec.json.encode(config))


def _follows(config: Config) -> bool:
    return any(network.is_live for network in config.networks.values())


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first
