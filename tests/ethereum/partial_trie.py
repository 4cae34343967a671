"""A trie of which only some nodes are known, to be read and changed as far as they go."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import LIST, content, encode, encoded_items, number

Node: TypeAlias = "bytes | list[Node]"

EMPTY_ROOT = keccak256(b"\x80")
EMPTY: Node = b""


class Nodes:
    """Nodes by their hashes."""

    def __init__(self, encoded: Iterable[bytes]) -> None:
        self._nodes = {keccak256(node): node for node in encoded}
        self.used = set[bytes]()

    def resolve(self, node: Node) -> Node:
        """Return the node that a reference names by its hash, which must be known, or that it is itself."""
        if not isinstance(node, bytes) or not node:
            return node
        assert node in self._nodes, f"the node {node.hex()} is missing"
        self.used.add(node)
        return decode(self._nodes[node])


class PartialTrie:
    """One trie with hashed keys."""

    def __init__(self, nodes: Nodes, root: bytes) -> None:
        self._nodes = nodes
        self._root: Node = EMPTY if root == EMPTY_ROOT else root

    def get(self, key: bytes) -> bytes | None:
        """Return the value at `key`, proved to be there, or None, proved not to be."""
        return self._get(self._root, path_of(key))

    def set(self, key: bytes, value: bytes) -> None:
        """Put a value."""
        self._root = self._set(self._root, path_of(key), value)

    def remove(self, key: bytes) -> None:
        """Take a value away."""
        self._root = self._remove(self._root, path_of(key))

    def root(self) -> bytes:
        """Return the root hash."""
        if isinstance(self._root, bytes):
            return self._root or EMPTY_ROOT
        return keccak256(encode(referring(self._root)))

    def _get(self, reference: Node, path: str) -> bytes | None:
        node = self._nodes.resolve(reference)
        if not node:
            return None
        assert isinstance(node, list)
        if len(node) == 17:
            return self._get(node[int(path[0], 16)], path[1:])
        own, is_leaf = unpacked(node[0])
        if is_leaf:
            return leaf_value(node) if own == path else None
        return self._get(node[1], path[len(own) :]) if path.startswith(own) else None

    def _set(self, reference: Node, path: str, value: bytes) -> Node:
        node = self._nodes.resolve(reference)
        if not node:
            return [packed(path, is_leaf=True), value]
        assert isinstance(node, list)
        if len(node) == 17:
            return self._with_child(node, path[0], self._set(node[int(path[0], 16)], path[1:], value))
        own, is_leaf = unpacked(node[0])
        if is_leaf and own == path:
            return [node[0], value]
        if not is_leaf and path.startswith(own):
            return [node[0], self._set(node[1], path[len(own) :], value)]
        common = next(index for index in range(len(own)) if own[index] != path[index])
        below = own[common + 1 :]
        rest: Node = node[1] if not is_leaf and not below else [packed(below, is_leaf=is_leaf), node[1]]
        branch = self._with_child([EMPTY] * 17, own[common], rest)
        branch = self._with_child(branch, path[common], [packed(path[common + 1 :], is_leaf=True), value])
        return [packed(own[:common], is_leaf=False), branch] if common else branch

    def _remove(self, reference: Node, path: str) -> Node:
        node = self._nodes.resolve(reference)
        if not node:
            return EMPTY
        assert isinstance(node, list)
        if len(node) == 17:
            child = self._remove(node[int(path[0], 16)], path[1:])
            return self._shortened(self._with_child(node, path[0], child))
        own, is_leaf = unpacked(node[0])
        if is_leaf:
            return EMPTY if own == path else node
        if not path.startswith(own):
            return node
        return self._joined(own, self._remove(node[1], path[len(own) :]))

    def _shortened(self, branch: list[Node]) -> Node:
        present = [index for index, child in enumerate(branch) if child]
        if len(present) > 1:
            return branch
        return self._joined(f"{present[0]:x}", branch[present[0]])

    def _joined(self, prefix: str, reference: Node) -> Node:
        child = self._nodes.resolve(reference)
        assert isinstance(child, list)
        if len(child) == 17:
            return [packed(prefix, is_leaf=False), reference]
        own, is_leaf = unpacked(child[0])
        return [packed(prefix + own, is_leaf=is_leaf), child[1]]

    @staticmethod
    def _with_child(node: list[Node], nibble: str, child: Node) -> list[Node]:
        index = int(nibble, 16)
        return [*node[:index], child, *node[index + 1 :]]


class WholeTrie(PartialTrie):
    """A trie all of whose nodes are known, made of values by the nibbles of their keys."""

    def __init__(self, values: Mapping[str, bytes]) -> None:
        super().__init__(Nodes(()), EMPTY_ROOT)
        for path, value in values.items():
            self._root = self._set(self._root, path, value)

    def proof(self, path: str) -> list[bytes]:
        """Return the encoded nodes from the root to a key, or to where it is seen not to be there."""
        found: list[bytes] = []
        node = self._root
        while isinstance(node, list):
            encoded = encode(referring(node))
            if not found or len(encoded) >= 32:
                found.append(encoded)
            if len(node) == 17:
                node, path = node[int(path[0], 16)], path[1:]
                continue
            own, is_leaf = unpacked(node[0])
            if is_leaf or not path.startswith(own):
                break
            node, path = node[1], path[len(own) :]
        return found


def ordered_root(values: Sequence[bytes]) -> bytes:
    """Return the root of a trie whose keys are the numbers from 0 on, in RLP; at most 128 of them."""
    return WholeTrie({encode(number(place)).hex(): value for place, value in enumerate(values)}).root()


def path_of(key: bytes) -> str:
    """Return the nibbles of a key's hash, a digit each."""
    return keccak256(key).hex()


def packed(path: str, *, is_leaf: bool) -> bytes:
    """Return nibbles as a node holds them."""
    flag = (2 if is_leaf else 0) + len(path) % 2
    return bytes.fromhex(f"{flag:x}{'' if len(path) % 2 else '0'}{path}")


def unpacked(held: Node) -> tuple[str, bool]:
    """Return nibbles and whether their node is a leaf."""
    assert isinstance(held, bytes)
    digits = held.hex()
    flag = int(digits[0])
    return digits[1 if flag % 2 else 2 :], flag >= 2


def leaf_value(leaf: list[Node]) -> bytes:
    """Return what a leaf holds."""
    assert isinstance(leaf[1], bytes)
    return leaf[1]


def decode(encoded: bytes) -> Node:
    """Return the item that RLP encodes."""
    if encoded[0] >= LIST:
        return [decode(item) for item in encoded_items(encoded)]
    start, length = content(encoded, 0)
    return encoded[start : start + length]


def referring(node: Node) -> Node:
    """Return a node whose children are what its encoding holds: a hash, or a short child itself."""
    if not isinstance(node, list):
        return node
    if len(node) == 17:
        return [_reference(child) for child in node]
    return node if unpacked(node[0])[1] else [node[0], _reference(node[1])]


def _reference(child: Node) -> Node:
    if isinstance(child, bytes):
        return child
    whole = referring(child)
    encoded = encode(whole)
    return whole if len(encoded) < 32 else keccak256(encoded)
