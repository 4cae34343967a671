"""The chain by which go-ethereum tests its network protocol, from Shanghai to Amsterdam: made by others.

`WSNODE_HIVE_CHAIN` names the folder, `cmd/devp2p/internal/ethtest/testdata` of go-ethereum's module: genesis,
blocks, the payloads of a consensus client, and the state after the last block.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.conftest import dispatcher_over
from tests.memory_transport import asking
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import Payload
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.payloads.engine_chain import EngineChain, PayloadSidecar
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.sync.importer import import_files
from wsnode.sync.progress import NullProgress

FOLDER = os.environ.get("WSNODE_HIVE_CHAIN")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(FOLDER is None, reason="WSNODE_HIVE_CHAIN names no folder"),
]


def told(name: str) -> Any:
    """Return the content of a file of the folder."""
    assert FOLDER is not None
    return json.loads((Path(FOLDER) / name).read_bytes())


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    assert FOLDER is not None
    genesis = (Path(FOLDER) / "genesis.json").read_bytes()
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        yield chain


def require_state(chain: Chain) -> None:
    """Compare the head, and every account with all of its slots, with what the folder says of them."""
    ask = asking(dispatcher_over(chain))
    head = ask("eth_getBlockByNumber", "latest", False)["result"]
    header = told("headblock.json")
    assert head["hash"] == header["hash"]
    assert {name: head[name] for name in header if name in head} == {
        name: value for name, value in header.items() if name in head
    }
    expected = told("headstate.json")
    assert head["stateRoot"] == f"0x{expected['root']}"
    number = chain.head.number, chain.head.hash
    assert {f"0x{address.hex()}" for address in chain.state.addresses(*number)} == {
        address.lower() for address in expected["accounts"]
    }
    for name, account in expected["accounts"].items():
        address = bytes.fromhex(name[2:])
        found = chain.state.account(address, number)
        assert found is not None, name
        assert found[:2] == (account["nonce"], int(account["balance"])), name
        assert f"0x{found[2].hex()}" == account["codeHash"], name
        slots = {slot.hex(): int.from_bytes(value) for slot, value in chain.state.slots(address, *number)}
        wanted = {slot[2:]: int(value, 16) for slot, value in account.get("storage", {}).items()}
        assert slots == wanted, name


def test_every_block_is_imported_and_the_state_is_the_one_that_others_found(chain: Chain) -> None:
    assert FOLDER is not None
    trio.run(import_files, chain, [str(Path(FOLDER) / "chain.rlp")], NullProgress())
    require_state(chain)


async def test_every_payload_is_valid_and_leads_to_the_same_state(chain: Chain) -> None:
    node = EngineChain(chain, LiveTree(BlockTree(chain), Hub(chain)))
    # The first one is the genesis block, which is none of proof of stake.
    calls = told("newpayload.json")[1:]
    for call in calls:
        payload, *rest = call["params"]
        hashes, root, requests = [*rest, None, None, None][:3]
        given = PayloadSidecar(
            blob_hashes=None if hashes is None else [bytes.fromhex(each[2:]) for each in hashes],
            parent_beacon_block_root=None if root is None else bytes.fromhex(root[2:]),
            requests=None if requests is None else [bytes.fromhex(each[2:]) for each in requests],
        )
        status = await node.take(Payload(json.dumps(payload).encode()), given)
        assert status.status == "VALID", (call["id"], status)
        await node.choose(Hash32(bytes.fromhex(payload["blockHash"][2:])), None, None)
    require_state(chain)
