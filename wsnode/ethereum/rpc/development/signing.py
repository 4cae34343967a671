"""eth_sign, personal_sign, eth_signTypedData …: signatures by a development chain's accounts."""

from collections.abc import Generator, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.transactions import sign_digest, sign_message
from wsnode.ethereum.codec.typed_data import MAX_MEMBERS, MAX_TYPES, TypedData, digest_of
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.common.parameters import Data
from wsnode.ethereum.rpc.common.results import data
from wsnode.ethereum.rpc.development.mining import Steps
from wsnode.ethereum.rpc.development.schemas import SIGNATURE, TYPED_DATA
from wsnode.ethereum.state import address_of
from wsnode.jsonrpc.codec import UNREADABLE, register_type
from wsnode.jsonrpc.errors import RpcError, invalid_params, server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.requests import count_values
from wsnode.jsonrpc.session_limits import check_count
from wsnode.jsonrpc.work import JsonText, RunInThread, Step

MAX_VALUES: Final = 20_000
"""JSON values in typed data, names among them: 10 us each."""
QUICK_VALUES: Final = 200
"""Maximum number of values of typed data that is hashed on the main thread."""


class TypedDataObject:
    """Typed data (EIP-712): `types`, `primaryType`, `domain` and `message` in an object or in JSON text."""

    __slots__ = ("content", "values")

    def __init__(self, content: TypedData, values: int) -> None:
        self.content = content
        self.values = values
        """Number of JSON values that it was made of."""


class TypedDataV3Object(TypedDataObject):
    """Typed data (EIP-712) without arrays, as before version 4 of the method."""

    __slots__ = ()


class SignParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, message]`."""

    address: Address
    message: Data


class PersonalSignParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[message, address, password]`; the accounts have no passwords."""

    message: Data
    address: Address
    password: str = ""


class TypedDataParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, typed data]`."""

    address: Address
    typed_data: TypedDataObject


class TypedDataV3Parameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, typed data]`."""

    address: Address
    typed_data: TypedDataV3Object


class SigningMethods:
    """Handlers that sign with the private keys of a development chain's accounts."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._secrets = {Address(address_of(secret)): secret for secret in secrets}

    @property
    def addresses(self) -> list[Address]:
        return list(self._secrets)

    def secret(self, address: Address) -> bytes:
        """Return the key of an account.

        Raises:
            RpcError: There is none.
        """
        try:
            return self._secrets[address]
        except KeyError:
            raise unknown_account() from None

    def __contains__(self, address: object) -> bool:
        return address in self._secrets

    def sign(self, params: SignParameters) -> JsonText:
        """Return the 65-byte signature of a message with the prefix `Ethereum Signed Message` (EIP-191)."""
        return data(sign_message(self.secret(params.address), params.message))

    def personal_sign(self, params: PersonalSignParameters) -> JsonText:
        """Return the 65-byte signature of a prefixed message, as eth_sign does with its arguments swapped."""
        return data(sign_message(self.secret(params.address), params.message))

    def sign_typed_data(self, params: TypedDataParameters) -> Steps:
        """Return the 65-byte signature of typed structured data (EIP-712)."""
        digest = yield from _digest(params.typed_data)
        return data(sign_digest(self.secret(params.address), digest))

    def sign_plain_typed_data(self, params: TypedDataV3Parameters) -> Steps:
        """Return the 65-byte signature of typed structured data (EIP-712) without arrays."""
        digest = yield from _digest(params.typed_data)
        return data(sign_digest(self.secret(params.address), digest))


def unknown_account() -> RpcError:
    """Return the error for a sender whose key the node lacks."""
    return server_error("unknown account")


SIGNING_ERRORS: Final = (unknown_account(),)


def _decode_typed_data(value: Any) -> TypedDataObject:
    return TypedDataObject(*_read_typed_data(value))


def _decode_plain_typed_data(value: Any) -> TypedDataV3Object:
    content, values = _read_typed_data(value)
    for members in content.types.values():
        for member in members:
            if member.type.endswith("]"):
                raise ValueError(f'arrays as "{member.name}" are signed by eth_signTypedData_v4')
    return TypedDataV3Object(content, values)


def _read_typed_data(value: Any) -> tuple[TypedData, int]:
    """Return the decoded typed data, and the number of JSON values in it.

    Clients may send typed data as a string of JSON, in which integers of any size survive.

    Raises:
        ValueError: It is malformed, or has too many values.
    """
    try:
        text = value.encode() if isinstance(value, str) else msgspec.json.encode(value)
        values = count_values(text)
        check_count(values, MAX_VALUES, "values in typed data")
        _check_lists(decoded := msgspec.json.decode(text) if isinstance(value, str) else value)
        return msgspec.convert(decoded, TypedData), values
    except UNREADABLE as error:
        raise ValueError(f"invalid typed data: {error}") from None


def _check_lists(value: Any) -> None:
    types = value.get("types") if type(value) is dict else None
    if type(types) is dict:
        check_count(len(types), MAX_TYPES, "types")
        check_count(
            max((len(each) for each in types.values() if type(each) is list), default=0),
            MAX_MEMBERS,
            "members of a type",
        )


def _digest(given: TypedDataObject) -> Generator[Step, Any, bytes]:
    """Return the hash that is signed, in a worker thread if the data is long.

    Raises:
        RpcError: The data is unsound.
    """
    try:
        if given.values <= QUICK_VALUES:
            return digest_of(given.content)
        digest: bytes = yield RunInThread(lambda _cancel: digest_of(given.content))
    except (ValueError, *UNREADABLE) as error:
        raise invalid_params(f"invalid argument 1: {error}") from None
    return digest


register_type(TypedDataObject, _decode_typed_data, TYPED_DATA)
register_type(TypedDataV3Object, _decode_plain_typed_data, TYPED_DATA)


def add_methods(registry: Registry, wallet: SigningMethods) -> None:
    """Register this module's methods."""
    method = partial(registry.method, view=False, result=SIGNATURE, errors=SIGNING_ERRORS)
    method("eth_sign")(wallet.sign)
    method("personal_sign")(wallet.personal_sign)
    method("eth_signTypedData")(wallet.sign_typed_data)
    method("eth_signTypedData_v3")(wallet.sign_plain_typed_data)
    method("eth_signTypedData_v4")(wallet.sign_typed_data)
