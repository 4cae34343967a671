"""The state shared by all calls of one network: methods, access to its chain, bounds, and the log of bugs."""

import itertools
import logging
import time
from collections.abc import Callable
from functools import cached_property
from typing import Any

from wsnode._native.wire import EngineMethods, LastingResults
from wsnode.jsonrpc.bounds import Bounds
from wsnode.jsonrpc.errors import RpcError, internal_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import View

__all__ = ["Dispatcher", "LastingResults"]

logger = logging.getLogger("wsnode.jsonrpc")


class Dispatcher:
    """The methods of one network and the way into its chain."""

    def __init__(
        self,
        registry: Registry,
        open_view: Callable[[Any], View],
        *,
        bounds: Bounds | None = None,
        clock: Callable[[], float] = time.monotonic,
        versions: Callable[[], int] = lambda: 0,
        lasting: LastingResults | None = None,
    ) -> None:
        """`versions` says how many versions of the chain are being read."""
        self.registry = registry
        self.open_view = open_view
        self.bounds = bounds or Bounds()
        self.clock = clock
        self._versions = versions
        self.lasting = lasting
        """Results of all callers without a gate, where the chain's store says how long they are true."""
        self._bugs = itertools.count(1)

    @cached_property
    def engine_names(self) -> frozenset[str]:
        """Return the names of the methods that the engine may answer without a handler."""
        return frozenset(method.name for method in self.registry.methods.values() if method.at_engine)

    @cached_property
    def engine_methods(self) -> EngineMethods:
        """Return these methods for the engine."""
        methods = self.registry.methods
        return EngineMethods([(name, methods[name].engine_limits) for name in sorted(self.engine_names)])

    @property
    def is_crowded(self) -> bool:
        """Return whether calls in flight read the maximum number of versions of the chain."""
        return self._versions() >= self.bounds.versions

    def report_bug(self, method: str) -> RpcError:
        """Log the exception being handled under a number, and return the caller's error."""
        request = f"{next(self._bugs):08x}"
        logger.exception("request %s: %s failed", request, method)
        return internal_error(request)
