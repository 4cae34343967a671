"""Measure the time that a light client of the beacon chain takes for a bootstrap, updates and a stored row.

    python -m bench.upstreams.light_client VECTOR [--rounds 30]

VECTOR is a file of the beacon vectors, such as `fetched/mainnet/mainnet-capella.json`, whose committees have
512 members. The middle and the least of all rounds count, in ms of one thread's processor time.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from wsnode._native.beacon import LightClient, RefusedError
from wsnode.sync.follow.beacon.identity import GENESIS_ROOT, GENESIS_TIME, chain_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("vector", type=Path)
    parser.add_argument("--rounds", type=int, default=30)
    options = parser.parse_args()
    vector = json.loads(options.vector.read_text())
    texts = {name: str(value) for name, value in vector["network"].items()}
    begun = {GENESIS_ROOT: vector["genesis_validators_root"], GENESIS_TIME: "0", "SECONDS_PER_SLOT": "12"}
    network = chain_of(texts | begun).network
    report = partial(report_times, options.rounds)
    root, answer = bytes.fromhex(vector["checkpoint"][2:]), answer_of(vector["bootstrap"])
    print(f"{'ms':34}{'middle':>8}{'least':>8}")
    report("bootstrap", lambda: LightClient.bootstrap(network, root, answer))
    client = LightClient.bootstrap(network, root, answer)
    report("stored row", lambda: LightClient.decode(network, client.encode()))
    told: set[str] = set()
    for step in vector["steps"]:
        if "object" not in step:
            continue
        take = partial(client.take, step["kind"], answer_of(step), int(step["current_slot"]))
        try:
            after, change = take()
        except RefusedError:
            continue
        name = step["kind"] + (", a new committee" if change.next_committee else "")
        if name not in told:
            told.add(name)
            report(name, take)
            if change.next_committee:
                report("keys of that committee", prepared(take))
        client = after


def prepared(take: Callable[[], tuple[LightClient, Any]]) -> Callable[[], float]:
    """Return what makes points of the keys that an update brings, and returns how long that alone took."""

    def prepare() -> float:
        client, _ = take()
        began = time.thread_time()
        client.prepare()
        return time.thread_time() - began

    return prepare


def answer_of(step: dict[str, Any]) -> bytes:
    return json.dumps(step["object"]).encode()


def report_times(rounds: int, name: str, work: Callable[[], object]) -> None:
    """Print how long work takes, by its own word where it returns seconds."""
    times: list[float] = []
    for _ in range(rounds):
        began = time.thread_time()
        result = work()
        seconds = time.thread_time() - began
        times.append(1e3 * (result if isinstance(result, float) else seconds))
    print(f"{name:34}{median(times):8.2f}{min(times):8.2f}")


if __name__ == "__main__":
    main()
