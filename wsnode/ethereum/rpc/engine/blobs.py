"""engine_getBlobs: blobs of transactions that were sent to the pool: a consensus client need not wait for
gossip then.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.transactions import blob_cells
from wsnode.ethereum.payloads.payload import PayloadFork, blob_and_proofs, cells_and_proofs, era_of
from wsnode.ethereum.pool.blobs import CELLS, Blob, Blobs
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.decoding import decode_fixed
from wsnode.ethereum.rpc.common.parameters import decode_hash, register_list
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.rpc.common.schemas import ANY_BYTES, ANY_HASH
from wsnode.ethereum.rpc.engine.errors import too_large_request, unsupported_fork
from wsnode.ethereum.rpc.engine.schemas import ALL_CELLED_BLOBS, BLOBS, CELLED_BLOBS, CELLS_OF_BLOBS
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import ReplyChunks, RunInThread, Steps

MAX_BLOBS: Final = 128


class BlobHashes(tuple[Hash32, ...]):
    """Versioned hashes of blobs."""

    __slots__ = ()


class BlobsParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[versioned hashes]`."""

    hashes: BlobHashes


class CellIndices(tuple[int, ...]):
    """Indices of the requested cells of a blob, ascending; sent as a bit field."""

    __slots__ = ()


class CellsParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[versioned hashes, bit field]`; the field has 16 bytes as hex, and bit n of them, counted from the
    lowest bit of the first byte, requests cell n.
    """

    hashes: BlobHashes
    indices: CellIndices


class BlobMethods:
    """Handlers of engine_getBlobs…; in results `null` stands for a blob that is not kept here."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def with_one_proof(self, view: Snapshot, params: BlobsParameters) -> Steps:
        """Return blobs, each with its proof; up to Prague."""
        if era_of(view.spec, view.head_timestamp) >= PayloadFork.OSAKA:
            raise unsupported_fork("engine_getBlobsV1")
        return (yield from self._proved(self._found(params), by_cells=False))

    def all_with_cell_proofs(self, _view: Snapshot, params: BlobsParameters) -> Steps:
        """Return blobs, each with the proofs of its cells, or null for all if one is not kept here."""
        found = self._found(params)
        if None in found:
            return NULL
        return (yield from self._proved(found, by_cells=True))

    def with_cell_proofs(self, _view: Snapshot, params: BlobsParameters) -> Steps:
        """Return blobs, each with the proofs of its cells."""
        return (yield from self._proved(self._found(params), by_cells=True))

    def cells(self, view: Snapshot, params: CellsParameters) -> Steps:
        """Return the cells of blobs that a bit field names, each with its proof, by ascending index.

        The bit field has 16 bytes; its lowest bit stands for cell 0. Null stands for a blob that is not kept
        here, and for all of them before Osaka.
        """
        if era_of(view.spec, view.head_timestamp) < PayloadFork.OSAKA:
            return NULL
        pieces = ReplyChunks((b"[",))
        for place, versioned_hash in enumerate(params.hashes):
            blob = self._blobs.get(versioned_hash)
            if place:
                pieces.append(b",")
            if blob is None:
                pieces.append(NULL)
                continue
            proved = blob if blob.has_cell_proofs else (yield from self._with_proofs(blob, by_cells=True))
            cells = yield RunInThread(lambda _cancel, content=proved.content: blob_cells(content))  # type: ignore[misc]
            pieces += cells_and_proofs(proved, cells, params.indices)
        pieces.append(b"]")
        return pieces

    def _with_proofs(self, blob: Blob, *, by_cells: bool) -> Steps:
        """Return a blob with proofs of the other kind, and keep these."""
        proved = yield RunInThread(lambda _cancel: blob.proved(by_cells=by_cells))
        self._blobs.replace(proved)
        return proved

    def _found(self, params: BlobsParameters) -> Sequence[Blob | None]:
        return [self._blobs.get(versioned_hash) for versioned_hash in params.hashes]

    def _proved(self, blobs: Sequence[Blob | None], *, by_cells: bool) -> Steps:
        """Return the JSON text of blobs with proofs of one kind; missing proofs are made in a thread."""
        pieces = ReplyChunks((b"[",))
        for place, blob in enumerate(blobs):
            if place:
                pieces.append(b",")
            if blob is None:
                pieces.append(NULL)
                continue
            is_proved = blob.has_cell_proofs == by_cells
            proved = blob if is_proved else (yield from self._with_proofs(blob, by_cells=by_cells))
            pieces += blob_and_proofs(proved)
        pieces.append(b"]")
        return pieces


def add_methods(registry: Registry, blobs: Blobs) -> None:
    """Register this module's methods."""
    methods = BlobMethods(blobs)
    method = partial(registry.method, errors=(too_large_request(MAX_BLOBS),))
    errors = too_large_request(MAX_BLOBS), unsupported_fork("engine_getBlobsV1")
    registry.method("engine_getBlobsV1", result=BLOBS, errors=errors)(methods.with_one_proof)
    method("engine_getBlobsV2", result=ALL_CELLED_BLOBS)(methods.all_with_cell_proofs)
    method("engine_getBlobsV3", result=CELLED_BLOBS)(methods.with_cell_proofs)
    method("engine_getBlobsV4", result=CELLS_OF_BLOBS)(methods.cells)


def _decode_indices(value: Any) -> CellIndices:
    field = int.from_bytes(decode_fixed(value, CELLS // 8, "indices"), "little")
    return CellIndices(index for index in range(CELLS) if field >> index & 1)


register_type(CellIndices, _decode_indices, ANY_BYTES)


register_list(
    BlobHashes,
    decode_hash,
    ANY_HASH,
    most=MAX_BLOBS,
    type_name="[]common.Hash",
    excess=too_large_request(MAX_BLOBS),
)
