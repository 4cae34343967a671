"""How much later than at the writer is a transaction pending at a replica?

    python -m bench.cluster.pending [--transactions 300] [--at-once 1 20]

Starts a Redis on a socket, `wsnode dev --journal` and `wsnode replica`, and one subscriber of
`newPendingTransactions` at each. Transfers are sent to the writer, --at-once of them before both subscribers
have got those. Times are of one clock, that of the process in which both subscribers are.
"""

import argparse
from statistics import quantiles

import trio

from bench.cluster.replica import KEY, RECIPIENT, Subscriber, asked, nodes, opened
from tests.node_process import Node

SUBJECT = "newPendingTransactions"


async def measured(writer: Node, replica: Node, rounds: int, at_once: int) -> list[float]:
    """Return for each transaction the milliseconds between the two subscribers."""
    first, second = Subscriber(SUBJECT), Subscriber(SUBJECT)
    async with trio.open_nursery() as nursery:
        for node, subscriber in ((writer, first), (replica, second)):
            socket = await nursery.start(opened, node.socket_url.replace(KEY, "any"))
            await nursery.start(subscriber.listen, socket)
        sent: list[str] = []
        for _ in range(rounds):
            names = await trio.to_thread.run_sync(send, writer, at_once)
            for name in names:
                await first.wait_for(name)
                await second.wait_for(name)
            sent += names
            await trio.to_thread.run_sync(asked, writer, "evm_mine")
        nursery.cancel_scope.cancel()
    return [(second.arrived[name] - first.arrived[name]) * 1000 for name in sent]


def send(writer: Node, count: int) -> list[str]:
    """Return the hashes of transfers that are pending at the writer."""
    sender = asked(writer, "eth_accounts")[0]
    transfer = {"from": sender, "to": RECIPIENT, "value": "0x1", "gas": "0x5208"}
    return [asked(writer, "eth_sendTransaction", transfer) for _ in range(count)]


def main() -> None:
    """Measure, and print a row of a table for each number of transactions at once."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--transactions", type=int, default=300)
    parser.add_argument("--at-once", type=int, nargs="*", default=[1, 20])
    options = parser.parse_args()
    print("| transactions at once | p50 | p99 | most |\n|---|---|---|---|")
    for at_once in options.at_once:
        with nodes() as (writer, replica):
            rounds = max(1, options.transactions // at_once)
            delays = trio.run(measured, writer, replica, rounds, at_once)
        cuts = quantiles(delays, n=100, method="inclusive")
        print(f"| {at_once} | {cuts[49]:.1f} ms | {cuts[98]:.1f} ms | {max(delays):.1f} ms |", flush=True)


if __name__ == "__main__":
    main()
