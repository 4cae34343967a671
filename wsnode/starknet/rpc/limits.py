"""The bounds of the Starknet family's methods, as `rpc_limits` shows them; no setting changes them."""

from typing import Final

from wsnode.starknet.events.search import MAX_BLOCKS, MAX_BYTES
from wsnode.starknet.followed.sent import MAX_SENT_BYTES, SENT_SECONDS
from wsnode.starknet.followed.state import (
    FORWARDED_SECONDS,
    MAX_FORWARDED,
    MAX_FORWARDED_BYTES,
    MAX_PROVING,
)
from wsnode.starknet.proofs.prover import MAX_VALUES, PROVED_BLOCKS
from wsnode.starknet.rpc.events import MAX_EVENTS
from wsnode.starknet.rpc.forwarded.params import MAX_FORWARDED_FELTS, MAX_FORWARDED_TRANSACTIONS
from wsnode.starknet.rpc.params import MAX_ADDRESSES, MAX_CONTRACTS, MAX_PROVED_KEYS
from wsnode.starknet.rpc.subscription_params import MAX_SENDERS
from wsnode.starknet.rpc.subscriptions import (
    MAX_BLOCKS_BACK,
    MAX_PARAMETERS,
    MAX_PARAMETERS_A_CONNECTION,
)
from wsnode.starknet.storage.event_bloom import MAX_KEYS

STARKNET_LIMITS: Final = {
    "starknet_events": MAX_EVENTS,
    "starknet_events_blocks": MAX_BLOCKS,
    "starknet_events_bytes": MAX_BYTES,
    "starknet_events_addresses": MAX_ADDRESSES,
    "starknet_events_keys": MAX_KEYS,
    "starknet_state_update_contracts": MAX_CONTRACTS,
    "starknet_proof_keys": MAX_PROVED_KEYS,
    "starknet_proof_blocks": PROVED_BLOCKS,
    "starknet_proof_values": MAX_VALUES,
    "starknet_forwarded_calls": MAX_FORWARDED,
    "starknet_forwarded_bytes": MAX_FORWARDED_BYTES,
    "starknet_forwarded_seconds": FORWARDED_SECONDS,
    "starknet_forwarded_transactions": MAX_FORWARDED_TRANSACTIONS,
    "starknet_forwarded_felts": MAX_FORWARDED_FELTS,
    "starknet_sent_seconds": SENT_SECONDS,
    "starknet_sent_bytes": MAX_SENT_BYTES,
    "starknet_proving": MAX_PROVING,
    "starknet_subscription_blocks_back": MAX_BLOCKS_BACK,
    "starknet_subscription_senders": MAX_SENDERS,
    "starknet_subscriptions_parameters": MAX_PARAMETERS,
    "starknet_subscriptions_parameters_per_connection": MAX_PARAMETERS_A_CONNECTION,
}
