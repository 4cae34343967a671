"""Values that clients watch, and the blocks that change some of them."""

from collections.abc import Sequence
from typing import Any, Protocol

GAS = hex(5_000_000)
TOKENS, PAIRS = 100, 1_000
TRANSACTIONS = 100
"""Transactions of a block of the market."""
DEPLOYED_AT_ONCE = 100

TOKEN = bytes.fromhex(
    "6004355f52"  # PUSH1 4 CALLDATALOAD PUSH0 MSTORE: the holder
    "60405f20"  # PUSH1 64 PUSH0 KECCAK256: the slot of its balance
    "60243611601757"  # PUSH1 36 CALLDATASIZE GT PUSH1 23 JUMPI: to write where there is a third word
    "545f5260205ff3"  # SLOAD PUSH0 MSTORE PUSH1 32 PUSH0 RETURN
    "5b602435905500"  # 23: JUMPDEST PUSH1 36 CALLDATALOAD SWAP1 SSTORE STOP
)
"""Returns the balance of an address, as `balanceOf` does; sets it where a value follows the address."""
PAIR = bytes.fromhex(
    "60043611601057"  # PUSH1 4 CALLDATASIZE GT PUSH1 16 JUMPI: to write where there is a word
    "6008545f5260205ff3"  # PUSH1 8 SLOAD PUSH0 MSTORE PUSH1 32 PUSH0 RETURN
    "5b60043560085500"  # 16: JUMPDEST PUSH1 4 CALLDATALOAD PUSH1 8 SSTORE STOP
)
"""Returns both reserves of a pair, which are one slot, as `getReserves` reads them; or sets them."""
BALANCE_OF, GET_RESERVES = "0x70a08231", "0x0902f1ac"


class MiningChain(Protocol):
    """A node that signs for an account, and mines."""

    def ask(self, method: str, params: Sequence[Any]) -> Any:
        """Return the result of a call.

        Raises:
            ConnectionError: The node refuses it.
        """
        ...

    def ask_all(self, method: str, calls: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the results of calls that are sent together."""
        ...

    def send(self, method: str, params: Sequence[Any]) -> None:
        """Send a call whose result is ignored."""
        ...

    @property
    def sender(self) -> str:
        """Return the account that the node signs for."""
        ...


class Workload(Protocol):
    """Values by place, from 0 on."""

    @property
    def ways(self) -> Sequence[str]:
        """Return the ways to hold the values: subscriptions, and methods that are polled."""
        ...

    def prepare(self, chain: MiningChain) -> None:
        """Create what the values are read from, once a node."""
        ...

    def call(self, place: int) -> dict[str, str]:
        """Return the call whose outcome is a value."""
        ...

    def change(self, chain: MiningChain, places: Sequence[int], code: str = "") -> None:
        """Have one block that changes the values with these places, and runs `code`, in hexadecimal."""
        ...


def address_of(place: int) -> str:
    """Return one of the addresses that are watched."""
    return f"0x{0xA000_0000 + place:040x}"


class Balances:
    """Balances of ether, which one transaction a block changes; a call also reads some slots of its own."""

    ways = ("state", "calls", "eth_getBalance", "eth_call")

    def __init__(self, reads: int) -> None:
        self._reads = reads

    def prepare(self, chain: MiningChain) -> None:
        """Create nothing."""

    def call(self, place: int) -> dict[str, str]:
        """Return a call whose outcome is one of the balances, and whose other reads are slots of its own."""
        slots = (f"63{place * self._reads + number:08x}5450" for number in range(1, self._reads))
        return {"data": f"0x{''.join(slots)}73{address_of(place)[2:]}315f5260205ff3"}

    def change(self, chain: MiningChain, places: Sequence[int], code: str = "") -> None:
        """Send one wei to each of the addresses, in one transaction."""
        # CALL(gas, address, 1, no input, no output)
        calls = (f"5f5f5f5f600173{address_of(place)[2:]}5af150" for place in places)
        sent = {
            "from": chain.sender,
            "value": hex(len(places)),
            "data": f"0x{''.join(calls)}{code}00",
            "gas": GAS,
        }
        chain.send("eth_sendTransaction", [sent])


class Market:
    """Balances of holders in 100 tokens, and reserves of 1,000 pairs; a block has 100 transactions.

    One transaction changes one value; the others of a block change none. The node must mine when it is asked
    to (`evm_setAutomine`, `evm_mine`).
    """

    ways = ("calls", "eth_call")

    def __init__(self, values: int) -> None:
        pairs = min(PAIRS, values // 10)
        self._balances = values - pairs
        self._pairs = pairs
        self._tokens = min(TOKENS, self._balances)
        self._addresses: list[str] = []
        self._number = 0

    def prepare(self, chain: MiningChain) -> None:
        """Create all tokens and pairs."""
        chain.ask("evm_setAutomine", [False])
        codes = [TOKEN] * self._tokens + [PAIR] * self._pairs
        for first in range(0, len(codes), DEPLOYED_AT_ONCE):
            sent = [
                [
                    {
                        "from": chain.sender,
                        "data": f"0x60{len(code):02x}8060095f395ff3{code.hex()}",
                        "gas": hex(100_000),
                    }
                ]
                for code in codes[first : first + DEPLOYED_AT_ONCE]
            ]
            transactions = chain.ask_all("eth_sendTransaction", sent)
            chain.ask("evm_mine", [])
            receipts = chain.ask_all("eth_getTransactionReceipt", [[each] for each in transactions])
            self._addresses += [str(receipt["contractAddress"]) for receipt in receipts]

    def call(self, place: int) -> dict[str, str]:
        """Return `balanceOf` of a holder, or `getReserves` of a pair."""
        if place >= self._balances:
            return {"to": self._addresses[self._tokens + place - self._balances], "data": GET_RESERVES}
        holder = address_of(place // self._tokens)[2:].zfill(64)
        return {"to": self._addresses[place % self._tokens], "data": f"{BALANCE_OF}{holder}"}

    def change(self, chain: MiningChain, places: Sequence[int], code: str = "") -> None:
        """Set each of the values to one that it never had."""
        self._number += 1
        value = f"{self._number:064x}"
        calls = [self.call(place) for place in places]
        sent = [{"to": each["to"], "data": f"{each['data']}{value}"} for each in calls]
        sent += [{"to": address_of(number), "value": "0x1"} for number in range(TRANSACTIONS - len(sent))]
        if code:
            sent[-1] = {"data": f"0x{code}00"}
        with_sender = [[{"from": chain.sender, "gas": hex(100_000), **each}] for each in sent]
        chain.ask_all("eth_sendTransaction", with_sender)
        chain.send("evm_mine", [])
