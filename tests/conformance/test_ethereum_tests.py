"""The blockchain tests of ethereum/tests: every file ends at its last block, for the reasons it names."""

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vector_files import find_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.tree.statuses import ValidBlock
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.sync.errors import UnknownParentError
from wsnode.sync.importer import take_branch_block

# Which of our rules, and words of its finding, each expected reason stands for.
REASONS = {
    "BlockException.IMPORT_IMPOSSIBLE_UNCLES_OVER_PARIS": "ommers_hash",
    "BlockException.INVALID_BASEFEE_PER_GAS": "base_fee",
    "BlockException.INVALID_GASLIMIT": "gas_limit",
    "BlockException.INVALID_WITHDRAWALS_ROOT": "withdrawals_root",
    "BlockException.RLP_INVALID_ADDRESS": "rlp",
    "BlockException.RLP_INVALID_FIELD_OVERFLOW_64": "rlp",
    "BlockException.RLP_STRUCTURES_ENCODING": "rlp",
    "BlockException.RLP_WITHDRAWALS_NOT_READ": "withdrawals_presence",
    "TransactionException.GAS_ALLOWANCE_EXCEEDED": "transaction: .*more than blocks available gas",
    "TransactionException.INSUFFICIENT_ACCOUNT_FUNDS": "transaction: .*lack of funds",
    "TransactionException.INSUFFICIENT_MAX_FEE_PER_GAS": "transaction: .*gas price is less than basefee",
    "TransactionException.INTRINSIC_GAS_TOO_LOW": "transaction: .*call gas cost",
    "TransactionException.PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS": "transaction: .*priority fee",
}


def files() -> list[Path]:
    folder = find_vectors("ethereum-tests")
    return [] if folder is None else sorted(folder.glob("*Blocks/*/*.json"))


def genesis(case: dict[str, Any]) -> bytes:
    """Geth's genesis for a test's first block; all these tests begin in Cancun."""
    header = case["genesisBlockHeader"]
    at_once = ["homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg"]
    config: dict[str, Any] = {f"{name}Block": 0 for name in [*at_once, "istanbul", "berlin", "london"]}
    config |= {"chainId": 1, "terminalTotalDifficulty": 0, "shanghaiTime": 0, "cancunTime": 0}
    config["blobSchedule"] = {"cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477}}
    return json.dumps(
        {
            "config": config,
            "nonce": header["nonce"],
            "timestamp": header["timestamp"],
            "extraData": header["extraData"],
            "gasLimit": header["gasLimit"],
            "difficulty": header["difficulty"],
            "mixHash": header["mixHash"],
            "coinbase": header["coinbase"],
            "parentHash": header["parentHash"],
            "baseFeePerGas": header["baseFeePerGas"],
            "excessBlobGas": header["excessBlobGas"],
            "blobGasUsed": header["blobGasUsed"],
            "parentBeaconBlockRoot": header["parentBeaconBlockRoot"],
            "alloc": case["pre"],
        }
    ).encode()


def offer(tree: BlockTree, encoded: bytes) -> InvalidBlockError | UnknownParentError | None:
    """Give one block to the chain as an importer does, and return what is wrong with it."""
    blocks, error = decode_blocks(tree.chain.spec, [encoded])
    if error is not None:
        return error
    extension = tree.extend(blocks)
    tree.store(tree.take_pending())
    if extension.taken or extension.error:
        return extension.error
    try:
        return take_branch_block(tree, blocks[0])
    except UnknownParentError as unknown:
        return unknown


def reason(tree: BlockTree, encoded: bytes) -> str:
    """The rule that a block breaks and what was found.

    Many of these blocks were written with a wrong transactions root besides what their file names; it is
    put right then, to see the other.
    """
    error = offer(tree, encoded)
    assert error is not None
    if isinstance(error, InvalidBlockError) and error.rule == "transactions_root":
        wrong, right = (bytes.fromhex(root[2:]) for root in (error.actual, error.expected))
        assert encoded.count(wrong) >= 1
        error = offer(tree, encoded.replace(wrong, right, 1))
        assert error is not None
    return finding(error)


def finding(error: InvalidBlockError | UnknownParentError) -> str:
    return f"{error.rule}: {error.actual}" if isinstance(error, InvalidBlockError) else str(error)


def expected(reasons: str) -> str:
    return "|".join(f"({REASONS[reason]})" for reason in reasons.split("|"))


def cases(path: Path) -> Iterator[dict[str, Any]]:
    yield from json.loads(path.read_text()).values()


@pytest.mark.slow
@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_file_ends_at_its_last_block(path: Path, tmp_path: Path) -> None:
    for case in cases(path):
        with Chain.open(tmp_path, genesis(case), writer=True, durable=False) as chain:
            assert chain.spec.genesis_hash.hex() == case["genesisBlockHeader"]["hash"][2:]
            tree = BlockTree(chain)
            for block in case["blocks"]:
                encoded = bytes.fromhex(block["rlp"][2:])
                if reasons := block.get("expectException"):
                    assert re.match(expected(reasons), reason(tree, encoded), re.IGNORECASE)
                else:
                    assert offer(tree, encoded) is None
            assert chain.head.hash.hex() == case["lastblockhash"][2:]


@pytest.mark.slow
@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_blocks_in_any_order_are_judged_alike_and_the_head_is_where_it_is_set(
    path: Path, tmp_path: Path
) -> None:
    chance = random.Random(path.stem)
    for case in cases(path):
        with Chain.open(tmp_path, genesis(case), writer=True, durable=False) as chain:
            tree = BlockTree(chain)
            left = [bytes.fromhex(block["rlp"][2:]) for block in case["blocks"]]
            valid = {bytes.fromhex(case["genesisBlockHeader"]["hash"][2:])}
            blocks = decodable(chain, left)
            while blocks:
                chance.shuffle(blocks)
                statuses = [tree.judge(block) for block in blocks]
                known = {each.head.hash for each in statuses if isinstance(each, ValidBlock)}
                if known <= valid:
                    break
                valid |= known
                tree.set_head(chance.choice(sorted(valid)))
            tree.set_head(bytes.fromhex(case["lastblockhash"][2:]))
            assert chain.head.hash.hex() == case["lastblockhash"][2:]
            assert len(valid) > sum("expectException" not in block for block in case["blocks"])


def decodable(chain: Chain, encoded: list[bytes]) -> list[UnverifiedBlock]:
    """Return the blocks whose form is right."""
    decoded = [decode_blocks(chain.spec, [each])[0] for each in encoded]
    return [block for blocks in decoded for block in blocks]
