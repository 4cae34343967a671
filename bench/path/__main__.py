"""Which modules does a request pass, and what does it ask of the engine?

    python -m bench.path eth_getBalance ['["0x…", "latest"]']

A node with the demo's first blocks runs in this process, and one client in another thread asks it, over
WebSocket and over HTTP. Each call is traced twice: behind a call of another kind, and once more right behind
itself, when the engine may answer it alone. Python functions are counted each time that they are entered or
resumed; modules and functions of the engine stand in the order in which they are first entered. Of several
rounds the shortest path is printed: tasks in the background may run during the others.
"""

import argparse
import http.client
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType, ModuleType
from typing import Any

import msgspec
import trio
from websockets.sync.client import connect

from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.run import build_ethereum
from wsnode.node.config import Config, NetworkConfig
from wsnode.node.listen_address import ListenAddress
from wsnode.node.run import run

OURS, ENGINE = "wsnode.", "wsnode._native"
OTHER_METHOD = "eth_syncing"
"""A method that Python answers each time, so that the call behind it is the first of its kind."""
SECONDS = 60.0
ROUNDS = 7
ADDRESS = f"0x{ACCOUNTS[0].address.hex()}"
CALL = {"from": ADDRESS, "to": ADDRESS}
PARAMETERS: dict[str, list[Any]] = {
    "eth_getBalance": [ADDRESS, "latest"],
    "eth_getCode": [ADDRESS, "latest"],
    "eth_getStorageAt": [ADDRESS, "0x0", "latest"],
    "eth_getTransactionCount": [ADDRESS, "latest"],
    "eth_getBlockByNumber": ["latest", False],
    "eth_call": [CALL, "latest"],
    "eth_estimateGas": [CALL],
    "eth_getLogs": [{"fromBlock": "0x1", "toBlock": "0x4"}],
}
"""Parameters of methods that want some."""


class RequestPath(msgspec.Struct):
    """Modules and functions of the engine that a request has entered, and how many Python functions."""

    modules: list[str] = []
    engine: list[str] = []
    functions: int = 0


class Tracer:
    """Notes what a thread enters; each of its methods is to be called in that thread."""

    def __init__(self) -> None:
        self._path = RequestPath()

    def begin(self) -> None:
        """Begin a new path."""
        self._path = RequestPath()
        sys.setprofile(self._note)

    def end(self) -> RequestPath:
        """Return the path since `begin`."""
        sys.setprofile(None)
        return self._path

    def _note(self, frame: FrameType, event: str, argument: Any) -> None:
        path = self._path
        if event == "call":
            module = frame.f_globals.get("__name__", "")
            if module.startswith(OURS):
                path.functions += 1
                add_new(path.modules, module.removeprefix(OURS).replace(".", "/"))
        elif event == "c_call" and module_of(argument).startswith(ENGINE):
            add_new(path.engine, argument.__qualname__)


def module_of(function: Any) -> str:
    """Return the module of a function that is not in Python, or that of its class."""
    owner = function.__self__
    return str(owner.__name__ if isinstance(owner, ModuleType) else type(owner).__module__)


def add_new(names: list[str], name: str) -> None:
    """Append a name that is not there."""
    if name not in names:
        names.append(name)


def trace(method: str, params: list[Any]) -> dict[str, RequestPath]:
    """Return the paths of a call by a description of each."""
    found = dict[str, RequestPath]()
    with TemporaryDirectory(prefix="wsnode-") as folder:
        build_ethereum(Path(folder), durable=False)
        network = NetworkConfig(folder, gas_limit=30_000_000)
        config = Config(networks={"demo": network}, listen="127.0.0.1:0", open=True, log_level="warning")
        trio.run(partial(run, config, partial(_begin_client, method, params, found), durable=False))
    return found


def _begin_client(
    method: str, params: list[Any], found: dict[str, RequestPath], address: ListenAddress
) -> None:
    token = trio.lowlevel.current_trio_token()
    arguments = (method, params, found, str(address), token)
    threading.Thread(target=_converse, args=arguments, name="client").start()


def _converse(
    method: str,
    params: list[Any],
    found: dict[str, RequestPath],
    address: str,
    token: trio.lowlevel.TrioToken,
) -> None:
    """Ask over both transports, and end the node."""
    try:
        for transport, connected in (("WebSocket", over_websocket), ("HTTP", over_http)):
            with connected(address) as ask:
                # What is loaded and compiled for the first call of all is no part of a path.
                ask(method, params)
                for _ in range(ROUNDS):
                    ask(OTHER_METHOD, [])
                    for which in ("first", "again"):
                        tracer = Tracer()
                        trio.from_thread.run_sync(tracer.begin, trio_token=token)
                        ask(method, params)
                        path = trio.from_thread.run_sync(tracer.end, trio_token=token)
                        name = f"{transport}, {which}"
                        if name not in found or path.functions < found[name].functions:
                            found[name] = path
    finally:
        os.kill(os.getpid(), signal.SIGINT)


Ask = Callable[[str, list[Any]], None]


@contextmanager
def over_websocket(address: str) -> Iterator[Ask]:
    """Yield what makes a call over one WebSocket connection."""
    with connect(f"ws://{address}", compression=None) as connection:

        def ask(method: str, params: list[Any]) -> None:
            connection.send(request(method, params).decode())
            check(connection.recv(SECONDS))

        yield ask


@contextmanager
def over_http(address: str) -> Iterator[Ask]:
    """Yield what makes a call over one HTTP connection."""
    connection = http.client.HTTPConnection(address, timeout=SECONDS)

    def ask(method: str, params: list[Any]) -> None:
        connection.request("POST", "/", request(method, params), {"Content-Type": "application/json"})
        check(connection.getresponse().read())

    with closing(connection):
        yield ask


def request(method: str, params: list[Any]) -> bytes:
    """Return a request."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


def check(reply: str | bytes) -> None:
    """Check that a call had a result.

    Raises:
        SystemExit: It had an error.
    """
    if "error" in (read := msgspec.json.decode(reply)):
        raise SystemExit(f"the call failed: {read['error']}")


def main() -> None:
    """Print the paths of one method's call."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("method")
    parser.add_argument("params", nargs="?", type=msgspec.json.decode, help="as JSON")
    arguments = parser.parse_args()
    params = arguments.params if arguments.params is not None else PARAMETERS.get(arguments.method, [])
    found = trace(arguments.method, params)
    if len(found) < 4:
        sys.exit(f"{arguments.method} was not answered with a result")
    for name, path in found.items():
        modules, engine = len(path.modules), len(path.engine)
        print(f"{name}: {modules} modules, {path.functions} functions, {engine} of the engine")
        print("  modules:", *path.modules)
        print("  engine: ", *path.engine)


if __name__ == "__main__":
    main()
