"""Precompiled contracts that take long: a call computes them in steps, a block at once, with one result."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ethereum.development.playground import Playground, playground
from tests.node_process import post, started
from wsnode.ethereum.codec.blocks import keccak256

pytestmark = pytest.mark.slow

# Calls the contract whose number is in the first word with the rest of its input. Stores and returns the hash
# of a word that says whether that succeeded, with what it gave.
CALLER = "0x" + "cc" * 20
CODE = (
    "6020360360205f37"  # CALLDATACOPY of all but the first word to 0
    "5f5f6020360360005f355afa"  # STATICCALL of the contract in the first word
    "5f52"  # MSTORE of its success at 0
    "3d5f60203e"  # RETURNDATACOPY behind it
    "3d6020015f20"  # KECCAK256 of both
    "805f55"  # SSTORE at 0
    "5f5260205ff3"  # RETURN of it
)
BLAKE2, MODEXP, BN254_PAIRING = 0x09, 0x05, 0x08
G1_SUM, G2_ADDITION, G2_SUM, BLS_PAIRING = 0x0C, 0x0D, 0x0E, 0x0F
BN254_ORDER = 21888242871839275222246405745257275088696311157297823662689037894645226208583
BLS_ORDER = int(
    "1a0111ea397fe69a4b1ba7b6434bacd764774b84f38512bf6730d2a0f6b0f6241eabfffeb153ffffb9feffffffffaaab", 16
)

# The generators (EIP-197, EIP-2537).
BN254_G1 = (1, 2)
BN254_G2 = bytes.fromhex(
    "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2"
    "1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"
    "090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b"
    "12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"
)
BLS_G1 = (
    int(
        "17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb", 16
    ),
    int(
        "08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1", 16
    ),
)
BLS_G2 = b"".join(
    bytes(16) + bytes.fromhex(part)
    for part in (
        "024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8",
        "13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e",
        "0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801",
        "0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be",
    )
)


def bn254_pair(*, negative: bool) -> bytes:
    x, y = BN254_G1
    return x.to_bytes(32, "big") + (BN254_ORDER - y if negative else y).to_bytes(32, "big") + BN254_G2


def bls_point(*, negative: bool = False) -> bytes:
    x, y = BLS_G1
    return x.to_bytes(64, "big") + (BLS_ORDER - y if negative else y).to_bytes(64, "big")


def bls_pair(*, negative: bool) -> bytes:
    return bls_point(negative=negative) + BLS_G2


BN254_PAIRS = [bn254_pair(negative=bool(index % 2)) for index in range(150)]
BLS_PAIRS = [bls_pair(negative=bool(index % 2)) for index in range(130)]
BN254_AT_INFINITY = [bytes(64) + BN254_G2, bn254_pair(negative=False)[:64] + bytes(128)]
BLS_AT_INFINITY = [bytes(128) + BLS_G2, bls_point() + bytes(256)]
OFF_THE_CURVE = (5).to_bytes(32, "big") + (5).to_bytes(32, "big") + BN254_G2
ROUNDS = (1 << 20) + 7

CASES = [
    pytest.param(BLAKE2, ROUNDS.to_bytes(4, "big") + bytes(range(208)) + b"\1", id="blake2f"),
    pytest.param(BLAKE2, (2 * ROUNDS).to_bytes(4, "big") + bytes(range(208)) + b"\0", id="more rounds"),
    pytest.param(BN254_PAIRING, b"".join(BN254_PAIRS), id="bn254"),
    pytest.param(BN254_PAIRING, b"".join(BN254_PAIRS[1:]), id="bn254, not one"),
    pytest.param(BN254_PAIRING, b"".join(BN254_PAIRS + BN254_AT_INFINITY), id="bn254 at infinity"),
    pytest.param(BN254_PAIRING, b"".join([*BN254_PAIRS, OFF_THE_CURVE]), id="bn254 off the curve"),
    pytest.param(BLS_PAIRING, b"".join(BLS_PAIRS), id="bls12-381"),
    pytest.param(BLS_PAIRING, b"".join(BLS_PAIRS[1:]), id="bls12-381, not one"),
    pytest.param(BLS_PAIRING, b"".join(BLS_PAIRS + BLS_AT_INFINITY), id="bls12-381 at infinity"),
    pytest.param(
        BLS_PAIRING, b"".join([*BLS_PAIRS, b"\0" * 63 + b"\1" + BLS_PAIRS[0][64:]]), id="off the curve"
    ),
    pytest.param(
        G1_SUM, b"".join(bls_point() + (7**n % 2**250).to_bytes(32, "big") for n in range(800)), id="g1"
    ),
    pytest.param(G1_SUM, (bls_point() + bytes(32)) * 600, id="a sum of nothing"),
]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playground]:
    with playground(tmp_path_factory.mktemp("chain")) as chain:
        chain("anvil_setCode", CALLER, f"0x{CODE}")
        yield chain


def called(chain: Playground, contract: int, given: bytes) -> str:
    data = f"0x{contract:064x}{given.hex()}"
    found: str = chain("eth_call", {"to": CALLER, "data": data})
    return found


@pytest.mark.parametrize(("contract", "given"), CASES)
def test_a_call_has_the_result_that_a_block_has(chain: Playground, contract: int, given: bytes) -> None:
    found = called(chain, contract, given)
    data = f"0x{contract:064x}{given.hex()}"
    receipt = chain.receipt(chain.send(to=CALLER, value="0x0", data=data, gas=hex(16_000_000)))
    assert receipt is not None
    assert receipt["status"] == "0x1"
    assert chain("eth_getStorageAt", CALLER, "0x0", "latest") == found


def test_long_sums_are_those_of_their_parts(chain: Playground) -> None:
    # Too long for a transaction.
    products = [BLS_G2 + (5**number % 2**250).to_bytes(32, "big") for number in range(1100)]

    def asked(contract: int, given: bytes) -> bytes:
        found: str = chain("eth_call", {"to": f"0x{contract:040x}", "data": f"0x{given.hex()}"})
        return bytes.fromhex(found[2:])

    parts = [asked(G2_SUM, b"".join(products[start : start + 300])) for start in range(0, 1100, 300)]
    expected = parts[0]
    for part in parts[1:]:
        expected = asked(G2_ADDITION, expected + part)
    assert asked(G2_SUM, b"".join(products)) == expected


@pytest.mark.parametrize("zeros", [0, 100])
def test_long_powers_are_right(chain: Playground, zeros: int) -> None:
    base, modulus = bytes(range(1, 251)) * 4, b"\xfd" + bytes(range(250)) * 4
    exponent = bytes(zeros) + bytes(range(7, 207))
    sizes = b"".join(len(each).to_bytes(32, "big") for each in (base, exponent, modulus))
    power = pow(*(int.from_bytes(each, "big") for each in (base, exponent, modulus)))
    expected = keccak256((1).to_bytes(32, "big") + power.to_bytes(len(modulus), "big"))
    assert called(chain, MODEXP, sizes + base + exponent + modulus) == f"0x{expected.hex()}"


def test_one_contract_ends_with_the_time_of_a_call(tmp_path: Path) -> None:
    # BLAKE2f of 500,000,000 rounds, which take seconds on any machine.
    data = "0x" + (500_000_000).to_bytes(4, "big").hex() + "00" * 209
    params = [{"to": f"0x{BLAKE2:040x}", "data": data}]
    request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": params})
    with started(
        "dev", "--data", str(tmp_path), "--listen", "127.0.0.1:0", "--limit", "call_seconds=0.05"
    ) as node:
        reply = json.loads(post(node.http_url, request))
    assert reply["error"] == {"code": -32000, "message": "execution aborted (timeout = 0.05s)"}
