"""engine_newPayload, engine_getPayload and engine_getPayloadBodies: payloads sent to the node, payloads built
here, and transactions and withdrawals of stored blocks, for clients that keep none.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from wsnode.ethereum.codec.blocks import Payload
from wsnode.ethereum.codec.rendering import render_payload, render_payload_body
from wsnode.ethereum.codec.rows import Row
from wsnode.ethereum.payloads.builds import PayloadBuild, PayloadBuilds
from wsnode.ethereum.payloads.engine_chain import EngineChain, PayloadSidecar, StorageUnavailableError
from wsnode.ethereum.payloads.payload import PayloadFork, PayloadStatus, envelope, era_of, payload_version
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.rpc.common.decoding import decode_bytes, decode_fixed, decode_quantity
from wsnode.ethereum.rpc.common.parameters import decode_hash, register_list
from wsnode.ethereum.rpc.common.schemas import ANY_BYTES, ANY_HASH, ANY_QUANTITY
from wsnode.ethereum.rpc.engine.errors import not_stored, too_large_request, unknown_payload, unsupported_fork
from wsnode.ethereum.rpc.engine.schemas import (
    BODIES,
    BODIES_WITH_LISTS,
    BUILT_BLOCK,
    PAYLOAD,
    PAYLOAD_STATUS,
    PAYLOAD_WITH_BLOBS,
    PAYLOAD_WITH_VALUE,
)
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ChainSpec
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, invalid_params
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Await, ReplyChunks, RunInThread, Steps

IDENTITY_BYTES: Final = 8
MAX_BLOBS: Final = 4_096
"""MAX_BLOB_COMMITMENTS_PER_BLOCK of consensus-specs (deneb/beacon-chain.md)."""
MAX_REQUESTS: Final = 256
"""One of each type, which is a byte (EIP-7685)."""
MAX_BODIES: Final = 1024
"""Maximum number of bodies in one call, as in geth (eth/catalyst/api.go)."""
MAX_BODY_BYTES: Final = 32 << 20
"""Maximum bytes of the bodies' text; a client has to request larger ranges in parts."""

PayloadText: TypeAlias = Annotated[msgspec.Raw, msgspec.Meta(extra_json_schema=PAYLOAD)]
"""A payload that the engine reads."""


class PayloadId(bytes):
    """Identifier of a payload being built, 8 bytes."""

    __slots__ = ()


class PayloadBlobHashes(tuple[Hash32, ...]):
    """Versioned hashes of a payload's blobs."""

    __slots__ = ()


class ExecutionRequests(tuple[bytes, ...]):
    """Execution requests (EIP-7685), each as hex of its type byte and content."""

    __slots__ = ()


class PayloadParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[payload]`."""

    payload: PayloadText


class CancunParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[payload, expected versioned hashes of its blobs, parent beacon block's root]`."""

    payload: PayloadText
    blob_hashes: PayloadBlobHashes
    parent_beacon_block_root: Hash32


class PragueParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[payload, blob hashes, beacon root, execution requests]`; the root is the parent beacon block's, and
    each request is its type byte and content.
    """

    payload: PayloadText
    blob_hashes: PayloadBlobHashes
    parent_beacon_block_root: Hash32
    requests: ExecutionRequests


class PayloadIdParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[identity]`, as engine_forkchoiceUpdated returned it."""

    identity: PayloadId


class NewPayloadMethods:
    """Handlers of engine_newPayload, one for each version of a payload's structure."""

    def __init__(self, driven: EngineChain, spec: ChainSpec) -> None:
        self._driven = driven
        self._spec = spec

    def of_paris(self, params: PayloadParameters) -> Steps:
        """Return the payload status of a payload of Paris, without making it the head."""
        status = yield from self._take(
            params.payload, PayloadSidecar(), (PayloadFork.PARIS,), "engine_newPayloadV1"
        )
        return _of_first_version(status)

    def of_shanghai(self, params: PayloadParameters) -> Steps:
        """Return the payload status of a payload of Paris or Shanghai, without making it the head."""
        eras = (PayloadFork.PARIS, PayloadFork.SHANGHAI)
        return (yield from self._take(params.payload, PayloadSidecar(), eras, "engine_newPayloadV2"))

    def of_cancun(self, params: CancunParameters) -> Steps:
        """Return the payload status of a payload of Cancun, without making it the head."""
        beside = PayloadSidecar(
            blob_hashes=params.blob_hashes, parent_beacon_block_root=params.parent_beacon_block_root
        )
        return (yield from self._take(params.payload, beside, (PayloadFork.CANCUN,), "engine_newPayloadV3"))

    def of_prague(self, params: PragueParameters) -> Steps:
        """Return the payload status of a payload of Prague or Osaka, without making it the head."""
        eras = (PayloadFork.PRAGUE, PayloadFork.OSAKA)
        return (yield from self._take_with_requests(params, eras, "engine_newPayloadV4"))

    def of_amsterdam(self, params: PragueParameters) -> Steps:
        """Return the payload status of a payload since Amsterdam, without making it the head."""
        return (yield from self._take_with_requests(params, (PayloadFork.AMSTERDAM,), "engine_newPayloadV5"))

    def _take_with_requests(
        self, params: PragueParameters, eras: Sequence[PayloadFork], method: str
    ) -> Steps:
        _check_requests(params.requests)
        beside = PayloadSidecar(
            blob_hashes=params.blob_hashes,
            parent_beacon_block_root=params.parent_beacon_block_root,
            requests=params.requests,
        )
        return (yield from self._take(params.payload, beside, eras, method))

    def _take(
        self, text: msgspec.Raw, beside: PayloadSidecar, eras: Sequence[PayloadFork], method: str
    ) -> Steps:
        # The call takes its place in the line before its first step that waits, so that calls run in the
        # order of their arrival.
        with self._driven.line.join() as place:
            payload: Payload = yield RunInThread(lambda _cancel: _read(bytes(text)))
            self._check_version(payload, eras, method)
            yield Await(place.wait_turn)
            try:
                return (yield Await(partial(self._driven.take, payload, beside)))
            except StorageUnavailableError:
                raise not_stored() from None

    def _check_version(self, payload: Payload, eras: Sequence[PayloadFork], method: str) -> None:
        era = era_of(self._spec, payload.timestamp)
        least, most, version = map(payload_version, (eras[0], eras[-1], era))
        if not least <= payload.version <= most:
            raise invalid_params(f"{method} takes the members of ExecutionPayloadV{most:d}")
        if era not in eras:
            raise unsupported_fork(method)
        if payload.version != version:
            raise invalid_params(f"a payload of that time has the members of ExecutionPayloadV{version:d}")


class GetPayloadMethods:
    """Handlers of engine_getPayload, which return payloads built here."""

    def __init__(self, builds: PayloadBuilds, spec: ChainSpec) -> None:
        self._builds = builds
        self._spec = spec

    def of_paris(self, params: PayloadIdParameters) -> Steps:
        """Return a payload of Paris that was built, as good as it is by now."""
        _build, block, _era = yield from self._taken(params, (PayloadFork.PARIS,), "engine_getPayloadV1")
        return render_payload(block.header, block.body)

    def of_shanghai(self, params: PayloadIdParameters) -> Steps:
        """Return a payload of Paris or Shanghai that was built, and its value."""
        return (
            yield from self._envelope(
                params, (PayloadFork.PARIS, PayloadFork.SHANGHAI), "engine_getPayloadV2"
            )
        )

    def of_cancun(self, params: PayloadIdParameters) -> Steps:
        """Return a payload of Cancun that was built, its value, and its blobs."""
        return (yield from self._envelope(params, (PayloadFork.CANCUN,), "engine_getPayloadV3"))

    def of_prague(self, params: PayloadIdParameters) -> Steps:
        """Return a payload of Prague that was built, its value, blobs and execution requests."""
        return (yield from self._envelope(params, (PayloadFork.PRAGUE,), "engine_getPayloadV4"))

    def of_osaka(self, params: PayloadIdParameters) -> Steps:
        """Return a payload of Osaka that was built, its value, blobs and execution requests."""
        return (yield from self._envelope(params, (PayloadFork.OSAKA,), "engine_getPayloadV5"))

    def of_amsterdam(self, params: PayloadIdParameters) -> Steps:
        """Return a payload since Amsterdam that was built, its value, blobs and execution requests."""
        return (yield from self._envelope(params, (PayloadFork.AMSTERDAM,), "engine_getPayloadV6"))

    def _envelope(self, params: PayloadIdParameters, eras: Sequence[PayloadFork], method: str) -> Steps:
        build, block, era = yield from self._taken(params, eras, method)
        return ReplyChunks(envelope(block, build.value, build.blobs, era))

    def _taken(self, params: PayloadIdParameters, eras: Sequence[PayloadFork], method: str) -> Steps:
        build: PayloadBuild | None = self._builds.find(params.identity)
        if build is None:
            raise unknown_payload()
        era = era_of(self._spec, build.attributes.timestamp)
        if era not in eras:
            raise unsupported_fork(method)
        block = yield Await(partial(self._builds.take, build))
        if block is None:
            raise unknown_payload()
        return build, block, era


def _read(text: bytes) -> Payload:
    try:
        return Payload(text)
    except ValueError as error:
        raise invalid_params(f"invalid argument 0: {error}") from None


def _check_requests(requests: Sequence[bytes]) -> None:
    if any(len(request) < 2 for request in requests):
        raise invalid_params(
            "invalid argument 3: an execution request has at least 2 bytes, its type and content"
        )
    if any(first[0] >= second[0] for first, second in pairwise(requests)):
        raise invalid_params("invalid argument 3: execution requests must be sorted by type, one of each")


def _of_first_version(status: PayloadStatus) -> PayloadStatus:
    """Return a status with INVALID_BLOCK_HASH for a wrong block hash, the form of version 1 only."""
    if status.status == "INVALID" and status.latest_valid_hash is None:
        return msgspec.structs.replace(status, status="INVALID_BLOCK_HASH")
    return status


def _decode_identity(value: Any) -> PayloadId:
    return PayloadId(decode_fixed(value, IDENTITY_BYTES, "engine.PayloadID"))


def add_methods(registry: Registry, driven: EngineChain, builds: PayloadBuilds, spec: ChainSpec) -> None:
    """Register this module's methods."""
    given, built = NewPayloadMethods(driven, spec), GetPayloadMethods(builds, spec)
    errors: Sequence[RpcError] = (unsupported_fork("engine_newPayloadVN"), not_stored())
    method = partial(registry.method, view=False, result=PAYLOAD_STATUS, errors=errors)
    method("engine_newPayloadV1")(given.of_paris)
    method("engine_newPayloadV2")(given.of_shanghai)
    method("engine_newPayloadV3")(given.of_cancun)
    method("engine_newPayloadV4")(given.of_prague)
    method("engine_newPayloadV5")(given.of_amsterdam)
    errors = unknown_payload(), unsupported_fork("engine_getPayloadVN")
    method = partial(registry.method, view=False, errors=errors)
    method("engine_getPayloadV1", result=PAYLOAD)(built.of_paris)
    method("engine_getPayloadV2", result=PAYLOAD_WITH_VALUE)(built.of_shanghai)
    method("engine_getPayloadV3", result=PAYLOAD_WITH_BLOBS)(built.of_cancun)
    method("engine_getPayloadV4", result=BUILT_BLOCK)(built.of_prague)
    method("engine_getPayloadV5", result=BUILT_BLOCK)(built.of_osaka)
    method("engine_getPayloadV6", result=BUILT_BLOCK)(built.of_amsterdam)
    _add_bodies(registry)


register_type(PayloadId, _decode_identity, ANY_BYTES)
register_list(PayloadBlobHashes, decode_hash, ANY_HASH, most=MAX_BLOBS, type_name="[]common.Hash")
register_list(ExecutionRequests, decode_bytes, ANY_BYTES, most=MAX_REQUESTS, type_name="[]hexutil.Bytes")


class Count(int):
    """A number below 2**64."""


class BlockHashes(tuple[Hash32, ...]):
    """Hashes of blocks."""

    __slots__ = ()


class HashesParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[block hashes]`."""

    hashes: BlockHashes


class RangeParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[number of the first block, how many]`."""

    start: Count
    count: Count


def get_bodies_by_hash(view: Snapshot, params: HashesParameters) -> Steps:
    """Return the bodies of blocks, canonical or not; null for those that are unknown."""
    found = (view.block_rows(block_hash) for block_hash in params.hashes)
    return _bodies(_rendered(None if rows is None else rows[1]) for rows in found)


def get_bodies_by_range(view: Snapshot, params: RangeParameters) -> Steps:
    """Return the list of the bodies of canonical blocks, which ends at the head; null for pruned ones."""
    return _bodies(_rendered(view.view_body(number)) for number in _numbers(view, params))


def get_bodies_with_lists_by_hash(view: Snapshot, params: HashesParameters) -> Steps:
    """Return the bodies of blocks with their access lists; null for blocks that are unknown."""
    return _bodies(_with_list(view, block_hash) for block_hash in params.hashes)


def get_bodies_with_lists_by_range(view: Snapshot, params: RangeParameters) -> Steps:
    """Return the list of the bodies of canonical blocks with their access lists, which ends at the head.

    It has null for pruned blocks; the access list is null for blocks without one.
    """
    hashes = (view.hash_of(number) for number in _numbers(view, params))
    return _bodies(None if block_hash is None else _with_list(view, block_hash) for block_hash in hashes)


def _with_list(view: Snapshot, block_hash: Hash32) -> bytes | None:
    """Return the JSON of a block's body with its access list, null where there is none; None for an unknown
    block.
    """
    rows = view.block_rows(block_hash)
    if rows is None:
        return None
    return render_payload_body(rows[1], view.access_list(block_hash), with_access_list=True)


def _numbers(view: Snapshot, params: RangeParameters) -> range:
    if params.start < 1 or params.count < 1:
        raise invalid_params("start and count are at least 1")
    if params.count > MAX_BODIES:
        raise too_large_request(MAX_BODIES)
    return range(params.start, min(params.start + params.count, view.number + 1))


def _rendered(body: Row | None) -> bytes | None:
    return None if body is None else render_payload_body(body)


def _bodies(bodies: Iterator[bytes | None]) -> Steps:
    pieces, size = ReplyChunks((b"[",)), 0
    for body in bodies:
        text = b"null" if body is None else body
        pieces += (text,) if len(pieces) == 1 else (b",", text)
        size += len(text)
        if size > MAX_BODY_BYTES:
            raise too_large_request(len(pieces) // 2)
        yield size
    pieces.append(b"]")
    return pieces


def _decode_count(value: Any) -> Count:
    return Count(decode_quantity(value, 64, "hexutil.Uint64"))


def _add_bodies(registry: Registry) -> None:
    method = partial(registry.method, errors=(too_large_request(MAX_BODIES),))
    method("engine_getPayloadBodiesByHashV1", result=BODIES)(get_bodies_by_hash)
    method("engine_getPayloadBodiesByRangeV1", result=BODIES)(get_bodies_by_range)
    method("engine_getPayloadBodiesByHashV2", result=BODIES_WITH_LISTS)(get_bodies_with_lists_by_hash)
    method("engine_getPayloadBodiesByRangeV2", result=BODIES_WITH_LISTS)(get_bodies_with_lists_by_range)


register_type(Count, _decode_count, ANY_QUANTITY)
register_list(
    BlockHashes,
    decode_hash,
    ANY_HASH,
    most=MAX_BODIES,
    type_name="[]common.Hash",
    excess=too_large_request(MAX_BODIES),
)
