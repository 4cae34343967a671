"""engine_forkchoiceUpdated: the head, the safe and the finalized block, and the payload to build on the
head.
"""

from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.payloads.builds import PayloadBuilds
from wsnode.ethereum.payloads.engine_chain import (
    EngineChain,
    ForkchoiceError,
    LockTicket,
    StorageUnavailableError,
)
from wsnode.ethereum.payloads.payload import (
    PayloadAttributes,
    PayloadFork,
    PayloadStatus,
    era_of,
    payload_version,
)
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.rpc.common.decoding import decode_fixed
from wsnode.ethereum.rpc.common.schemas import ANY_BYTES
from wsnode.ethereum.rpc.engine.attributes import ExactAttributes
from wsnode.ethereum.rpc.engine.errors import (
    invalid_forkchoice_state,
    invalid_payload_attributes,
    not_stored,
    unsupported_fork,
)
from wsnode.ethereum.rpc.engine.schemas import FORKCHOICE
from wsnode.jsonrpc.codec import register_type
from wsnode.jsonrpc.errors import RpcError, invalid_params
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import Await, Steps

COLUMNS_BYTES: Final = 16
_NONE: Final = bytes(32)
_MEMBERS: Final = {"head": "headBlockHash", "safe": "safeBlockHash", "finalized": "finalizedBlockHash"}


class ForkchoiceState(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename=_MEMBERS):
    """Hashes of the new head, safe and finalized blocks (ForkchoiceStateV1); zeros for a safe or finalized
    block that does not exist yet.
    """

    head: Hash32
    safe: Hash32
    finalized: Hash32


class ForkchoiceParameters(msgspec.Struct, array_like=True, frozen=True):
    """`[state, attributes]`: the new head, safe and finalized blocks; with `attributes`, a payload is built
    on the head.
    """

    state: ForkchoiceState
    attributes: ExactAttributes | None = None


class CustodyColumns(bytes):
    """Columns of blobs that the consensus client keeps, a bit each."""

    __slots__ = ()


class AmsterdamParameters(ForkchoiceParameters, array_like=True, frozen=True):
    """`[state, attributes, custody columns]`; the columns are for nodes that exchange blobs, and not used."""

    custody_columns: CustodyColumns | None = None


class ForkchoiceMethods:
    """Handlers of engine_forkchoiceUpdated, one for each version of the payload attributes."""

    def __init__(self, chain: Chain, driven: EngineChain, builds: PayloadBuilds) -> None:
        self._chain = chain
        self._driven = driven
        self._builds = builds

    def of_paris(self, params: ForkchoiceParameters) -> Steps:
        """Make a block the head, and begin a payload of Paris on it if attributes are given."""
        return self._update(params, 1)

    def of_shanghai(self, params: ForkchoiceParameters) -> Steps:
        """Make a block the head, and begin a payload of Paris or Shanghai on it if attributes are given."""
        return self._update(params, 2)

    def of_cancun(self, params: ForkchoiceParameters) -> Steps:
        """Make a block the head, and begin a payload of Cancun to Osaka on it if attributes are given."""
        return self._update(params, 3)

    def of_amsterdam(self, params: AmsterdamParameters) -> Steps:
        """Make a block the head, and begin a payload since Amsterdam on it if attributes are given."""
        return self._update(params, 4)

    def _update(self, params: ForkchoiceParameters, version: int) -> Steps:
        # The call takes its place in the line before its first step that waits, so that calls run in the
        # order of their arrival.
        with self._driven.line.join() as place:
            return (yield Await(partial(self._choose, place, params, version)))

    async def _choose(self, place: LockTicket, params: ForkchoiceParameters, version: int) -> dict[str, Any]:
        await place.wait_turn()
        state = params.state
        if state.head == _NONE:
            raise invalid_forkchoice_state("the head's hash is zero")
        safe, finalized = (None if each == _NONE else each for each in (state.safe, state.finalized))
        try:
            status = await self._driven.choose(state.head, safe, finalized)
        except ForkchoiceError as error:
            raise invalid_forkchoice_state(str(error)) from None
        except StorageUnavailableError:
            raise not_stored() from None
        identity = None
        if params.attributes is not None and status.status == "VALID":
            identity = self._begin(state.head, params.attributes.value, version)
        return _reply(status, identity)

    def _begin(self, head: Hash32, attributes: PayloadAttributes, version: int) -> bytes | None:
        """Return the id of the payload that is being built, None if `head` is no longer the head.

        Raises:
            RpcError: The attributes are wrong; the head stays chosen.
        """
        with self._chain.snapshot() as view:
            if view.head.hash != head:
                return None
            self._check_version(attributes, era_of(view.spec, attributes.timestamp), version)
            row = view.header(view.number)
        assert row is not None, "the head is stored"
        if attributes.timestamp <= header_fields(row).timestamp:
            raise invalid_payload_attributes("the timestamp is not after the head's")
        return self._builds.begin(head, attributes, version)

    def _check_version(self, attributes: PayloadAttributes, era: PayloadFork, version: int) -> None:
        method = f"engine_forkchoiceUpdatedV{version}"
        is_strict = version >= 3
        wrong = invalid_payload_attributes if is_strict else _wrong_structure
        if attributes.version > version or (is_strict and attributes.version != version):
            raise wrong(f"{method} takes the members of PayloadAttributesV{version}")
        wanted = payload_version(era)
        if (wanted != version) if is_strict else (era >= PayloadFork.CANCUN):
            raise unsupported_fork(method)
        if attributes.version != wanted:
            raise wrong(f"attributes of that time have the members of PayloadAttributesV{wanted}")


def _wrong_structure(reason: str) -> RpcError:
    return invalid_params(f"invalid argument 1: {reason}")


def _reply(status: PayloadStatus, identity: bytes | None) -> dict[str, Any]:
    return {"payloadStatus": status, "payloadId": None if identity is None else hexadecimal(identity)}


def add_methods(registry: Registry, chain: Chain, driven: EngineChain, builds: PayloadBuilds) -> None:
    """Register this module's methods."""
    errors = (
        invalid_forkchoice_state("…"),
        invalid_payload_attributes("…"),
        unsupported_fork("engine_forkchoiceUpdatedVN"),
        not_stored(),
    )
    method = partial(registry.method, view=False, result=FORKCHOICE, errors=errors)
    updated = ForkchoiceMethods(chain, driven, builds)
    method("engine_forkchoiceUpdatedV1")(updated.of_paris)
    method("engine_forkchoiceUpdatedV2")(updated.of_shanghai)
    method("engine_forkchoiceUpdatedV3")(updated.of_cancun)
    method("engine_forkchoiceUpdatedV4")(updated.of_amsterdam)


def _decode_columns(value: Any) -> CustodyColumns:
    return CustodyColumns(decode_fixed(value, COLUMNS_BYTES, "custodyColumns"))


register_type(CustodyColumns, _decode_columns, ANY_BYTES)
