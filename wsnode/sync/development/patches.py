"""Changes of the state that no transaction made, and how they are taken back."""

from typing import Any

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.primitives.values import Address, hexadecimal


class Patches:
    """Changes the state after the head in place, for one thread at a time, and remembers what was there."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain
        self._undo: dict[int, list[bytes]] = {}

    def count(self, number: int) -> int:
        """Return how many changes were made to the state after block `number`."""
        return len(self._undo.get(number, ()))

    def apply(self, address: Address, changes: dict[str, Any]) -> None:
        """Change an account after the head; members as state overrides have them, but `balance` in full."""
        head = self._chain.head
        block = (head.number, head.hash)
        before = {name: self._before(address, block, name, value) for name, value in changes.items()}
        self._patch(address, changes)
        self._undo.setdefault(head.number, []).append(_encoded(address, before))

    def take_back(self, number: int, count: int) -> None:
        """Undo the changes after block `number`, which is the head, until `count` are left."""
        made = self._undo.get(number, [])
        while len(made) > count:
            self._chain.state.patch(made.pop())

    def forget_above(self, number: int) -> None:
        """Let go of what was changed after blocks that are no more."""
        self._undo = {block: made for block, made in self._undo.items() if block <= number}

    def _patch(self, address: Address, changes: dict[str, Any]) -> None:
        self._chain.state.patch(_encoded(address, changes))

    def _before(self, address: Address, block: tuple[int, bytes], member: str, value: Any) -> Any:
        state = self._chain.state
        account = state.account(address, block)
        nonce, balance, _ = account or (0, 0, b"")
        if member == "stateDiff":
            return {
                slot: hexadecimal(state.storage(address, bytes.fromhex(slot[2:]), block)) for slot in value
            }
        if member == "code":
            return hexadecimal(state.code(address, block))
        return hex(balance if member == "balance" else nonce)


def _encoded(address: Address, changes: dict[str, Any]) -> bytes:
    return msgspec.json.encode({hexadecimal(address): changes})
