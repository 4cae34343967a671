"""What `wsnode anvil` prints: all on standard output, where tools of anvil's look for it."""

import re
from pathlib import Path

import pytest

from tests.cli.test_development_output import development
from tests.demo.anvil.anvil_process import SAYING, InAnvilsPlace, in_anvils_place
from wsnode.demo.accounts import ACCOUNTS
from wsnode.ethereum.codec.addresses import checksummed

pytestmark = pytest.mark.slow

ADDED = "0x000000000000000000636F6e736F6c652e6c6f67"
SELECTOR = "41304fac"
"""Of log(string), as `cast sig` says."""
TOPIC = "0x" + "00" * 31 + "07"


def said(text: str, odd: bool = False) -> str:
    """Return the input with which SAYING says a text, and reverts if it has an `odd` number of bytes."""
    content = text.encode()
    words = [(32).to_bytes(32, "big"), len(content).to_bytes(32, "big"), content + bytes(-len(content) % 32)]
    return f"0x{SELECTOR}{b''.join(words).hex()}{'00' * odd}"


def saying(chain: InAnvilsPlace) -> str:
    """Return the address of a contract that says what it is called with."""
    address: str = chain.send(data=SAYING)["contractAddress"]
    return address


def test_libraries_find_keys_and_address(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path, "--balance", "3") as chain:
        lines = chain.lines
        begin = lines.index("Private Keys")
        keys = [line for line in lines[begin:] if line.startswith("(")]
        assert keys == [f"({place}) 0x{account.secret.hex()}" for place, account in enumerate(ACCOUNTS)]
        owners = [line for line in lines[:begin] if line.startswith("(")]
        assert owners[0] == f"(0) {checksummed(ACCOUNTS[0].address)} (3.000000000000000000 ETH)"
        assert re.fullmatch(r"Listening on 127\.0\.0\.1:\d+", lines[-1])
        assert chain("eth_blockNumber") == "0x0"
        chain.ended()
    assert chain.stderr == ""


def test_what_a_contract_says_stands_before_its_transaction(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path) as chain:
        address = saying(chain)
        sent = [
            chain.send(to=address, data=said(text, odd), gas="0x30000")
            for text, odd in (("one\ntwo", False), ("three", True))
        ]
        chain("eth_call", {"to": address, "data": said("four \x1b[31m")})
        assert "error" in chain.answer("eth_estimateGas", {"to": address, "data": said("five", odd=True)})
        assert "error" in chain.answer("eth_call", {"to": address, "data": said("six", odd=True)})
        chain("eth_estimateGas", {"to": address, "data": said("not printed: it will be sent")})
        lines = chain.ended()
    assert [receipt["status"] for receipt in sent] == ["0x1", "0x0"]
    first, second = (lines.index(f"    Transaction: {receipt['transactionHash']}") for receipt in sent)
    assert (lines[first - 2 : first], lines[second - 1]) == (["one", "two"], "three")
    calls = lines[second:]
    assert calls[calls.index("eth_call") + 1] == "four \\x1b[31m"
    assert calls[calls.index("eth_estimateGas") + 1 :][:2] == [
        "five",
        "eth_estimateGas failed: execution reverted",
    ]
    assert "six" in calls
    assert not any("not printed" in line for line in lines)


def test_the_name_of_each_method_is_printed(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path) as chain:
        for method in ("eth_chainId", "eth_chainId", "eth_blockNumber", "eth_accounts"):
            chain(method)
        # Of a control the name alone, as of any method.
        chain("evm_setAutomine", False)
        chain("eth_getBalance", "0x" + "00" * 20, "latest")
        assert "error" in chain.answer("eth_nothing")
        lines = chain.ended()
    called = lines[lines.index(next(line for line in lines if line.startswith("Listening"))) + 1 :]
    assert called == [
        *("eth_chainId", "eth_chainId", "eth_blockNumber", "eth_accounts"),
        *("evm_setAutomine", "eth_getBalance"),
    ]


def test_blocks_are_printed_in_the_form_of_anvil(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path) as chain:
        created = chain.send(data="0x600380600b6000396000f35f5ffd", gas="0x30000")
        contract = created["contractAddress"]
        failed = chain.send(to=contract, gas="0x30000")
        chain("evm_setAutomine", False)
        owner = chain("eth_accounts")[0]
        transfer = {"from": owner, "to": owner, "gas": "0x5208"}
        sent = [chain("eth_sendTransaction", transfer) for _ in range(2)]
        chain("evm_mine")
        hashes = [chain("eth_getBlockByNumber", hex(number), False)["hash"] for number in (1, 2, 3)]
        lines = [line.strip() for line in chain.ended() if line.startswith("    ")]
    begin = lines.index(f"Transaction: {created['transactionHash']}")
    printed = [line for line in lines[begin:] if not line.startswith("Block Time")]
    assert printed == [
        f"Transaction: {created['transactionHash']}",
        f"Contract created: {checksummed(bytes.fromhex(contract[2:]))}",
        f"Gas used: {int(created['gasUsed'], 16)}",
        *("Block Number: 1", f"Block Hash: {hashes[0]}"),
        f"Transaction: {failed['transactionHash']}",
        f"Gas used: {int(failed['gasUsed'], 16)}",
        "Error: reverted with: execution reverted",
        *("Block Number: 2", f"Block Hash: {hashes[1]}"),
        *(line for each in sent for line in (f"Transaction: {each}", "Gas used: 21000")),
        *("Block Number: 3", f"Block Hash: {hashes[2]}"),
    ]
    times = [line for line in lines if line.startswith("Block Time")]
    assert all(re.fullmatch(r'Block Time: "\w{3}, \d\d \w{3} \d{4} [\d:]{8} \+0000"', line) for line in times)
    assert len(times) == 3


def test_nothing_said_is_printed_where_the_console_is_off(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path, "--disable-console-log") as chain:
        address = saying(chain)
        chain.send(to=address, data=said("one"))
        chain("eth_call", {"to": address, "data": said("two")})
        lines = chain.ended()
    assert not {"one", "two"} & set(lines)


def test_the_calls_of_a_transaction_are_printed_as_a_tree(tmp_path: Path) -> None:
    with in_anvils_place(tmp_path, "--print-traces") as chain:
        inner = saying(chain)
        # Passes its input on, logs a topic, and reverts.
        code = f"365f5f375f5f365f5f73{inner[2:]}5af1507f{TOPIC[2:]}60205fa15f5ffd"
        outer = chain.send(data=f"0x60{len(code) // 2:02x}80600b6000396000f3{code}")["contractAddress"]
        failed = chain.send(to=outer, data=said("inside"), gas="0x30000")
        lines = chain.ended()
    assert failed["status"] == "0x0"
    end = lines.index(f"    Transaction: {failed['transactionHash']}")
    begin = max(place for place in range(end) if lines[place] == "Traces")
    assert lines[begin - 1] == "inside"
    tree = [re.sub(r"\[\d+\]", "[gas]", line) for line in lines[begin + 1 : end]]
    assert tree == [
        f"  [gas] {checksummed(bytes.fromhex(outer[2:]))} {said('inside')}",
        f"  ├─ [gas] {checksummed(bytes.fromhex(inner[2:]))} {said('inside')}",
        "  │  ├─ [gas] console.log inside",
        "  │  │  └─ ← 0x",
        "  │  └─ ← 0x",
        "  └─ ← execution reverted",
    ]


@pytest.mark.parametrize(("options", "names"), [((), []), (("--log-level", "debug"), ["eth_call"])])
def test_dev_prints_what_contracts_say_and_names_in_detail_only(
    tmp_path: Path, options: tuple[str, ...], names: list[str]
) -> None:
    with development(tmp_path, *options) as chain:
        address = chain.send(data=SAYING)["contractAddress"]
        chain.send(to=address, data=said("sent"))
        chain("eth_call", {"to": address, "data": said("called")})
        lines = chain.ended().splitlines()
    assert [line for line in lines if line in ("sent", "called", "eth_call")] == ["sent", *names, "called"]
