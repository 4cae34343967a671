"""Metrics as values: what one process has counted, and the sum over several."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

LARGEST = {
    "wsnode_ready",
    "wsnode_limit",
    "wsnode_head_number",
    "wsnode_head_timestamp_seconds",
    "wsnode_disk_free_bytes",
    "process_open_fds",
    "process_max_fds",
}
"""Gauges of which the largest is that of several processes; other numbers are added up."""

Labels = tuple[tuple[str, str], ...]


class Family(msgspec.Struct, frozen=True):
    """The samples of one metric."""

    name: str
    meaning: str
    kind: str
    """In Prometheus' words: `counter`, `gauge` or `histogram`."""
    samples: Sequence["Sample"]


class Sample(msgspec.Struct, frozen=True):
    """One number of a metric."""

    name: str
    labels: Mapping[str, str]
    value: float


def gauge(name: str, meaning: str, samples: Mapping[Labels, float]) -> Family:
    """Return a gauge with a sample for each set of labels."""
    return Family(
        name, meaning, "gauge", [Sample(name, dict(labels), each) for labels, each in samples.items()]
    )


def counter(name: str, meaning: str, value: float) -> Family:
    """Return a counter without labels."""
    return Family(name, meaning, "counter", [Sample(f"{name}_total", {}, value)])


def added(processes: Iterable[Iterable[Family]]) -> list[Family]:
    """Return the sum over several processes, sample by sample, or the largest number where it is that."""
    first = dict[str, Family]()
    sums = dict[str, dict[tuple[str, Labels], float]]()
    for families in processes:
        for family in families:
            first.setdefault(family.name, family)
            of_family = sums.setdefault(family.name, {})
            for sample in family.samples:
                place = sample.name, tuple(sample.labels.items())
                if family.name in LARGEST:
                    of_family[place] = max(of_family.get(place, 0.0), sample.value)
                else:
                    of_family[place] = of_family.get(place, 0.0) + sample.value
    return [
        msgspec.structs.replace(
            family,
            samples=[Sample(sample, dict(labels), value) for (sample, labels), value in sums[name].items()],
        )
        for name, family in first.items()
    ]


def lasting(families: Iterable[Family]) -> list[Family]:
    """Return what stays when a process has ended: what it has counted, not what it had."""
    return [family for family in families if family.kind != "gauge"]
