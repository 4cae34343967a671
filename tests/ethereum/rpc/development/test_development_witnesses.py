"""Execution witnesses of blocks made here: hashes that they ask for, emptied storage, patches."""

from itertools import pairwise

import pytest

from tests.ethereum.development.playground import CREATOR, STRANGER, Playground, RefusedError
from tests.ethereum.partial_trie import Nodes, PartialTrie, decode
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import encode

pytestmark = pytest.mark.slow

ASK_FOR_HASH = "0x43600590034000"
"""Creates nothing and asks for the hash of the block five before its own."""
WRITER = "0x60003560203555"
"""Sets the slot that the second word names to the first one."""


def creation(code: str) -> str:
    body = bytes.fromhex(code[2:])
    init = bytes([0x60, len(body), 0x80, 0x60, 0x09, 0x3D, 0x39, 0x3D, 0xF3])
    return f"0x{(init + body).hex()}"


def create(chain: Playground, code: str) -> str:
    receipt = chain.receipt(chain("eth_sendTransaction", {"from": CREATOR, "data": creation(code)}))
    assert receipt is not None
    address: str = receipt["contractAddress"]
    return address


def write(chain: Playground, contract: str, slot: int, value: int) -> None:
    data = f"0x{value:064x}{slot:064x}"
    receipt = chain.receipt(chain("eth_sendTransaction", {"from": CREATOR, "to": contract, "data": data}))
    assert receipt is not None
    assert receipt["status"] == "0x1"


def test_headers_go_down_to_the_hash_that_is_asked_for(chain: Playground) -> None:
    chain("anvil_mine", "0x8")
    chain("eth_sendTransaction", {"from": CREATOR, "data": ASK_FOR_HASH})
    headers = chain("debug_executionWitness", "latest")["headers"]
    assert [int(header["number"], 16) for header in headers] == [4, 5, 6, 7, 8]
    for parent, header in pairwise(headers):
        assert header["parentHash"] == parent["hash"]


def test_code_that_the_block_makes_once_more_is_in_the_witness(chain: Playground) -> None:
    contract = create(chain, WRITER)
    chain("evm_setAutomine", False)
    chain("eth_sendTransaction", {"from": CREATOR, "data": creation(WRITER), "gas": "0x30000"})
    chain("eth_sendTransaction", {"from": CREATOR, "to": contract, "gas": "0x30000"})
    chain("evm_mine")
    assert len(chain.block()["transactions"]) == 2
    assert WRITER in chain("debug_executionWitness", "latest")["codes"]


def test_what_emptied_slots_leave_behind_is_in_the_witness(chain: Playground) -> None:
    contract = create(chain, WRITER)
    slots = range(1, 24)
    for slot in slots:
        write(chain, contract, slot, 7)
    for slot in slots:
        write(chain, contract, slot, 0)
        check_removal(chain, contract, slot)


def check_removal(chain: Playground, contract: str, slot: int) -> None:
    """Take the slot out of the storage that the witness of the head proves; the root must be the head's."""
    witness = chain("debug_executionWitness", "latest")
    nodes = Nodes(bytes.fromhex(node[2:]) for node in witness["state"])
    accounts = PartialTrie(nodes, bytes.fromhex(witness["headers"][-1]["stateRoot"][2:]))
    account = decode(accounts.get(bytes.fromhex(contract[2:])) or b"")
    assert isinstance(account, list)
    assert isinstance(account[2], bytes)
    storage = PartialTrie(nodes, account[2])
    key = slot.to_bytes(32, "big")
    assert storage.get(key) == encode(b"\7")
    storage.remove(key)
    assert f"0x{storage.root().hex()}" == chain("eth_getAccount", contract, "latest")["storageRoot"]
    assert keccak256(bytes.fromhex(WRITER[2:])) in {
        keccak256(bytes.fromhex(code[2:])) for code in witness["codes"]
    }


def test_a_state_that_was_changed_by_hand_has_no_witness(chain: Playground) -> None:
    chain.send()
    chain("anvil_setBalance", STRANGER, "0x5")
    chain.send()
    with pytest.raises(RefusedError, match="the state after block 1 was changed: nothing proves it"):
        chain("debug_executionWitness", "latest")
    assert chain("debug_executionWitness", "0x1")["state"]
    chain.send()
    assert chain("debug_executionWitness", "latest")["state"]


def test_a_block_of_an_earlier_chain_id_that_was_taken_back_has_no_witness(chain: Playground) -> None:
    chain.send()
    taken_back = chain.block()["hash"]
    chain("anvil_reset")
    chain("anvil_setChainId", 5)
    with pytest.raises(RefusedError, match="got invalid chain ID") as refused:
        chain("debug_executionWitness", taken_back)
    assert refused.value.code == -32000
