"""Definitions of all metrics of a node, read by `/metrics`, sums over processes, docs and the dashboard."""

import re
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from typing import Final

import msgspec

_LINK: Final = re.compile(r"\[([^]]*)\]\([^)]*\)")


class NodePart(StrEnum):
    """Part of a node that has a metric; docs/reference/operating.md has a table for each."""

    NODE = "node"
    MASTER = "master"
    SYNC = "sync"
    ENGINE = "engine"


class MetricDefinition(msgspec.Struct, frozen=True):
    """Name and meaning of a metric, and the names of its labels, in order."""

    name: str
    """Name as Prometheus shows it; a counter's, and no other, ends with `_total`."""
    meaning: str
    """In Markdown."""
    labels: tuple[str, ...] = ()
    is_histogram: bool = False
    is_max: bool = False
    """True if the node's value is the largest of its processes' values, False if it is their sum."""
    part: NodePart = NodePart.NODE

    @property
    def kind(self) -> str:
        """Return Prometheus' word for the kind: `counter`, `gauge` or `histogram`."""
        if self.is_histogram:
            return "histogram"
        return "counter" if self.name.endswith("_total") else "gauge"

    @property
    def family(self) -> str:
        """Return the name without a counter's suffix, the form in which client libraries have it."""
        return self.name.removesuffix("_total")

    @property
    def help(self) -> str:
        """Return the meaning as plain text."""
        return _LINK.sub(r"\1", self.meaning).replace("`", "")


def _of(part: NodePart, labels: str, rows: Mapping[str, str]) -> Iterator[MetricDefinition]:
    for name, meaning in rows.items():
        yield MetricDefinition(name, meaning, tuple(labels.split()), part=part)


def _histograms(labels: str, rows: Mapping[str, str]) -> Iterator[MetricDefinition]:
    for each in _of(NodePart.NODE, labels, rows):
        yield msgspec.structs.replace(each, is_histogram=True)


def _largest(labels: str, rows: Mapping[str, str]) -> Iterator[MetricDefinition]:
    for each in _of(NodePart.NODE, labels, rows):
        yield msgspec.structs.replace(each, is_max=True)


def _by_family(definitions: Iterable[MetricDefinition]) -> dict[str, MetricDefinition]:
    return {each.family: each for each in definitions}


NODE, MASTER, SYNC, ENGINE = NodePart

METRICS: Final[Mapping[str, MetricDefinition]] = _by_family(
    [
        *_largest("", {"wsnode_ready": "1 while `/readyz` answers 200"}),
        *_histograms(
            "network method outcome",
            {"wsnode_request_seconds": "time from a call to its reply; `outcome` is `result` or `error`"},
        ),
        *_histograms(
            "network method",
            {
                "wsnode_call_wait_seconds": "time that slow calls with their own time limit waited for turns "
                "and threads"
            },
        ),
        *_of(
            NODE,
            "network method",
            {
                "wsnode_calls_not_begun_total": "slow calls that waited longer than "
                "[`call_wait_seconds`](limits.md#calls) and were refused"
            },
        ),
        *_of(
            NODE,
            "network method code",
            {"wsnode_errors_total": "calls that were answered with an error; -32603 is a fault of the node"},
        ),
        *_of(NODE, "network", {"wsnode_unknown_methods_total": "calls of unknown methods"}),
        *_of(NODE, "network outcome", {"wsnode_forwarded_total": "calls that were forwarded to a partner"}),
        *_of(NODE, "network", {"wsnode_open_snapshots": "versions of a chain that readers hold"}),
        *_of(
            NODE,
            "network",
            {
                "wsnode_store_damaged_total": "reads that found a damaged row of a store, each an error "
                "([storage.md](storage.md#damaged-rows))"
            },
        ),
        *_of(
            NODE,
            "",
            {
                "wsnode_connections": "open connections",
                "wsnode_websockets": "open connections that are WebSockets",
                "wsnode_accepted_total": "connections accepted",
                "wsnode_accept_failures_total": "connections that were not accepted, or lost on their way to "
                "a worker, because no more files could be opened",
            },
        ),
        *_largest(
            "limit",
            {
                "wsnode_limit": "limits in force: `connections`, `all_subscriptions`, `output_bytes`, "
                "`input_bytes`, `calls`, `versions`"
            },
        ),
        *_of(
            NODE,
            "",
            {
                "wsnode_calls_in_flight": "slow calls that are running",
                "wsnode_calls_queued": "calls that wait for a thread",
                "wsnode_outbox_bytes": "bytes of messages that clients have not read yet",
                "wsnode_unfinished_bytes": "bytes of messages that have arrived only in part",
                "wsnode_received_bytes_total": "bytes received over WebSocket",
                "wsnode_messages_total": "WebSocket messages received",
                "wsnode_http_requests_total": "HTTP requests",
            },
        ),
        *_of(NODE, "network kind", {"wsnode_subscriptions": "open subscriptions"}),
        *_of(
            NODE,
            "network",
            {
                "wsnode_live_calls": "accounts, slots and calls that "
                "[subscriptions to values](subscriptions.md#values-of-the-state) watch",
                "wsnode_live_late_blocks_total": "blocks that were skipped because watched values were not "
                "known in time: proved values in a light folder, or the outcomes of all calls of a "
                "subscription",
                "wsnode_live_runs_total": "runs of [live calls](subscriptions.md#outcomes-of-calls)",
                "wsnode_live_bytes": "bytes of live calls, of their outcomes and of the state that they read",
                "wsnode_live_each_block": "live calls that run after each block",
            },
        ),
        *_of(
            NODE,
            "",
            {
                "wsnode_notifications_total": "notifications sent",
                "wsnode_subscriptions_lagged_total": "times that a subscription had no room for a "
                "notification",
                "wsnode_fanout_queued_bytes": "bytes of events that have not been passed to all subscribers "
                "yet",
            },
        ),
        *_of(NODE, "status", {"wsnode_http_errors_total": "HTTP requests that were refused"}),
        *_of(
            NODE,
            "code",
            {"wsnode_websocket_closes_total": "WebSockets that ended, by the close code received or sent"},
        ),
        *_largest(
            "network family",
            {
                "wsnode_head_number": "number of the last block; `family` is `eth` or `alt`",
                "wsnode_head_timestamp_seconds": "timestamp of the last block",
            },
        ),
        *_largest("network", {"wsnode_disk_free_bytes": "free space on the disk of the data folder"}),
        *_of(
            NODE,
            "network",
            {
                "wsnode_behind_waiting": "calls and connections that "
                "[wait for a block](serving.md#several-nodes-of-one-chain) which other nodes have",
                "wsnode_min_block_waits_total": "calls and connections that have waited for such a block",
                "wsnode_behind_missed_total": "calls and connections that waited for such a block in vain; a "
                "high number means that the node is slower than the others",
                "wsnode_forked_history_total": "calls about blocks below the fork of a [forked "
                "chain](development.md#forks), which the forked node answered unverified",
            },
        ),
        *_largest("", {"process_open_fds": "open files", "process_max_fds": "maximum number of open files"}),
        *_of(
            NODE,
            "",
            {
                "process_cpu_seconds_total": "processor time",
                "process_resident_memory_bytes": "memory of the process",
                "process_virtual_memory_bytes": "address space of the process",
            },
        ),
        *_of(
            MASTER,
            "",
            {
                "wsnode_workers": "workers that serve",
                "wsnode_workers_ended_total": "workers that have ended, including replaced ones and the "
                "process that follows",
                "wsnode_workers_silent": "processes that have "
                "[not reported for 3 s](workers.md#a-worker-that-hangs)",
                "wsnode_workers_hung_total": "processes that were ended after 30 s without a report",
                "wsnode_worker_metrics_dropped_total": "metrics and samples of workers that were left out: "
                "unknown metrics, values that are no numbers, long labels, or more than 8 MiB of samples",
                "process_start_time_seconds": "time of the start of the node; of a node with workers, of its "
                "parent",
            },
        ),
        *_of(MASTER, "worker", {"wsnode_worker_connections": "open connections of each worker"}),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_lag_blocks": "blocks that the node is behind its upstreams",
                "wsnode_sync_live": "1 while the node is at the upstreams' head",
                "wsnode_follow_stopped": "1 while following has stopped because the upstreams replaced a "
                "block that is final here",
                "wsnode_storage_failing": "1 while blocks cannot be stored",
                "wsnode_follow_unknown_fork": "1 while the upstreams are past a fork that this version or "
                "the genesis "
                "does not know",
                "wsnode_reorganisations_total": "changes that removed blocks from the chain",
                "wsnode_upstream_transactions_total": "pending transactions that upstreams announced",
                "wsnode_heard_dropped_total": "announced pending transactions that were dropped because too "
                "many came",
                "wsnode_upstreams_followed": "upstreams that are being followed",
                "wsnode_window_blocks": "blocks in a folder with a window",
                "wsnode_beacon_proved_slot": "slot of the proved head",
                "wsnode_beacon_finalized_slot": "slot of the newest header that is proved to be final",
                "wsnode_beacon_clock_slot": "slot by this machine's clock",
                "wsnode_beacon_participation": "members of the sync committee that signed the proved head",
                "wsnode_beacon_verify_seconds": "time to verify the last update",
                "wsnode_beacon_equivocations_total": "slots for which the committee has signed two blocks",
            },
        ),
        *_of(
            SYNC,
            "network rule",
            {"wsnode_beacon_refused_total": "answers of beacon nodes that broke a rule"},
        ),
        *_of(
            SYNC,
            "network beacon",
            {
                "wsnode_beacon_url_followed": "1 while the beacon node is asked",
                "wsnode_beacon_url_slot": "last slot that the beacon node proved",
                "wsnode_beacon_url_failures_total": "answers of the beacon node that could not be used",
            },
        ),
        *_of(
            SYNC,
            "network upstream",
            {
                "wsnode_upstream_followed": "1 while the upstream is followed",
                "wsnode_upstream_quarantined": "1 while the upstream is quarantined",
                "wsnode_upstream_head": "last block that the upstream announced",
                "wsnode_upstream_delay_seconds": "delay of the upstream's announcements",
                "wsnode_upstream_read_seconds": "time that 19 of 20 answers of the upstream take at most",
                "wsnode_upstream_reads_total": "answers of the upstream",
                "wsnode_upstream_failures_total": "questions that the upstream did not answer",
                "wsnode_proofs_total": "values that the upstream was asked to prove",
                "wsnode_wrong_proofs_total": "rounds in which the upstream sent a wrong proof",
            },
        ),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_starknet_lag_blocks": "blocks that a Starknet chain is behind its upstreams",
                "wsnode_starknet_sync_live": "1 while the Starknet chain is at its upstreams' head",
                "wsnode_starknet_follow_stopped": "1 while the upstreams' chain leaves the Starknet chain "
                "below the block that is final on L1",
                "wsnode_starknet_storage_failing": "1 while blocks of the Starknet chain cannot be stored",
                "wsnode_starknet_reorganisations_total": "changes that removed blocks from the "
                "Starknet chain",
                "wsnode_starknet_upstreams_followed": "upstreams of the Starknet chain that are being "
                "followed",
                "wsnode_starknet_window_blocks": "blocks in the light folder of the Starknet chain",
                "wsnode_starknet_proofs_total": "values of the Starknet chain's state that upstreams have "
                "proved",
                "wsnode_starknet_wrong_proofs_total": "wrong proofs of the Starknet chain's state",
            },
        ),
        *_of(
            SYNC,
            "network method outcome",
            {
                "wsnode_starknet_forwarded_total": "calls that were forwarded to the Starknet chain's "
                "upstreams; `outcome` is `answered`, `refused` or `failed`",
            },
        ),
        *_of(
            SYNC,
            "network upstream",
            {
                "wsnode_starknet_upstream_followed": "1 while the upstream is followed",
                "wsnode_starknet_upstream_quarantined": "1 while the upstream is quarantined",
                "wsnode_starknet_upstream_head": "last block that the upstream announced",
                "wsnode_starknet_upstream_delay_seconds": "delay of the upstream's announcements",
                "wsnode_starknet_upstream_read_seconds": "time that 19 of 20 answers of the upstream take at "
                "most",
                "wsnode_starknet_upstream_reads_total": "answers of the upstream",
                "wsnode_starknet_upstream_failures_total": "questions that the upstream did not answer, or "
                "answered wrongly",
            },
        ),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_proof_rounds_total": "rounds in which proofs of state were fetched",
                "wsnode_carried_values_total": "values that access lists carried over from an earlier block",
            },
        ),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_journal_lease": "1 while this process writes the [journal](cluster.md)",
                "wsnode_journal_epoch": "epoch of this process's last lease",
                "wsnode_journal_sequence": "number of the last record in this epoch",
                "wsnode_journal_records_total": "records that were published",
                "wsnode_journal_failures_total": "times that publishing stopped",
                "wsnode_journal_lag_blocks": "blocks that are not published yet",
                "wsnode_replica_live": "1 while a [replica](cluster.md#a-replica) is at the journal's head",
                "wsnode_replica_stopped": "1 once the replica has stopped for good",
                "wsnode_replica_unstored": "1 while the replica cannot store blocks",
                "wsnode_replica_journal_reachable": "1 while the journal answers",
                "wsnode_replica_behind_seconds": "time that the oldest received record has waited to be "
                "executed",
                "wsnode_replica_tip": "number of the journal's head",
                "wsnode_replica_lag_blocks": "blocks of the journal that are not executed yet",
                "wsnode_replica_writer": "1 while a process has the lease of the journal; absent while the "
                "journal does not answer",
                "wsnode_replica_records_total": "records that were executed",
                "wsnode_replica_refused_total": "records that were refused",
                "wsnode_replica_reorganisations_total": "changes that removed blocks from the "
                "replica's chain",
            },
        ),
        *_of(
            SYNC,
            "network result",
            {
                "wsnode_replica_sent_again_total": "pending transactions that were sent again to [the next "
                "writer](cluster.md#sending-transactions): `taken`, `refused`, or `failed` without an "
                "answer",
                "wsnode_shared_pool_total": "transactions that the writer lists, by the action of this "
                "node's pool: `taken`, `refused`, `dropped`; not at the writer",
            },
        ),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_shared_pool_reachable": "1 while the journal answers; not at the writer",
                "wsnode_shared_pool_listed": "transactions that the writer lists as pending for [all nodes "
                "of a journal](cluster.md#pending-transactions)",
                "wsnode_shared_pool_lacking": "at the writer: transactions that it does not list, beyond the "
                "limits or of impersonated senders; elsewhere: listed transactions that this node's pool "
                "does not have",
            },
        ),
        *_of(ENGINE, "network status", {"wsnode_payloads_total": "payloads by their status"}),
        *_of(
            ENGINE,
            "network",
            {
                "wsnode_replaced_blocks_total": "blocks that left the chain",
                "wsnode_engine_unstored": "1 while blocks of the consensus client cannot be stored",
                "wsnode_waiting_payloads": "payloads that wait for ancestors",
                "wsnode_blob_bytes": "bytes of the kept blobs",
            },
        ),
    ]
)
"""All metrics by the names of their families."""


def definition_of(name: str) -> MetricDefinition:
    """Return the definition of a metric, by the name that Prometheus shows.

    Raises:
        KeyError: No metric has this name.
    """
    return METRICS[name.removesuffix("_total")]
