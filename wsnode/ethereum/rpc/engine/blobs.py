"""engine_getBlobs: blobs of transactions that were sent to the pool: nobody has to wait for gossip then."""

from collections.abc import Sequence
from functools import partial
from typing import Final

import msgspec

from wsnode.ethereum.payloads.envelope import blob_and_proofs
from wsnode.ethereum.payloads.eras import Era, era_of
from wsnode.ethereum.pool.blobs import Blob, Blobs
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.engine.errors import too_large_request, unsupported_fork
from wsnode.ethereum.rpc.engine.schemas import ALL_CELLED_BLOBS, BLOBS, CELLED_BLOBS
from wsnode.ethereum.rpc.form.results import NULL
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import InThread, Pieces, Steps

MOST_BLOBS: Final = 128


class BlobsParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[versioned hashes]`."""

    hashes: tuple[Hash32, ...]


class GetBlobs:
    """The methods; `null` stands for a blob that is not kept here."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def with_one_proof(self, view: Snapshot, params: BlobsParameters) -> Steps:
        """Return blobs, each with its proof; up to Prague."""
        if era_of(view.spec, view.head_timestamp) >= Era.OSAKA:
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

    def _found(self, params: BlobsParameters) -> Sequence[Blob | None]:
        if len(params.hashes) > MOST_BLOBS:
            raise too_large_request(MOST_BLOBS)
        return [self._blobs.get(versioned_hash) for versioned_hash in params.hashes]

    def _proved(self, blobs: Sequence[Blob | None], *, by_cells: bool) -> Steps:
        """Return the JSON text of blobs with proofs of one kind; those of the other kind need a thread."""
        pieces = Pieces((b"[",))
        for place, blob in enumerate(blobs):
            if place:
                pieces.append(b",")
            if blob is None:
                pieces.append(NULL)
                continue
            if blob.has_cell_proofs != by_cells:
                prove = partial(blob.proved, by_cells=by_cells)
                blob = yield InThread(lambda _cancel, prove=prove: prove())  # type: ignore[misc]
                self._blobs.replace(blob)
            pieces += blob_and_proofs(blob)
        pieces.append(b"]")
        return pieces


def add_methods(registry: Registry, blobs: Blobs) -> None:
    """Register this module's methods."""
    methods = GetBlobs(blobs)
    method = partial(registry.method, errors=(too_large_request(MOST_BLOBS),))
    errors = too_large_request(MOST_BLOBS), unsupported_fork("engine_getBlobsV1")
    registry.method("engine_getBlobsV1", result=BLOBS, errors=errors)(methods.with_one_proof)
    method("engine_getBlobsV2", result=ALL_CELLED_BLOBS)(methods.all_with_cell_proofs)
    method("engine_getBlobsV3", result=CELLED_BLOBS)(methods.with_cell_proofs)
