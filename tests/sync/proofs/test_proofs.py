"""Proofs of another node: what does not prove what it says is refused, whichever byte of it is wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.demo.test_exchange import Market
from tests.ethereum.development.forks import MemoryClient
from tests.ethereum.development.playground import STRANGER, playground
from wsnode.demo.genesis import forked_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.state import MissingStateError, WrongProofError
from wsnode.node.services.fork_point import fetch_first
from wsnode.sync.proofs.state_request import SLOTS_AT_ONCE, Proof, StateRequest, grouped, proofs_of, questions

FIRST_SLOT = bytes(32)
UNUSED_SLOT = b"\x99" * 32


class World:
    """A chain with a contract, a fork of it, and proofs of that contract and of an unused address."""

    def __init__(self, market: Market, fork: Chain, client: MemoryClient) -> None:
        self.market = market
        self.fork = fork
        self._client = client
        self.head = fork.head

    def proofs(self, *wanted: StateRequest, block: str = "latest") -> list[Proof]:
        """Return what the chain sends."""
        answers = [
            trio.run(self._client.ask_text, method, params) for method, params in questions(wanted, block)
        ]
        return proofs_of(wanted, answers)

    def keep(self, proof: Proof) -> None:
        self.fork.state.keep_proofs([proof])

    @property
    def contract(self) -> StateRequest:
        return StateRequest(bytes.fromhex(self.market.token[2:]), (FIRST_SLOT, UNUSED_SLOT))

    def is_known(self, wanted: StateRequest) -> bool:
        try:
            self.fork.state.account(wanted.address, (self.head.number, self.head.hash))
        except MissingStateError:
            return False
        return True


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("world")
    with playground(folder / "theirs") as chain:
        market, client = Market(chain), MemoryClient(chain)
        first = trio.run(fetch_first, client, None)
        (folder / "ours").mkdir()
        with Chain.open(folder / "ours", forked_genesis(first), writer=True, durable=False) as fork:
            yield World(market, fork, client)


def changed(nodes: list[bytes], place: int, node: bytes | None) -> list[bytes]:
    """Return a list with another node at a place, or with one fewer."""
    return [*nodes[:place], *([] if node is None else [node]), *nodes[place + 1 :]]


def flipped(node: bytes) -> Iterator[bytes]:
    """Yield a node with each byte changed."""
    for place in range(len(node)):
        yield node[:place] + bytes([node[place] ^ 1]) + node[place + 1 :]


def wrong(proof: Proof) -> Iterator[Proof]:
    """Yield a proof with each byte flipped, and with each node dropped."""
    address, nodes, slots, code = proof
    for place, node in enumerate(nodes):
        for other in (None, *flipped(node)):
            yield address, changed(nodes, place, other), slots, code
    for at, (slot, own) in enumerate(slots):
        for place, node in enumerate(own):
            for other in (None, *flipped(node)):
                told = [*slots[:at], (slot, changed(own, place, other)), *slots[at + 1 :]]
                yield address, nodes, told, code
    assert code is not None
    for other_code in flipped(code):
        yield address, nodes, slots, other_code


def test_every_flipped_byte_and_every_dropped_node_is_refused(world: World) -> None:
    (proof,) = world.proofs(world.contract)
    count = 0
    for each in wrong(proof):
        with pytest.raises(WrongProofError):
            world.keep(each)
        count += 1
    assert count > 1000
    assert not world.is_known(world.contract)


def test_a_proof_of_another_account_is_refused(world: World) -> None:
    other = StateRequest(bytes.fromhex(world.market.exchange[2:]), (FIRST_SLOT,))
    ours, theirs = world.proofs(StateRequest(world.contract.address, (FIRST_SLOT,)), other)
    with pytest.raises(WrongProofError):
        world.keep((ours[0], *theirs[1:]))
    with pytest.raises(WrongProofError):
        world.keep((ours[0], ours[1], theirs[2], ours[3]))


def test_a_proof_of_another_block_is_refused(world: World) -> None:
    (proof,) = world.proofs(world.contract, block="0x2")
    with pytest.raises(WrongProofError):
        world.keep(proof)


def test_code_is_needed_with_an_account_that_has_some(world: World) -> None:
    ((address, nodes, slots, _code),) = world.proofs(world.contract)
    for code in (None, b""):
        with pytest.raises(WrongProofError):
            world.keep((address, nodes, slots, code))


def test_one_wrong_proof_of_several_keeps_none(world: World) -> None:
    good, bad = world.proofs(StateRequest(b"\x31" * 20), StateRequest(b"\x32" * 20))
    with pytest.raises(WrongProofError):
        world.fork.state.keep_proofs([good, (bad[0], bad[1][:-1], [], b"")])
    assert not world.is_known(StateRequest(b"\x31" * 20))


def test_an_account_that_is_not_there_is_proved_to_be_missing(world: World) -> None:
    stranger = StateRequest(bytes.fromhex(STRANGER[2:]), (FIRST_SLOT,))
    (proof,) = world.proofs(stranger)
    world.keep(proof)
    block = world.head.number, world.head.hash
    assert world.fork.state.account(stranger.address, block) is None
    assert world.fork.state.storage(stranger.address, FIRST_SLOT, block) == bytes(32)


def test_what_is_right_is_known_then(world: World) -> None:
    (proof,) = world.proofs(world.contract)
    world.keep(proof)
    block = world.head.number, world.head.hash
    known = world.fork.state
    told: dict[str, Any] = world.market.chain("eth_getProof", world.market.token, ["0x0"], "latest")
    account = known.account(world.contract.address, block)
    assert account is not None
    assert account[2].hex() == told["codeHash"][2:]
    value = int(told["storageProof"][0]["value"], 16)
    assert known.storage(world.contract.address, FIRST_SLOT, block) == value.to_bytes(32, "big")
    assert known.storage(world.contract.address, UNUSED_SLOT, block) == bytes(32)
    with pytest.raises(MissingStateError) as lacking:
        known.storage(world.contract.address, b"\x01" * 32, block)
    assert lacking.value.slots == [(world.contract.address, b"\x01" * 32)]


def test_slots_of_an_account_are_asked_for_some_at_a_time() -> None:
    address = b"\x01" * 20
    slots = [(address, number.to_bytes(32, "big")) for number in range(SLOTS_AT_ONCE + 1)]
    first, second = grouped([address], slots)
    assert (len(first.slots), first.with_code) == (SLOTS_AT_ONCE, True)
    assert (len(second.slots), second.with_code) == (1, False)


def test_a_chain_that_begins_elsewhere_keeps_its_folder(tmp_path: Path, world: World) -> None:
    """A second opening finds the same first block, and another chain is refused."""
    block = world.fork.spec.genesis_block()
    assert block.number == world.fork.spec.first_number == world.head.number
    with world.fork.snapshot() as view:
        assert view.earliest == world.head.number
        assert view.hash_of(view.earliest) == block.hash
        assert view.header(view.earliest - 1) is None
