"""The run of a case against a node, and the identification of its exchanges."""

import json
from collections.abc import Callable, Iterator

from wsnode.verify.cases import Case
from wsnode.verify.comparison import reply_difference

Transport = Callable[[str], str | None]
"""Sends one request and returns its reply, None if there is none."""


def split(case: Case) -> Iterator[Case]:
    """Yield a case for each exchange, named after its arguments."""
    for exchange in case.exchanges:
        request = json.loads(exchange.request)
        params = json.dumps(request["params"], separators=(",", ":"))
        yield Case(f"{request['method']}({params[:90]})#{request['id']}", [exchange], case.shape_only)


def disagreement(case: Case, transport: Transport) -> str | None:
    """Return the first difference from what `case` expects, error messages included."""
    for exchange in case.exchanges:
        reply = transport(exchange.request)
        found = reply_difference(exchange.request, reply, exchange.reply, shape_only=case.shape_only)
        if found:
            return found
    return None
