"""Stored form of a block's transactions and receipts: JSON with the members and their order of results."""

from typing import Any, Final, TypeAlias

import msgspec

from wsnode.starknet.felt import felt_bytes, felt_text
from wsnode.starknet.native import StarknetBlockProof
from wsnode.untrusted.decoding import JsonDecoder

Members: TypeAlias = dict[str, Any]

_ACCOUNT: Final = ("version", "signature", "nonce")
_FEES: Final = (
    "resource_bounds",
    "tip",
    "paymaster_data",
    "nonce_data_availability_mode",
    "fee_data_availability_mode",
)
_DEPLOYED: Final = ("contract_address_salt", "constructor_calldata", "class_hash")
_CALL: Final = ("contract_address", "entry_point_selector", "calldata")
TRANSACTION_MEMBERS: Final[dict[tuple[str, int], tuple[str, ...]]] = {
    ("INVOKE", 0): ("version", "max_fee", "signature", *_CALL),
    ("INVOKE", 1): (*_ACCOUNT, "max_fee", "sender_address", "calldata"),
    ("INVOKE", 3): (*_ACCOUNT, *_FEES, "account_deployment_data", "sender_address", "calldata"),
    ("DECLARE", 0): ("version", "max_fee", "signature", "sender_address", "class_hash"),
    ("DECLARE", 1): (*_ACCOUNT, "max_fee", "sender_address", "class_hash"),
    ("DECLARE", 2): (*_ACCOUNT, "max_fee", "sender_address", "class_hash", "compiled_class_hash"),
    ("DECLARE", 3): (
        *_ACCOUNT,
        *_FEES,
        "account_deployment_data",
        "sender_address",
        "class_hash",
        "compiled_class_hash",
    ),
    ("DEPLOY", 0): ("version", *_DEPLOYED),
    ("DEPLOY", 1): ("version", *_DEPLOYED),
    ("DEPLOY_ACCOUNT", 1): (*_ACCOUNT, "max_fee", *_DEPLOYED),
    ("DEPLOY_ACCOUNT", 3): (*_ACCOUNT, *_FEES, *_DEPLOYED),
    ("L1_HANDLER", 0): ("version", "nonce", *_CALL),
}
"""Members of starknet-specs' transactions by kind and version; each has `type` besides."""
DERIVED: Final = {
    "DEPLOY": "contract_address",
    "DEPLOY_ACCOUNT": "contract_address",
    "L1_HANDLER": "message_hash",
}
"""Additional member of receipts by the kind of their transaction."""
WITH_PROOF_FACTS: Final = ("INVOKE", 3)
_BOUNDS: Final = ("l1_gas", "l2_gas", "l1_data_gas")
_NO_BOUND: Final = {"max_amount": "0x0", "max_price_per_unit": "0x0"}
ACCEPTED_ON_L1: Final = "ACCEPTED_ON_L1"
ACCEPTED_ON_L2: Final = "ACCEPTED_ON_L2"


class StoredBody(msgspec.Struct, frozen=True):
    """Body of a block, or part of one: transactions, their hashes and their receipts, in order, as JSON."""

    status: str
    """Status of the block and finality of its transactions, as the source sent it; not verified."""
    hashes: list[str]
    transactions: list[msgspec.Raw]
    receipts: list[msgspec.Raw]
    proof_facts: list[list[str] | None]
    """Proof facts of each transaction, None for kinds without them; results have them only on request."""


# The engine also reads an object from a list, and a word from an object. A proved block may therefore have
# another form than these types.
class _Fee(msgspec.Struct, frozen=True):
    amount: str
    unit: str


class _Message(msgspec.Struct, frozen=True):
    from_address: str
    to_address: str
    payload: list[str]


class _Event(msgspec.Struct, frozen=True):
    from_address: str
    keys: list[str]
    data: list[str]


class _GasUsed(msgspec.Struct, frozen=True):
    l1_gas: int
    l1_data_gas: int
    l2_gas: int = 0


class _Receipt(msgspec.Struct, frozen=True):
    transaction_hash: str
    actual_fee: _Fee
    messages_sent: list[_Message]
    events: list[_Event]
    execution_resources: _GasUsed
    execution_status: str
    revert_reason: str | None = None


class _Pair(msgspec.Struct, frozen=True):
    transaction: Members
    receipt: _Receipt


class _Source(msgspec.Struct, frozen=True):
    transactions: list[_Pair]
    status: str = ACCEPTED_ON_L2


class StoredEvent(msgspec.Struct, frozen=True):
    """Event of a stored receipt, with its felts in canonical form."""

    from_address: str
    keys: list[str]
    data: msgspec.Raw


class _EventList(msgspec.Struct, frozen=True):
    events: list[StoredEvent]


class _Outcome(msgspec.Struct, frozen=True):
    """Outcome of a transaction in its receipt: the execution status, and the reason if it was reverted, else
    None.
    """

    execution_status: str
    revert_reason: str | None = None


_decode_event_list = JsonDecoder(_EventList).decode
_decode_outcome = JsonDecoder(_Outcome).decode
_decode_source = JsonDecoder(_Source).decode
decode_body = JsonDecoder(StoredBody).decode
"""Return a body out of its stored text."""


def stored_body(block: bytes, proof: StarknetBlockProof, status: str | None = None) -> bytes:
    """Return the JSON to store for `block`, the JSON of a node that `proof` proves.

    `status` takes the place of the block's own.

    Raises:
        ValueError: A transaction is of an unknown kind or version, or a member is missing or malformed.
    """
    source = _decode_source(block)
    status = status or (ACCEPTED_ON_L1 if source.status == ACCEPTED_ON_L1 else ACCEPTED_ON_L2)
    forms = [form_of(pair.transaction) for pair in source.transactions]
    paired = list(zip(source.transactions, forms, proof.derived, strict=True))
    return msgspec.json.encode(
        {
            "status": status,
            "hashes": [felt_text(transaction_hash) for transaction_hash in proof.transaction_hashes],
            "transactions": [transaction_members(pair.transaction, form) for pair, form, _ in paired],
            "receipts": [_receipt(pair.receipt, form[0], derived, status) for pair, form, derived in paired],
            "proof_facts": [
                canonical(pair.transaction.get("proof_facts") or []) if form == WITH_PROOF_FACTS else None
                for pair, form, _ in paired
            ],
        }
    )


def accepted_on_l1(text: bytes) -> bytes:
    """Return the stored text of a body with the status of a block that L1 has accepted."""
    # A quotation mark inside a JSON string is escaped, so these patterns match only members.
    for member in (b'"status":"%b"', b'"finality_status":"%b"'):
        text = text.replace(member % ACCEPTED_ON_L2.encode(), member % ACCEPTED_ON_L1.encode())
    return text


def events_of(receipt: msgspec.Raw) -> list[StoredEvent]:
    """Return the events of a stored receipt, in order."""
    return _decode_event_list(receipt).events


def flagged_transaction(body: StoredBody, index: int, *, with_proof_facts: bool = False) -> bytes:
    """Return the JSON of a transaction without its hash; with proof facts on request, if it may have some."""
    transaction, facts = bytes(body.transactions[index]), body.proof_facts[index]
    if not with_proof_facts or facts is None:
        return transaction
    return b'%b,"proof_facts":%b}' % (transaction[:-1], msgspec.json.encode(facts))


def hashed_transaction(body: StoredBody, index: int, *, with_proof_facts: bool = False) -> bytes:
    """Return the JSON of a transaction with its hash."""
    transaction = flagged_transaction(body, index, with_proof_facts=with_proof_facts)
    return b'%b,"transaction_hash":"%b"}' % (transaction[:-1], body.hashes[index].encode())


def placed_receipt(body: StoredBody, index: int, block_hash: bytes | None, number: int) -> bytes:
    """Return the JSON of a receipt with hash and number of its block; a pre-confirmed block has no hash."""
    named = b"" if block_hash is None else b',"block_hash":"%b"' % felt_text(block_hash).encode()
    return b'%b%b,"block_number":%d}' % (bytes(body.receipts[index])[:-1], named, number)


def transaction_status(body: StoredBody, index: int) -> dict[str, Any]:
    """Return the finality and the execution status of a transaction; with the reason if it was reverted."""
    outcome = _decode_outcome(body.receipts[index])
    status = {"finality_status": body.status, "execution_status": outcome.execution_status}
    return status if outcome.revert_reason is None else status | {"failure_reason": outcome.revert_reason}


def form_of(transaction: Members) -> tuple[str, int]:
    """Return kind and version of a transaction.

    The version is the low byte of its felt, so a query version (2^128 + n) counts as n.

    Raises:
        ValueError: There is no such kind, or no such version of it.
    """
    form = (str(transaction.get("type")), felt_bytes(str(transaction.get("version")))[-1])
    if form not in TRANSACTION_MEMBERS:
        raise ValueError(f"a transaction of kind {form[0]:.40} has no version {form[1]}")
    return form


def canonical(value: Any) -> Any:
    """Return a value with its felts in canonical form; words and counts stay."""
    if isinstance(value, str):
        return felt_text(felt_bytes(value)) if value[:2] in ("0x", "0X") else value
    if isinstance(value, list):
        return [canonical(item) for item in value]
    if isinstance(value, dict):
        return {name: canonical(inner) for name, inner in value.items()}
    return value


def transaction_members(source: Members, form: tuple[str, int]) -> Members:
    """Return the members of a transaction in the form of results; others of the source are left out.

    Raises:
        ValueError: A member is missing or malformed.
    """
    members = dict(source)
    if form == ("INVOKE", 0) and "contract_address" not in members:
        members["contract_address"] = members.get("sender_address")
    elif form[0] in ("INVOKE", "DECLARE") and "sender_address" not in members:
        members["sender_address"] = members.get("contract_address")
    if form == ("L1_HANDLER", 0):
        # The first L1 handler transactions have no nonce, and hash as if it were zero.
        members.setdefault("nonce", "0x0")
    if "resource_bounds" in members:
        members["resource_bounds"] = _bounds(members["resource_bounds"])
    return {"type": form[0]} | {
        name: canonical(_required(members, name)) for name in TRANSACTION_MEMBERS[form]
    }


def _bounds(source: Any) -> Members:
    """Return the bounds of all three resources; a bound that the source lacks is zero."""
    if not isinstance(source, dict):
        raise ValueError("resource_bounds is not an object")  # noqa: TRY004 - as all that is malformed
    bounds = {name: source.get(name, _NO_BOUND) for name in _BOUNDS}
    for name, bound in bounds.items():
        if not isinstance(bound, dict) or not all(isinstance(bound.get(member), str) for member in _NO_BOUND):
            raise ValueError(f"the bound of {name} is an object of two numbers")
    return {name: {member: bound[member] for member in _NO_BOUND} for name, bound in bounds.items()}


def _receipt(source: _Receipt, kind: str, derived: str | None, status: str) -> Members:
    receipt: Members = {
        "type": kind,
        "transaction_hash": canonical(source.transaction_hash),
        "actual_fee": canonical(msgspec.structs.asdict(source.actual_fee)),
        "finality_status": status,
        "messages_sent": [canonical(msgspec.structs.asdict(message)) for message in source.messages_sent],
        "events": [canonical(msgspec.structs.asdict(event)) for event in source.events],
        "execution_resources": source.execution_resources,
        "execution_status": source.execution_status,
    }
    if source.execution_status == "REVERTED":
        receipt["revert_reason"] = source.revert_reason or ""
    if (member := DERIVED.get(kind)) is not None:
        receipt[member] = derived
    return receipt


def _required(members: Members, name: str) -> Any:
    if (value := members.get(name)) is None:
        raise ValueError(f"a transaction lacks {name}")
    if isinstance(value, dict) and name != "resource_bounds":
        raise ValueError(f"{name} is an object")
    return value
