"""python ledger.py URL ADDRESS DATABASE: all logs of a contract in a table, whatever dies when."""

import json
import sqlite3
import sys
from typing import Any

import trio
from resuming_trio import HistoryGoneError, subscription

TABLES = """
CREATE TABLE IF NOT EXISTS logs (
    number INTEGER, block TEXT, place INTEGER, hash TEXT, topics TEXT, data TEXT, PRIMARY KEY (block, place)
);
CREATE TABLE IF NOT EXISTS position (cursor TEXT);
"""


def opened(path: str) -> sqlite3.Connection:
    """Return the database, with its tables."""
    database = sqlite3.connect(path)
    database.executescript(TABLES)
    return database


def position(database: sqlite3.Connection) -> str | None:
    """Return the cursor after the last log that was taken, None at the very beginning."""
    found = database.execute("SELECT cursor FROM position").fetchone()
    return None if found is None else str(found[0])


def take(database: sqlite3.Connection, log: dict[str, Any], cursor: str | None) -> None:
    """Store what a log does, and the position after it: both or neither."""
    place = log["blockHash"], int(log["logIndex"], 16)
    with database:
        if log["removed"]:
            database.execute("DELETE FROM logs WHERE block = ? AND place = ?", place)
        else:
            content = log["transactionHash"], json.dumps(log["topics"]), log["data"]
            number = int(log["blockNumber"], 16)
            database.execute("INSERT INTO logs VALUES (?, ?, ?, ?, ?, ?)", (number, *place, *content))
        database.execute("DELETE FROM position")
        database.execute("INSERT INTO position VALUES (?)", (cursor,))


def line(log: dict[str, Any]) -> str:
    """Format the number and the hash of a log's block, marked if a reorganisation takes the block back."""
    ending = "  taken back" if log["removed"] else ""
    return f"block {int(log['blockNumber'], 16)}  {log['blockHash']}{ending}"


async def run(url: str, address: str, path: str) -> None:
    """Take logs until the node no longer has those that follow the position."""
    database = opened(path)
    try:
        async with subscription(
            url, "logs", {"address": address}, cursor=position(database), first_block=0
        ) as logs:
            printed = ""
            async for log in logs:
                take(database, log, logs.cursor)
                if line(log) != printed:
                    printed = line(log)
                    print(printed, flush=True)
    except HistoryGoneError as error:
        sys.exit(f"the ledger has a gap: {error}")


if __name__ == "__main__":
    trio.run(run, sys.argv[1], sys.argv[2], sys.argv[3])
