"""A node of known delays over WebSocket, in a process of its own.

    python -m tests.load.mix.delaying_socket FACTOR STALL

Prints its port. Each request waits by itself, so that none waits for another: of a hundred 75 take 40 ms, 20
take 120 ms and 5 take 300 ms, each times FACTOR. With STALL, in seconds, they take no time, but all of the
node stands still once for as long, as the 300th request arrives.
"""

import asyncio
import itertools
import json
import sys
import time

from websockets.asyncio.server import ServerConnection, serve

from tests.load.mix.delaying import DELAYS

STALLED_AT = 300
"""The number of the request that stops the node."""


class Node:
    """Answers with 0x1, late."""

    def __init__(self, factor: int, stall: float) -> None:
        self._stall = stall
        self._factor = 0 if stall else factor
        # Any hundred requests in a row have them all, in another order.
        self._delays = itertools.cycle(DELAYS[place * 37 % len(DELAYS)] for place in range(len(DELAYS)))
        self._count = 0
        self._tasks = set[asyncio.Task[None]]()

    async def converse(self, connection: ServerConnection) -> None:
        async for message in connection:
            self._count += 1
            if self._stall and self._count == STALLED_AT:
                # Nothing else is done meanwhile.
                time.sleep(self._stall)  # noqa: ASYNC251
            task = asyncio.create_task(self._answer(connection, json.loads(message)["id"]))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, connection: ServerConnection, identity: int) -> None:
        await asyncio.sleep(next(self._delays) * self._factor)
        await connection.send(json.dumps({"jsonrpc": "2.0", "id": identity, "result": "0x1"}))


async def main(factor: int, stall: float) -> None:
    async with serve(Node(factor, stall).converse, "127.0.0.1", 0) as server:
        print(next(iter(server.sockets)).getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2])))
