"""Response of engine_getPayload: a block, and the members beside it."""

from collections.abc import Iterable, Iterator, Sequence

from wsnode.ethereum.codec.blocks import BuiltBlock
from wsnode.ethereum.codec.rendering import render_payload
from wsnode.ethereum.payloads.versions import PayloadFork
from wsnode.ethereum.pool.blobs import CELLS, Blob


def envelope(block: BuiltBlock, value: int, blobs: Sequence[Blob], era: PayloadFork) -> list[bytes]:
    """Return the JSON text of an era's engine_getPayload in pieces, since blobs make it large.

    `value` is the proposer's gain from the block, in wei.
    """
    payload = render_payload(block.header, block.body, block.access_list)
    pieces = [b'{"executionPayload":', payload, b',"blockValue":"0x%x"' % value]
    if era >= PayloadFork.CANCUN:
        pieces += [b',"blobsBundle":', *bundle(blobs), b',"shouldOverrideBuilder":false']
    if era >= PayloadFork.PRAGUE:
        pieces += [b',"executionRequests":', *_array(block.requests)]
    return [*pieces, b"}"]


def bundle(blobs: Sequence[Blob]) -> list[bytes]:
    """Return a blobs bundle in pieces: commitments, proofs and blobs."""
    return [
        b'{"commitments":',
        *_array([blob.commitment for blob in blobs]),
        b',"proofs":',
        *_array([proof for blob in blobs for proof in blob.proofs]),
        b',"blobs":',
        *_array([blob.content for blob in blobs]),
        b"}",
    ]


def blob_and_proofs(blob: Blob) -> list[bytes]:
    """Return a blob with the proofs of its cells, or with its single proof, in pieces."""
    pieces = [b'{"blob":"0x', blob.content.hex().encode()]
    if blob.has_cell_proofs:
        return [*pieces, b'","proofs":', *_array(blob.proofs), b"}"]
    return [*pieces, b'","proof":"0x', blob.proofs[0].hex().encode(), b'"}']


def cells_and_proofs(blob: Blob, cells: bytes, indices: Sequence[int]) -> list[bytes]:
    """Return the cells with these indices and their proofs, in pieces; `cells` has all cells in order."""
    size = len(cells) // CELLS
    named = (cells[index * size : (index + 1) * size] for index in indices)
    proofs = [blob.proofs[index] for index in indices]
    return [b'{"blob_cells":', *_array(named), b',"proofs":', *_array(proofs), b"}"]


def _array(items: Iterable[bytes]) -> Iterator[bytes]:
    """Yield an array of bytes in hexadecimal."""
    yield b"["
    for place, item in enumerate(items):
        yield b'"0x' if place == 0 else b',"0x'
        yield item.hex().encode()
        yield b'"'
    yield b"]"
