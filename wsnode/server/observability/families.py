"""Metrics as values: the counts of one process, and sums over several."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from wsnode.server.metric_definitions import METRICS, definition_of

Labels = tuple[tuple[str, str], ...]


class Family(msgspec.Struct, frozen=True):
    """The samples of one metric."""

    name: str
    meaning: str
    kind: str
    """Prometheus' word: `counter`, `gauge` or `histogram`."""
    samples: Sequence["Sample"]


class Sample(msgspec.Struct, frozen=True):
    """One number of a metric."""

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
