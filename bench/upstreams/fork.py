"""What does a fork ask of its node, and how long does that take, beside anvil's?

    python -m bench.upstreams.fork --geth PATH --anvil PATH [--latency 20]

geth and anvil each make the demo's chain, with a token and an exchange. Each is forked by `wsnode dev --fork`
and by `anvil --fork-url` on the same block, through a proxy that counts calls and lets each message take
`--latency` milliseconds, as far away nodes do. Both forks do the same: a swap, impersonation, storage, a
snapshot, a reset, and so on; their results must be the same. Printed is a table for each node: for each step
the messages and the calls in them that the node behind got, and the milliseconds. In the end both start once
more on the block, with what they have kept.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.lib.genesis import written_genesis
from bench.lib.nodes import Node
from bench.lib.started import anvil, free_port, geth_on, running
from bench.upstreams.counting import Counting, counting
from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.traffic import scripted_blocks

TOKEN, EXCHANGE = f"0x{token.ADDRESS.hex()}", f"0x{exchange.ADDRESS.hex()}"
TRADER, STRANGER = f"0x{ACCOUNTS[3].address.hex()}", "0x" + "5a" * 20
BELOW = 5
"""Blocks between the fork and the one that it is reset to."""
HOLDERS = 30


class Step(NamedTuple):
    """What one fork did in one step: messages and calls to the node behind, and seconds."""

    name: str
    messages: int
    calls: int
    seconds: float
    result: Any


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--geth", type=Path, required=True)
    parser.add_argument("--anvil", type=Path, required=True)
    parser.add_argument("--latency", type=float, default=20, help="milliseconds that each message takes")
    options = parser.parse_args()
    for name, program in (("geth", options.geth), ("anvil", options.anvil)):
        with tempfile.TemporaryDirectory(prefix="fork-") as folder:
            print(f"\n| on {name} | wsnode messages, calls, ms | anvil messages, calls, ms |")
            print("| --- | --- | --- |")
            with upstream(name, program, Path(folder)) as url:
                compare(url, options.anvil, options.latency / 1e3, Path(folder))


@contextmanager
def upstream(name: str, program: Path, temporary: Path) -> Iterator[str]:
    """Run a node with the demo's chain, and return its HTTP URL."""
    started = _geth if name == "geth" else partial(anvil, mines=True)
    with started(program, temporary) as node:
        url = plain(node)
        for transactions in scripted_blocks():
            for transaction in transactions:
                result(url, "eth_sendRawTransaction", f"0x{transaction.hex()}")
            wait_for(lambda: is_mined(url))
        yield url


def is_mined(url: str) -> bool:
    """Return whether no transaction of the demo's accounts is waiting."""
    accounts = [f"0x{account.address.hex()}" for account in ACCOUNTS]
    calls = [
        ("eth_getTransactionCount", [address, tag]) for address in accounts for tag in ("latest", "pending")
    ]
    nonces = [reply["result"] for reply in post(url, calls)]
    return nonces[::2] == nonces[1::2]


def _geth(program: Path, temporary: Path) -> AbstractContextManager[Node]:
    flags = ("--cache", "64", "--gcmode", "archive", "--http.api", "eth,net,debug,web3")
    return geth_on(program, written_genesis(temporary, {}), temporary, *flags)


def compare(url: str, program: Path, latency: float, temporary: Path) -> None:
    """Print what both forks of the node at `url` ask and take."""
    number = int(result(url, "eth_blockNumber"), 16)
    steps = []
    for name in ("wsnode", "anvil"):
        with counting(url, latency) as proxy:
            home = temporary / f"home-{name}"
            home.mkdir()
            steps.append([*run(name, program, proxy, number, home)])
    for ours, theirs in zip(*steps, strict=True):
        print(f"| {ours.name} | {shown(ours)} | {shown(theirs)} |", flush=True)
        if ours.result != theirs.result:
            print(f"{ours.name}: {ours.result} is not {theirs.result}", file=sys.stderr)
    print(f"| all | {shown(total(steps[0]))} | {shown(total(steps[1]))} |", flush=True)


def shown(step: Step) -> str:
    return f"{step.messages}, {step.calls}, {1e3 * step.seconds:,.0f}"


def total(steps: Sequence[Step]) -> Step:
    messages, calls = sum(step.messages for step in steps), sum(step.calls for step in steps)
    return Step("all", messages, calls, sum(step.seconds for step in steps), None)


def run(name: str, program: Path, proxy: Counting, number: int, home: Path) -> Iterator[Step]:
    """Yield the steps of one fork."""
    began = time.perf_counter()
    with fork(name, program, proxy.url, number, home) as node:
        url = plain(node)
        yield measured("start", proxy, lambda: result(url, "eth_blockNumber"), began)
        for title, action in actions(url, proxy.url, number):
            yield measured(title, proxy, action)
    began = time.perf_counter()
    with fork(name, program, proxy.url, number, home) as node:
        url = plain(node)
        yield measured("second start", proxy, lambda: result(url, "eth_blockNumber"), began)
        yield measured("the first swap again", proxy, lambda: swap(url, 10**18))


def measured(name: str, proxy: Counting, action: Callable[[], Any], began: float | None = None) -> Step:
    began = time.perf_counter() if began is None else began
    done = action()
    seconds = time.perf_counter() - began
    messages, calls = proxy.taken()
    return Step(name, messages, calls.total(), seconds, done)


@contextmanager
def fork(name: str, program: Path, url: str, number: int, home: Path) -> Iterator[Node]:
    """Run a fork that keeps what it has fetched in `home`."""
    port = free_port()
    if name == "wsnode":
        command = [sys.executable, "-m", "wsnode", "dev", "--quiet", "--listen", f"127.0.0.1:{port}"]
        command += ["--fork", url, "--fork-block", str(number)]
    else:
        command = [str(program), "--silent", "--port", str(port), "--fork-url", url]
        command += ["--fork-block-number", str(number)]
    kept = {"HOME": str(home), "XDG_CACHE_HOME": str(home)}
    before = {key: os.environ.get(key) for key in kept}
    os.environ.update(kept)
    try:
        with running(name, command, port, home) as node:
            yield node
    finally:
        os.environ.update({key: value for key, value in before.items() if value is not None})


def actions(url: str, source: str, number: int) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield steps, in their order."""
    snapshots: list[Any] = []
    yield "balance of an account", lambda: result(url, "eth_getBalance", EXCHANGE, "latest")
    yield "snapshot", lambda: snapshots.append(result(url, "evm_snapshot"))
    yield "swap", lambda: swap(url, 10**18)
    yield "the same swap again", lambda: swap(url, 10**18)[:2]
    yield f"tokens of {HOLDERS} accounts, one batch", lambda: holdings(url)
    yield "transfer by an impersonated contract", lambda: impersonated(url)
    yield "storage set and read", lambda: stored(url)
    yield "estimate of a sale", lambda: sale(url)
    yield "trace of a call", lambda: traced(url)
    yield "logs of 5 blocks below the fork", lambda: len(logs(url, number))
    yield "a block below the fork", lambda: block(url, number - 7)["hash"]
    yield "snapshot restored", lambda: result(url, "evm_revert", snapshots[0])
    yield "3 blocks mined", lambda: result(url, "anvil_mine", "0x3")
    yield "reset to the fork", lambda: reset(url, source, number)
    yield f"reset to {BELOW} blocks below", lambda: reset(url, source, number - BELOW)
    yield "swap there", lambda: swap(url, 10**18)


def swap(url: str, wei: int) -> Any:
    receipt = sent(
        url, {"from": TRADER, "to": EXCHANGE, "value": hex(wei), "data": f"0x{exchange.buy().hex()}"}
    )
    return receipt["status"], receipt["gasUsed"], [log["data"] for log in receipt["logs"]]


def holdings(url: str) -> Any:
    data = [f"0x70a08231{0xABC + place:064x}" for place in range(HOLDERS - len(ACCOUNTS))]
    data += [f"0x70a08231{'00' * 12}{account.address.hex()}" for account in ACCOUNTS]
    calls = [("eth_call", [{"to": TOKEN, "data": each}, "latest"]) for each in data]
    return [each["result"] for each in post(url, calls)]


def impersonated(url: str) -> Any:
    result(url, "anvil_impersonateAccount", EXCHANGE)
    result(url, "anvil_setBalance", EXCHANGE, hex(10**20))
    receipt = sent(url, {"from": EXCHANGE, "to": TOKEN, "data": f"0x{token.transfer(b'9' * 20, 7).hex()}"})
    return receipt["status"], receipt["gasUsed"]


def stored(url: str) -> Any:
    result(url, "anvil_setStorageAt", TOKEN, f"0x{0:064x}", f"0x{9:064x}")
    return result(url, "eth_getStorageAt", TOKEN, "0x0", "latest")


def sale(url: str) -> Any:
    call = {"from": TRADER, "to": EXCHANGE, "data": f"0x{exchange.sell(5).hex()}"}
    post(url, [("eth_estimateGas", [call, "latest"])])


def traced(url: str) -> Any:
    call = {"from": STRANGER, "to": TOKEN, "data": "0x18160ddd"}
    return result(url, "debug_traceCall", call, "latest", {"tracer": "callTracer"})["output"]


def logs(url: str, number: int) -> Any:
    return result(url, "eth_getLogs", {"fromBlock": hex(number - 5), "toBlock": hex(number - 1)})


def block(url: str, number: int) -> Any:
    return result(url, "eth_getBlockByNumber", hex(number), False)


def reset(url: str, source: str, number: int) -> Any:
    result(url, "anvil_reset", {"forking": {"jsonRpcUrl": source, "blockNumber": number}})
    return result(url, "eth_blockNumber")


def sent(url: str, call: dict[str, Any]) -> Any:
    """Return the receipt of a transaction."""
    transaction = result(url, "eth_sendTransaction", {"gas": hex(500_000), **call})
    wait_for(lambda: result(url, "eth_getTransactionReceipt", transaction) is not None)
    return result(url, "eth_getTransactionReceipt", transaction)


def wait_for(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.005)


def plain(node: Node) -> str:
    return node.url.replace("ws://", "http://")


def result(url: str, method: str, *params: Any) -> Any:
    (reply,) = post(url, [(method, list(params))])
    if "error" in reply:
        raise RuntimeError(f"{method}: {reply['error']}")
    return reply["result"]


def post(url: str, calls: Sequence[tuple[str, list[Any]]]) -> list[Any]:
    """Return the replies to a batch."""
    body = [
        {"jsonrpc": "2.0", "id": place, "method": method, "params": params}
        for place, (method, params) in enumerate(calls)
    ]
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as reply:
        replies: list[Any] = json.load(reply)
    return sorted(replies, key=lambda each: int(each["id"]))


if __name__ == "__main__":
    main()
