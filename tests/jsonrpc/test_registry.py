"""What is registered: one method a name, and all that is to be said of it at once."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from wsnode.jsonrpc.errors import RpcError, limit_exceeded, server_error
from wsnode.jsonrpc.parameters import ParameterDecoder, PositionalDecoder
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN, STRING


class Named(msgspec.Struct, array_like=True):
    contract: int


class Text:
    """Hands the parameters on as they were sent."""

    struct: type[msgspec.Struct] | None = Named
    decode: Callable[[bytes], Any] = bytes

    def explain(self, params: bytes) -> bytes:
        return params

    def read(self, params: bytes) -> Any:
        return PositionalDecoder(Named).read(params)


DECODERS: dict[str, ParameterDecoder] = {"text": Text(), "struct": PositionalDecoder(Named)}


def codes(errors: Sequence[RpcError]) -> list[int]:
    return [error.code for error in errors]


def test_a_name_is_registered_once() -> None:
    registry = Registry()
    registry.method("one", view=False)(lambda: 1)
    with pytest.raises(ValueError, match="one is registered twice"):
        registry.method("one", view=False)(lambda: 2)
    assert registry.methods["one"].function() == 1


def test_a_method_that_says_so_takes_the_place_of_another() -> None:
    registry = Registry()
    registry.method("one", view=False, result=STRING)(lambda: 1)
    registry.method("one", view=False, result=BOOLEAN, replacing=True)(lambda: 2)
    assert registry.methods["one"].function() == 2
    assert registry.methods["one"].result == BOOLEAN


def test_what_is_not_there_cannot_be_replaced() -> None:
    with pytest.raises(ValueError, match="one is not there"):
        Registry().method("one", view=False, replacing=True)(lambda: 1)


def test_a_component_has_one_schema() -> None:
    registry = Registry()
    registry.define({"One": STRING})
    registry.define({"One": STRING, "Two": BOOLEAN})
    with pytest.raises(ValueError, match="One is defined twice"):
        registry.define({"One": BOOLEAN})
    assert registry.components == {"One": STRING, "Two": BOOLEAN}


def test_errors_of_time_and_of_every_method_come_after_its_own() -> None:
    registry = Registry()
    registry.method("quick", view=False, errors=(server_error("no"),))(lambda: 1)
    registry.method("slow", view=False, deadline=1.0)(lambda: 1)
    registry.method("limited", view=False, deadline=1.0, timeout_error=limit_exceeded("late"))(lambda: 1)
    assert codes(registry.methods["quick"].errors) == [-32000, -32602, -32603]
    assert codes(registry.methods["slow"].errors) == [-32002, -32005, -32602, -32603]
    assert codes(registry.methods["limited"].errors) == [-32005, -32602, -32603]


def test_contracts_are_found_in_parameters_of_either_form() -> None:
    registry = Registry()
    for name, decoder in DECODERS.items():
        method = registry.method(name, decoder=decoder, contracts=lambda params: [params.contract])
        method(lambda _view, _params: 1)
        contracts = registry.methods[name].contracts
        assert contracts is not None
        assert contracts(registry.methods[name].parameters.decode(b"[7]")) == [7]
