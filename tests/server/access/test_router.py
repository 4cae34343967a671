"""Paths that end in the version of a specification."""

from typing import Any

import pytest

from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.registry import Registry
from wsnode.server.access.api_keys import ApiKey, KeyLimits
from wsnode.server.access.request_errors import HttpRequestRefusedError
from wsnode.server.access.router import Router


class Keys:
    """One key."""

    def __init__(self) -> None:
        self.known = ApiKey("bot", KeyLimits(), lambda: 0.0)

    def lookup(self, key: str) -> ApiKey | None:
        return self.known if key == "secret" else None


def router_of(*, with_keys: bool) -> Router:
    keys: dict[str, Any] = {"one": Keys()} if with_keys else {}
    dispatcher = Dispatcher(Registry(), lambda _caller: None)  # type: ignore[arg-type,return-value]
    return Router({"one": dispatcher}, {}, keys, rpc_versions={"one": ("v0_9", "v0_10")})


@pytest.mark.parametrize(
    ("path", "socket", "version"),
    [
        ("/v3/secret", False, None),
        ("/v3/secret/rpc/v0_9", False, "v0_9"),
        ("/ws/v3/secret/rpc/v0_10", True, "v0_10"),
        ("/v3/secret/rpc/v0_9?a=1", False, "v0_9"),
    ],
)
@pytest.mark.parametrize("with_keys", [True, False])
def test_a_keyed_path_may_name_a_version(
    path: str, socket: bool, version: str | None, with_keys: bool
) -> None:
    caller = router_of(with_keys=with_keys).resolve("host", path, socket=socket).caller
    assert (caller.rpc_version, caller.open_path) == (version, False)


@pytest.mark.parametrize(("path", "version"), [("/", None), ("/rpc/v0_9", "v0_9"), ("/rpc/v0_10", "v0_10")])
@pytest.mark.parametrize("socket", [True, False])
def test_the_bare_path_of_an_open_node_may_name_one_too(path: str, version: str | None, socket: bool) -> None:
    caller = router_of(with_keys=False).resolve("host", path, socket=socket).caller
    assert (caller.rpc_version, caller.open_path) == (version, True)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v3/secret/rpc/v0_8", 404),
        ("/v3/secret/rpc/", 404),
        ("/v3/secret/rpc", 404),
        ("/rpc/v0_9", 404),
        ("/v3/rpc/v0_9", 401),
        ("/v3/other/rpc/v0_9", 401),
    ],
)
def test_other_versions_and_keys_are_refused(path: str, status: int) -> None:
    with pytest.raises(HttpRequestRefusedError) as refused:
        router_of(with_keys=True).resolve("host", path, socket=False)
    assert refused.value.status == status
