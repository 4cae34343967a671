"""One way to ask web3.py, whether its provider is synchronous or not."""

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Final, cast

from tests.clients.node_modules import FOLDER

DEMO: Final = SimpleNamespace(**json.loads((FOLDER / "demo.json").read_bytes()))


class Session:
    """A connected `Web3` or `AsyncWeb3`, and its event loop."""

    def __init__(self, w3: Any, runner: asyncio.Runner) -> None:
        self.w3 = w3
        self.eth = w3.eth
        self.token = w3.eth.contract(DEMO.token, abi=DEMO.abi)
        self._runner = runner

    def wait(self, value: Any) -> Any:
        """Return what a call gives in the end."""
        return self._runner.run(_awaited(value)) if inspect.isawaitable(value) else value

    def read(self, function: str, *arguments: Any, block: int | str = "latest") -> Any:
        """Return what a view of the token returns."""
        return self.wait(self.token.functions[function](*arguments).call(block_identifier=block))

    def together(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return the results of calls that are under way at the same time, if the provider can do that."""
        results = [call() for call in calls]
        return self.wait(_gathered(results)) if inspect.isawaitable(results[0]) else results

    def batch(self, calls: Sequence[Callable[[], Any]]) -> list[Any]:
        """Return the results of one batch."""
        if inspect.iscoroutinefunction(self.w3.is_connected):
            return cast(list[Any], self.wait(_batched(self.w3, calls)))
        with self.w3.batch_requests() as batch:
            for call in calls:
                batch.add(call())
            return cast(list[Any], batch.execute())


@contextmanager
def connected(web3: Any, kind: str, url: str) -> Iterator[Session]:
    """Connect with the provider `kind`, its options left alone."""
    provider = getattr(web3, kind)(url)
    synchronous = kind == "HTTPProvider"
    with asyncio.Runner() as runner:
        w3 = web3.Web3(provider) if synchronous else web3.AsyncWeb3(provider)
        if kind == "WebSocketProvider":
            runner.run(provider.connect())
        yield Session(w3, runner)
        if not synchronous:
            runner.run(provider.disconnect())


async def _awaited(value: Any) -> Any:
    return await value


async def _gathered(values: list[Any]) -> list[Any]:
    return await asyncio.gather(*values)


async def _batched(w3: Any, calls: Sequence[Callable[[], Any]]) -> Any:
    async with w3.batch_requests() as batch:
        for call in calls:
            batch.add(call())
        return await batch.async_execute()
