import json
from pathlib import Path

import pytest

from tests.file_limits import files_of_at_most
from tests.starknet.conftest import caller_of
from tests.starknet.rpc.test_schemas import validate_as
from wsnode.demo.starknet_chain import BLOCKS, CHAIN_ID, LiveStarknet, build_starknet
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.header_json import render_header
from wsnode.starknet.roots import StateRoots
from wsnode.store.environment import StoreError


def test_the_demos_alt_chain_is_built_once_and_holds_all_kinds_of_change(tmp_path: Path) -> None:
    build_starknet(tmp_path)
    build_starknet(tmp_path)
    with StarknetChain.open(tmp_path, writer=False) as chain:
        call = caller_of(chain)
        assert call("alt_blockNumber") == BLOCKS - 1
        assert call("alt_chainId") == "0x" + CHAIN_ID.encode().hex()
        before = call("starknet_getClassAt", [{"block_number": 2}, "0x7a17"])
        after = call("starknet_getClassAt", [{"block_number": 3}, "0x7a17"])
        assert "program" in before
        assert "sierra_program" in after
        assert call("starknet_getNonce", ["latest", "0x7a17"]) == "0x2"
        assert call("starknet_getStorageAt", ["0xc0c0", "0x1", "latest"]) == hex(BLOCKS - 1)
        update = call("starknet_getStateUpdate", ["latest"])
        with chain.reader() as reader:
            assert int.from_bytes(StateRoots.of_head(reader).root(always_joined=True), "big") == int(
                update["new_root"], 16
            )


def test_the_demos_headers_are_whole(tmp_path: Path) -> None:
    build_starknet(tmp_path)
    with StarknetChain.open(tmp_path, writer=False) as chain, chain.snapshot() as view:
        for number in range(BLOCKS):
            row = view.block(number)
            assert row is not None
            validate_as("BLOCK_HEADER", json.loads(render_header(view, number, row)))


def test_the_alt_chain_grows_by_verified_blocks_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    build_starknet(tmp_path)
    for start in (BLOCKS, BLOCKS + 2):
        with StarknetChain.open(tmp_path, writer=True) as chain:
            live = LiveStarknet(chain)
            for number in (start, start + 1):
                live.grow(1_800_000_000 + number)
            live.close()
            call = caller_of(chain)
            assert call("alt_blockNumber") == start + 1
            assert call(
                "starknet_getStorageAt", [("0x7a17", "0xc0c0")[(start + 1) % 2], "0x1", "latest"]
            ) == hex(start + 1)
            with chain.snapshot() as snapshot:
                head = snapshot.block(start + 1)
            assert head is not None
            assert head.timestamp == 1_800_000_001 + start


def test_the_alt_chain_goes_on_after_a_block_that_could_not_be_stored(tmp_path: Path) -> None:
    build_starknet(tmp_path)
    with StarknetChain.open(tmp_path, writer=True) as chain:
        live, call = LiveStarknet(chain), caller_of(chain)
        live.grow()
        for _ in range(2):
            with files_of_at_most(4096), pytest.raises(StoreError):
                live.grow()
            assert call("alt_blockNumber") == BLOCKS
        live.grow()
        assert call("alt_blockNumber") == BLOCKS + 1
        live.close()
