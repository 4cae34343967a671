"""What a killed process was reading is used again by the next change."""

import json
import threading
from pathlib import Path

import pytest

from tests.conftest import import_blocks
from tests.node_process import post, started
from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain

ENDLESS = {"to": "0x" + "77" * 20}
OVERRIDES = {"0x" + "77" * 20: {"code": "0x5b600056"}}
SLOT_BYTES, PID_OFFSET = 64, 8
"""Of LMDB's table of readers."""


def has_reader(store: Path, process: int) -> bool:
    table, wanted = (store / "lock.mdb").read_bytes(), process.to_bytes(4, "little")
    places = range(PID_OFFSET, len(table), SLOT_BYTES)
    return any(table[place : place + 4] == wanted for place in places)


def call_for_ever(url: str) -> None:
    params = [ENDLESS, "latest", OVERRIDES]
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": params})
    try:
        post(url, body)
    except OSError:
        return


@pytest.mark.slow
def test_a_change_forgets_what_killed_processes_were_reading(tmp_path: Path) -> None:
    vectors, folder = require_vectors("execution-apis"), tmp_path / "data" / "eth"
    genesis = (vectors / "genesis.json").read_bytes()
    with Chain.open(folder, genesis, writer=True, durable=False) as chain:
        import_blocks(chain, vectors / "chain.rlp")
        with started("serve", "--data", str(folder.parent), "--listen", "127.0.0.1:0", "--open") as node:
            caller = threading.Thread(target=call_for_ever, args=[node.bare(node.http_url)])
            caller.start()
            store = folder / "chain"
            while not has_reader(store, node.process.pid):
                threading.Event().wait(0.01)
            node.process.kill()
            node.process.wait()
            caller.join()
            assert has_reader(store, node.process.pid)
            chain.unwind(chain.head.number - 1)
            assert not has_reader(store, node.process.pid)
