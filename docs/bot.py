"""python bot.py WS_URL ADDRESS JOURNAL: every log of a contract in a file, once each, whatever dies when."""

import json
import sys
import time
from pathlib import Path

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

url, address, journal = sys.argv[1], sys.argv[2], Path(sys.argv[3])
journal.touch()
while True:
    # This program, too, may have died, and halfway through a line.
    whole = [line for line in journal.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    journal.write_bytes(b"".join(whole))
    start = (
        {"cursor": json.loads(whole[-1])["cursor"]} if whole else {"fromBlock": "earliest", "cursors": True}
    )
    params = ["logs", {"address": address, **start}]
    try:
        with connect(url) as node, journal.open("a") as book:
            node.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params}))
            for message in map(json.loads, node):
                if error := message.get("error"):
                    # A node that is behind others does not have the cursor's block yet.
                    if (error.get("data") or {}).get("behind"):
                        raise ConnectionError(error["message"])
                    sys.exit(error["message"])
                if "result" in (event := message.get("params", {})):
                    book.write(json.dumps({"cursor": event["cursor"], "log": event["result"]}) + "\n")
                    book.flush()
    except (OSError, WebSocketException) as lost:
        print("again in a second:", lost, file=sys.stderr)
    time.sleep(1)
