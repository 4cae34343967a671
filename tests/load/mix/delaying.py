"""A node of given delays over HTTP, in a process of its own.

    python -m tests.load.mix.delaying FACTOR

Prints its port. Of a hundred requests 75 take 40 ms, 20 take 120 ms and 5 take 300 ms, each times FACTOR, so
p50, p90 and p99 are known, and with a large factor are far from what a busy machine adds.
"""

import asyncio
import itertools
import json
import sys

DELAYS = [0.04] * 75 + [0.12] * 20 + [0.3] * 5
PERCENTILES = {0.5: 40.0, 0.9: 120.0, 0.99: 300.0}
"""In milliseconds, for a factor of 1."""
FACTOR = int(sys.argv[1]) if __name__ == "__main__" else 1
# Any hundred requests in a row have them all, in another order.
_delays = itertools.cycle(DELAYS[place * 37 % len(DELAYS)] for place in range(len(DELAYS)))


async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            identity = json.loads(await reader.readexactly(length))["id"]
            await asyncio.sleep(next(_delays) * FACTOR)
            body = json.dumps({"jsonrpc": "2.0", "id": identity, "result": "0x1"}).encode()
            head = b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n"
            writer.write(head % len(body) + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(converse, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
