"""Charts as SVG: lines over one axis, linear or logarithmic."""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

WIDTH: Final = 720
HEIGHT: Final = 240
LEFT: Final = 64
RIGHT: Final = 12
TOP: Final = 24
BOTTOM: Final = 36
ROW: Final = 22
"""Height of a bar's row, in units of the drawing."""
NAMES_WIDTH: Final = 210
"""Width of the names left of bars, in units of the drawing."""


class Series(NamedTuple):
    """Line of a chart: its name, its class in the page's style, and its points in ascending order."""

    name: str
    style: str
    points: Sequence[tuple[float, float]]
    is_filled: bool = False


class Axis(NamedTuple):
    """Range of an axis, with linear or logarithmic steps."""

    low: float
    high: float
    is_logarithmic: bool = False

    def place(self, value: float) -> float:
        """Return the position of a value on the axis, from 0 to 1."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        return min(1.0, max(0.0, (self._scaled(value) - low) / ((high - low) or 1.0)))

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, 1e-9)) if self.is_logarithmic else value

    def ticks(self) -> Iterator[float]:
        if self.is_logarithmic:
            for power in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1):
                yield from (
                    10.0**power * part for part in (1, 3) if self.low <= 10.0**power * part <= self.high
                )
            return
        step = _step(self.high - self.low)
        value = math.ceil(self.low / step) * step
        while value <= self.high:
            yield value
            value += step


def axis_of(values: Sequence[float], *, is_logarithmic: bool = False) -> Axis:
    """Return an axis that contains all values; a linear one begins at 0."""
    high = max(values, default=1.0)
    if not is_logarithmic:
        return Axis(0.0, high * 1.05 or 1.0)
    low = min((value for value in values if value > 0), default=0.1)
    return Axis(low / 1.2, max(high * 1.2, low * 2), is_logarithmic=True)


def chart(
    series: Sequence[Series],
    labels: tuple[str, str],
    *,
    across_is_logarithmic: bool = False,
    up_is_logarithmic: bool = False,
) -> str:
    """Return a chart of lines as SVG with labelled axes that contain all points."""
    points = [point for each in series for point in each.points]
    across = axis_of([x for x, _ in points], is_logarithmic=across_is_logarithmic)
    up = axis_of([y for _, y in points], is_logarithmic=up_is_logarithmic)
    name, corner = f"{escape(labels[1])} by {escape(labels[0])}", f'x="{WIDTH - RIGHT}" y="{HEIGHT - 4}"'
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{name}">',
        *(_mark(across.place(tick), None, tick) for tick in across.ticks()),
        *(_mark(None, up.place(tick), tick) for tick in up.ticks()),
        *(_line(each, across, up) for each in series if each.points),
        f'<text class="label" {corner} text-anchor="end">{escape(labels[0])}</text>',
        f'<text class="label" x="4" y="{TOP - 12}">{escape(labels[1])}</text>',
        "</svg>",
    ]
    return "".join(parts)


class RangeBar(NamedTuple):
    """Bar between the least and the greatest of some values, with a mark at each."""

    name: str
    style: str
    values: Sequence[float]


def ranges(bars: Sequence[RangeBar], name: str) -> str:
    """Return bars below each other as SVG, over one logarithmic axis with the label `name`."""
    across = axis_of([value for bar in bars for value in bar.values], is_logarithmic=True)
    height = TOP + len(bars) * ROW + BOTTOM
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(name)}">',
        *(_tick(across, tick, height) for tick in across.ticks()),
        *(_bar(bar, across, TOP + (row + 0.5) * ROW) for row, bar in enumerate(bars)),
        f'<text class="label" x="{WIDTH - RIGHT}" y="{height - 4}" text-anchor="end">{escape(name)}</text>',
        "</svg>",
    ]
    return "".join(parts)


def _tick(across: Axis, tick: float, height: int) -> str:
    at, text = _beside(across.place(tick)), _number(tick)
    return (
        f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>'
        f'<text x="{at:.1f}" y="{height - BOTTOM + 14}" text-anchor="middle">{text}</text>'
    )


def _bar(bar: RangeBar, across: Axis, y: float) -> str:
    places = [_beside(across.place(value)) for value in bar.values]
    marks = "".join(f'<circle class="{bar.style}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x in places)
    text = f'<text x="{NAMES_WIDTH - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(bar.name)}</text>'
    ends = f'x1="{places[0]:.1f}" x2="{places[-1]:.1f}" y1="{y:.1f}" y2="{y:.1f}"'
    line = f'<line class="bar {bar.style}" {ends}/>'
    return f"{text}{line}{marks}"


def _beside(place: float) -> float:
    return NAMES_WIDTH + place * (WIDTH - NAMES_WIDTH - RIGHT)


def _line(series: Series, across: Axis, up: Axis) -> str:
    points = [(_x(across.place(x)), _y(up.place(y))) for x, y in series.points]
    if series.is_filled:
        points = [(points[0][0], _y(0.0)), *points, (points[-1][0], _y(0.0))]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    kind = "polygon" if series.is_filled else "polyline"
    return f'<{kind} class="{series.style}" points="{path}"><title>{escape(series.name)}</title></{kind}>'


def _mark(x: float | None, y: float | None, value: float) -> str:
    text = _number(value)
    if x is not None:
        at = _x(x)
        return (
            f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
            f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{text}</text>'
        )
    at = _y(y or 0.0)
    return (
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{at:.1f}" y2="{at:.1f}"/>'
        f'<text x="{LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{text}</text>'
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:g}"


def _x(place: float) -> float:
    return LEFT + place * (WIDTH - LEFT - RIGHT)


def _y(place: float) -> float:
    return HEIGHT - BOTTOM - place * (HEIGHT - TOP - BOTTOM)


def _step(span: float) -> float:
    power = 10.0 ** math.floor(math.log10(span or 1.0))
    return next(power * part for part in (0.2, 0.5, 1.0, 2.0) if span / (power * part) <= 6)
