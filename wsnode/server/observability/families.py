"""Metrics as values: the counts of one process, sums over several, and checks of others' reports."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from wsnode.jsonrpc.method import BUCKET_SECONDS
from wsnode.server.metric_definitions import METRICS, MetricDefinition, NodePart, definition_of

MAX_BYTES: Final = 8 << 20
"""Bytes of the samples of one process, or of a sum over several; each is one message to a worker."""
SAMPLE_BYTES: Final = 48
LABEL_BYTES: Final = 4
"""Estimated bytes of a label besides its texts; `SAMPLE_BYTES` is that of a sample."""
MAX_CHARACTERS: Final = 256
"""Maximum characters of a meaning and of a label's value."""
BUCKETS: Final = frozenset((*map(str, BUCKET_SECONDS), "+Inf"))
DECLARED: Final = {name: each for name, each in METRICS.items() if each.part is not NodePart.MASTER}
"""Metrics of one process by family name; those of the parent of several are not among them."""


Labels = tuple[tuple[str, str], ...]


class Family(msgspec.Struct, frozen=True):
    """Family of Prometheus: one metric, with a sample for each combination of labels."""

    name: str
    meaning: str
    kind: str
    """Prometheus' word: `counter`, `gauge` or `histogram`."""
    samples: Sequence["Sample"]


class Sample(msgspec.Struct, frozen=True):
    """One value of a metric, with its labels."""

    name: str
    labels: Mapping[str, str]
    value: float


def family_of(name: str, samples: Mapping[Labels, float]) -> Family:
    """Return a metric with a sample for each set of labels."""
    definition = definition_of(name)
    values = [Sample(definition.name, dict(labels), value) for labels, value in samples.items()]
    return Family(definition.family, definition.help, definition.kind, values)


def added(processes: Iterable[Iterable[Family]]) -> list[Family]:
    """Return the sums over several processes, sample by sample; for `is_max` metrics the largest values."""
    first = dict[str, Family]()
    sums = dict[str, dict[tuple[str, Labels], float]]()
    for families in processes:
        for family in families:
            first.setdefault(family.name, family)
            of_family = sums.setdefault(family.name, {})
            for sample in family.samples:
                place = sample.name, tuple(sample.labels.items())
                if family.name in METRICS and METRICS[family.name].is_max:
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
    """Return the metrics that keep counting after their process has ended: all but gauges."""
    return [family for family in families if family.kind != "gauge"]


class CheckedFamilies(msgspec.Struct, frozen=True):
    """Result of checking another process's metrics: the accepted families, and the number of families and
    samples that were dropped.
    """

    families: list[Family]
    dropped: int


def keep_declared(families: Iterable[Family]) -> CheckedFamilies:
    """Return the declared families with their declared samples.

    Prometheus rejects the whole page of a node if one name, label or value on it is malformed.
    """
    kept, dropped = list[Family](), 0
    for family in families:
        declared = DECLARED.get(family.name)
        if declared is None or family.kind != declared.kind or not _is_short(family.meaning):
            dropped += 1
            continue
        samples = [sample for sample in family.samples if _is_declared(sample, family.name, declared)]
        dropped += len(family.samples) - len(samples)
        kept.append(msgspec.structs.replace(family, samples=samples))
    return CheckedFamilies(kept, dropped)


def keep_first(families: Iterable[Family], most: int = MAX_BYTES) -> CheckedFamilies:
    """Return the families with as many of their first samples as fit into `most` bytes."""
    kept, dropped, room = list[Family](), 0, most
    for family in families:
        samples = list[Sample]()
        for sample in family.samples:
            room -= _bytes_of(sample)
            if room < 0:
                break
            samples.append(sample)
        dropped += len(family.samples) - len(samples)
        kept.append(msgspec.structs.replace(family, samples=samples))
    return CheckedFamilies(kept, dropped)


def _bytes_of(sample: Sample) -> int:
    labels = sum(LABEL_BYTES + len(name) + len(value.encode()) for name, value in sample.labels.items())
    return SAMPLE_BYTES + len(sample.name) + labels


def _is_declared(sample: Sample, family: str, declared: MetricDefinition) -> bool:
    if not sample.name.startswith(family):
        return False
    labels = tuple(sample.labels)
    match declared.kind, sample.name.removeprefix(family):
        case ("gauge", "") | ("counter", "_total") | ("histogram", "_count" | "_sum"):
            expected = declared.labels
        case "histogram", "_bucket":
            expected = (*declared.labels, "le")
        case _:
            return False
    is_number = math.isfinite(sample.value) and (sample.value >= 0 or declared.kind == "gauge")
    has_labels = labels == expected and all(map(_is_short, sample.labels.values()))
    return is_number and has_labels and sample.labels.get("le", "+Inf") in BUCKETS


def _is_short(text: str) -> bool:
    return len(text) <= MAX_CHARACTERS and text.isprintable()
