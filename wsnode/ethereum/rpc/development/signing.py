"""eth_sign, personal_sign, eth_signTypedData …: signatures by a development chain's accounts."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.transactions import sign_digest, sign_message
from wsnode.ethereum.codec.typed_data import TypedData, digest_of
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.development.schemas import SIGNATURE, TYPED_DATA
from wsnode.ethereum.rpc.form.parameters import Payload
from wsnode.ethereum.rpc.form.results import data
from wsnode.ethereum.state import address_of
from wsnode.jsonrpc.codec import UNREADABLE, register_type
from wsnode.jsonrpc.errors import RpcError, server_error
from wsnode.jsonrpc.registry import Registry


class TypedDataDigest(bytes):
    """Typed data (EIP-712): `types`, `primaryType`, `domain` and `message` in an object or in JSON text."""

    __slots__ = ()


class PlainTypedDataDigest(TypedDataDigest):
    """Typed data (EIP-712) without arrays, as before version 4 of the method."""

    __slots__ = ()


class SignParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, message]`."""

    address: Address
    message: Payload


class PersonalSignParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[message, address, password]`; the accounts have no passwords."""

    message: Payload
    address: Address
    password: str = ""


class TypedDataParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, typed data]`."""

    address: Address
    typed_data: TypedDataDigest


class PlainTypedDataParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[address, typed data]`."""

    address: Address
    typed_data: PlainTypedDataDigest


class Wallet:
    """The methods that sign, and the private keys by address."""

    def __init__(self, secrets: Sequence[bytes]) -> None:
        self._secrets = {Address(address_of(secret)): secret for secret in secrets}

    @property
    def addresses(self) -> list[Address]:
        """Return the addresses of the keys."""
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

    def sign(self, params: SignParameters) -> bytes:
        """Return the 65-byte signature of a message with the prefix `Ethereum Signed Message` (EIP-191)."""
        return data(sign_message(self.secret(params.address), params.message))

    def personal_sign(self, params: PersonalSignParameters) -> bytes:
        """Return the 65-byte signature of a prefixed message, as eth_sign does with its arguments swapped."""
        return data(sign_message(self.secret(params.address), params.message))

    def sign_typed_data(self, params: TypedDataParameters) -> bytes:
        """Return the 65-byte signature of typed structured data (EIP-712)."""
        return data(sign_digest(self.secret(params.address), params.typed_data))

    def sign_plain_typed_data(self, params: PlainTypedDataParameters) -> bytes:
        """Return the 65-byte signature of typed structured data (EIP-712) without arrays."""
        return data(sign_digest(self.secret(params.address), params.typed_data))


def unknown_account() -> RpcError:
    """Return the error for a sender whose key the node lacks."""
    return server_error("unknown account")


SIGNING_ERRORS: Final = (unknown_account(),)


def _decode_typed_data(value: Any) -> TypedDataDigest:
    return TypedDataDigest(_digest(_read_typed_data(value)))


def _decode_plain_typed_data(value: Any) -> PlainTypedDataDigest:
    told = _read_typed_data(value)
    for members in told.types.values():
        for member in members:
            if member.type.endswith("]"):
                raise ValueError(f'arrays as "{member.name}" are signed by eth_signTypedData_v4')
    return PlainTypedDataDigest(_digest(told))


def _read_typed_data(value: Any) -> TypedData:
    try:
        # Clients send it as a string, which holds a number of any size.
        return msgspec.convert(msgspec.json.decode(value) if isinstance(value, str) else value, TypedData)
    except UNREADABLE as error:
        raise ValueError(f"invalid typed data: {error}") from None


def _digest(told: TypedData) -> bytes:
    try:
        return digest_of(told)
    except UNREADABLE as error:
        raise ValueError(f"invalid typed data: {error}") from None


register_type(TypedDataDigest, _decode_typed_data, TYPED_DATA)
register_type(PlainTypedDataDigest, _decode_plain_typed_data, TYPED_DATA)


def add_methods(registry: Registry, wallet: Wallet) -> None:
    """Register this module's methods."""
    method = partial(registry.method, view=False, result=SIGNATURE, errors=SIGNING_ERRORS)
    method("eth_sign")(wallet.sign)
    method("personal_sign")(wallet.personal_sign)
    method("eth_signTypedData")(wallet.sign_typed_data)
    method("eth_signTypedData_v3")(wallet.sign_plain_typed_data)
    method("eth_signTypedData_v4")(wallet.sign_typed_data)
