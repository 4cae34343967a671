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
            {"wsnode_request_seconds": "time to the reply of a call; `outcome` is `result` or `error`"},
        ),
        *_histograms(
            "network method",
            {
                "wsnode_call_wait_seconds": "time that slow calls with a time limit of their own waited "
                "for turns "
                "and threads"
            },
        ),
        *_of(
            NODE,
            "network method",
            {
                "wsnode_calls_not_begun_total": "such calls that waited longer than "
                "[`call_wait_seconds`](limits.md#calls) and were refused"
            },
        ),
        *_of(
            NODE,
            "network method code",
            {"wsnode_errors_total": "calls that were answered with an error; -32603 is a fault of the node"},
        ),
        *_of(NODE, "network", {"wsnode_unknown_methods_total": "calls of methods that there are not"}),
        *_of(NODE, "network outcome", {"wsnode_forwarded_total": "calls that a partner was asked about"}),
        *_of(NODE, "network", {"wsnode_open_snapshots": "versions of a chain that are being read"}),
        *_of(
            NODE,
            "network",
            {
                "wsnode_store_damaged_total": "reads that met a damaged row of a store, each an error "
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
                "wsnode_accept_failures_total": "connections not accepted, or lost on their way to a "
                "worker, because "
                "no more files could be opened",
            },
        ),
        *_largest(
            "limit",
            {
                "wsnode_limit": "the bounds in force: `connections`, `all_subscriptions`, `output_bytes`, "
                "`input_bytes`, `calls`, `versions`"
            },
        ),
        *_of(
            NODE,
            "",
            {
                "wsnode_calls_in_flight": "slow calls that run",
                "wsnode_calls_queued": "calls that wait for a thread",
                "wsnode_outbox_bytes": "replies that wait to be read",
                "wsnode_unfinished_bytes": "messages that came in part",
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
                "wsnode_live_late_blocks_total": "blocks that came before such values were known: "
                "proved, in a light folder, or the outcomes of all calls of a subscription",
                "wsnode_live_runs_total": "runs of [live calls](subscriptions.md#outcomes-of-calls)",
                "wsnode_live_bytes": "bytes of live calls, of their outcomes and of what they read",
                "wsnode_live_each_block": "live calls that run after each block",
            },
        ),
        *_of(
            NODE,
            "",
            {
                "wsnode_notifications_total": "notifications sent",
                "wsnode_subscriptions_lagged_total": "how often a subscription had no room for a "
                "notification",
                "wsnode_fanout_queued_bytes": "events that were not handed to all subscribers yet",
            },
        ),
        *_of(NODE, "status", {"wsnode_http_errors_total": "HTTP answers that refused"}),
        *_of(
            NODE,
            "code",
            {"wsnode_websocket_closes_total": "WebSockets that ended, by the close code heard or said"},
        ),
        *_largest(
            "network family",
            {
                "wsnode_head_number": "number of the last block; `family` is `eth` or `alt`",
                "wsnode_head_timestamp_seconds": "when the last block was made",
            },
        ),
        *_largest("network", {"wsnode_disk_free_bytes": "room on the disk of the data folder"}),
        *_of(
            NODE,
            "network",
            {
                "wsnode_behind_waiting": "calls and connections that "
                "[wait for a block](serving.md#several-nodes-of-one-chain) which other nodes have",
                "wsnode_min_block_waits_total": "such waits",
                "wsnode_behind_missed_total": "such waits in vain: many say that the node is slower than "
                "the others",
                "wsnode_forked_history_total": "calls about blocks below the fork of a "
                "[forked chain](development.md#forks), which its node answered unverified",
            },
        ),
        *_largest("", {"process_open_fds": "open files", "process_max_fds": "files that may be open"}),
        *_of(
            NODE,
            "",
            {
                "process_cpu_seconds_total": "processor time",
                "process_resident_memory_bytes": "memory of the process",
                "process_virtual_memory_bytes": "its address space",
            },
        ),
        *_of(
            MASTER,
            "",
            {
                "wsnode_workers": "workers that serve",
                "wsnode_workers_ended_total": "workers that have ended, replaced ones and the process "
                "that follows "
                "among them",
                "wsnode_workers_silent": "processes that have "
                "[not reported for 3 s](workers.md#a-worker-that-hangs)",
                "wsnode_workers_hung_total": "processes that were ended after 30 s without a report",
                "wsnode_worker_metrics_dropped_total": "metrics and samples in reports of workers that "
                "are not "
                "shown: what no worker has, numbers that are none, long labels, or more than 8 MiB of "
                "samples",
                "process_start_time_seconds": "when the node was started; of a node with workers, its parent",
            },
        ),
        *_of(MASTER, "worker", {"wsnode_worker_connections": "open connections of each"}),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_lag_blocks": "blocks that the upstreams are ahead",
                "wsnode_sync_live": "1 while the head is the upstreams'",
                "wsnode_follow_stopped": "1 while following has stopped because what is final here was "
                "replaced there",
                "wsnode_storage_failing": "1 while blocks cannot be stored",
                "wsnode_follow_unknown_fork": "1 while the upstreams are past a fork that this version or "
                "the genesis "
                "does not know",
                "wsnode_reorganisations_total": "changes that took blocks off the chain",
                "wsnode_upstream_transactions_total": "pending transactions heard of",
                "wsnode_heard_dropped_total": "pending transactions that came too fast",
                "wsnode_upstreams_followed": "upstreams that are followed now",
                "wsnode_window_blocks": "blocks that a folder with a window has",
                "wsnode_beacon_proved_slot": "slot of the proved head, where it is proved",
                "wsnode_beacon_finalized_slot": "slot of the newest header that is proved to be final",
                "wsnode_beacon_clock_slot": "slot of this machine's clock",
                "wsnode_beacon_participation": "members of the sync committee that signed the proved head",
                "wsnode_beacon_verify_seconds": "time that the last update took to be verified",
                "wsnode_beacon_equivocations_total": "slots of which the committee has signed two blocks",
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
                "wsnode_beacon_url_followed": "1 while it is asked",
                "wsnode_beacon_url_slot": "the last slot that it proved",
                "wsnode_beacon_url_failures_total": "answers of it that could not be used",
            },
        ),
        *_of(
            SYNC,
            "network upstream",
            {
                "wsnode_upstream_followed": "1 while it is followed",
                "wsnode_upstream_quarantined": "1 while it is quarantined",
                "wsnode_upstream_head": "the last block that it announced",
                "wsnode_upstream_delay_seconds": "how late it announces",
                "wsnode_upstream_read_seconds": "what 19 of 20 answers take",
                "wsnode_upstream_reads_total": "answers",
                "wsnode_upstream_failures_total": "questions without an answer",
                "wsnode_proofs_total": "values that it was asked to prove",
                "wsnode_wrong_proofs_total": "rounds in which it proved wrongly",
            },
        ),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_starknet_lag_blocks": "blocks that the upstreams of a Starknet chain are ahead",
                "wsnode_starknet_sync_live": "1 while its head is the upstreams'",
                "wsnode_starknet_follow_stopped": "1 while their chain leaves it below what is final on L1",
                "wsnode_starknet_storage_failing": "1 while its blocks cannot be stored",
                "wsnode_starknet_reorganisations_total": "changes that took blocks off it",
                "wsnode_starknet_upstreams_followed": "its upstreams that are followed now",
                "wsnode_starknet_window_blocks": "blocks that its light folder has",
                "wsnode_starknet_proofs_total": "values of its state that upstreams have proved",
                "wsnode_starknet_wrong_proofs_total": "proofs of its state that were false",
            },
        ),
        *_of(
            SYNC,
            "network method outcome",
            {
                "wsnode_starknet_forwarded_total": "calls that its upstreams were asked to answer;"
                " `outcome` is `answered`, `refused` or `failed`",
            },
        ),
        *_of(
            SYNC,
            "network upstream",
            {
                "wsnode_starknet_upstream_followed": "1 while it is followed",
                "wsnode_starknet_upstream_quarantined": "1 while it is quarantined",
                "wsnode_starknet_upstream_head": "the last block that it announced",
                "wsnode_starknet_upstream_delay_seconds": "how late it announces",
                "wsnode_starknet_upstream_read_seconds": "what 19 of 20 answers take",
                "wsnode_starknet_upstream_reads_total": "answers",
                "wsnode_starknet_upstream_failures_total": "questions without an answer, or with a wrong one",
            },
        ),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_proof_rounds_total": "rounds in which proofs of state were fetched",
                "wsnode_carried_values_total": "values that access lists carried from an earlier block",
            },
        ),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_journal_lease": "1 while this process writes the [journal](cluster.md)",
                "wsnode_journal_epoch": "the epoch of its last lease",
                "wsnode_journal_sequence": "the number of the last record in its epoch",
                "wsnode_journal_records_total": "records published",
                "wsnode_journal_failures_total": "how often publishing stopped",
                "wsnode_journal_lag_blocks": "blocks that are not published yet",
                "wsnode_replica_live": "1 while a [replica](cluster.md#a-replica) is at the journal's head",
                "wsnode_replica_stopped": "1 once it has stopped for good",
                "wsnode_replica_unstored": "1 while blocks cannot be stored",
                "wsnode_replica_journal_reachable": "1 while the journal answers",
                "wsnode_replica_behind_seconds": "how long the oldest record that was read waits to be "
                "executed",
                "wsnode_replica_tip": "number of the journal's head",
                "wsnode_replica_lag_blocks": "blocks that are not executed yet",
                "wsnode_replica_writer": "1 while a process has the lease of the journal; absent while "
                "the journal "
                "cannot be asked",
                "wsnode_replica_records_total": "records executed",
                "wsnode_replica_refused_total": "records refused",
                "wsnode_replica_reorganisations_total": "changes that took blocks off the chain",
            },
        ),
        *_of(
            SYNC,
            "network result",
            {
                "wsnode_replica_sent_again_total": "pending transactions that were sent to "
                "[another process that writes](cluster.md#sending-transactions): `taken`, `refused`, or "
                "`failed` "
                "without an answer",
                "wsnode_shared_pool_total": "listed transactions by what this node's pool did: `taken`, "
                "`refused`, "
                "`dropped`; not at the writer",
            },
        ),
        *_of(
            SYNC,
            "network",
            {
                "wsnode_shared_pool_reachable": "1 while the journal answers; not at the writer",
                "wsnode_shared_pool_listed": "pending transactions that "
                "[all nodes of a journal](cluster.md#pending-transactions) are to have",
                "wsnode_shared_pool_lacking": "at the writer those of its pool beyond the bounds, and of "
                "impersonated "
                "senders; elsewhere the listed ones that the pool of this node does not have",
            },
        ),
        *_of(ENGINE, "network status", {"wsnode_payloads_total": "payloads by their status"}),
        *_of(
            ENGINE,
            "network",
            {
                "wsnode_replaced_blocks_total": "blocks that left the chain",
                "wsnode_engine_unstored": "1 while blocks cannot be stored",
                "wsnode_waiting_payloads": "payloads that wait for ancestors",
                "wsnode_blob_bytes": "bytes of blobs that are kept",
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
