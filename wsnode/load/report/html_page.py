"""Page of HTML without external resources, around sections."""

from collections.abc import Iterable, Iterator
from html import escape
from typing import Final

from wsnode.load.machine import circumstances
from wsnode.load.report.formatting import NAMES, STYLES, NodeResult
from wsnode.upstream.address import shown

STYLE: Final = """
:root { color-scheme: light dark; --a: #1668c7; --b: #c4620a; --line: #8884; }
@media (prefers-color-scheme: dark) { :root { --a: #6db0ff; --b: #ffa45c; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; } svg text { font-size: 11px; fill: currentColor; }
svg text.label { font-weight: 600; } .grid { stroke: var(--line); }
polyline { fill: none; stroke-width: 1.6; } polygon { fill-opacity: .3; stroke-width: 1; }
line.bar { stroke-width: 5; stroke-opacity: .35; } circle { stroke-width: 0; }
.a { stroke: var(--a); } .b { stroke: var(--b); } .dashed { stroke-dasharray: 4 3; }
polygon.a, circle.a { fill: var(--a); } polygon.b, circle.b { fill: var(--b); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .5rem; text-align: right; border-bottom: 1px solid var(--line); }
.scroll, pre { overflow-x: auto; } p, li, h1 { overflow-wrap: anywhere; }
.line { display: inline-block; width: 2rem; border-top: 2px solid; vertical-align: middle; }
.line.dashed { border-top-style: dashed; } .line:not(:first-child) { margin-left: 1rem; }
@media (max-width: 40rem) { svg text { font-size: 17px; } body { margin: 1rem auto; } }
th:first-child, td:first-child { text-align: left; } .key-a { color: var(--a); } .key-b { color: var(--b); }
.warning { border-left: .3rem solid var(--b); padding-left: .7rem; }
"""


def page(title: str, sections: Iterable[str]) -> str:
    """Return a page as HTML, with the date and the machine of the measurement."""
    body = "\n".join((*sections, note(circumstances().words)))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body></html>\n"
    )


def key(number: int, words: str) -> str:
    """Return the paragraph that names a node in the colour of its lines."""
    return f'<p><b class="key-{STYLES[number]}">{NAMES[number]}</b> {escape(words)}</p>'


def keys(found: Iterable[NodeResult]) -> Iterator[str]:
    """Yield the paragraphs that name the nodes."""
    for number, each in enumerate(found):
        yield key(number, f"{shown(each.url)} {each.version}")


def legend(names: Iterable[tuple[str, str]]) -> str:
    """Return the legend of a chart: names and styles of its lines; an empty text for a single line."""
    keys = [f'<span class="line{style}"></span> {escape(name)}' for name, style in names]
    return f'<p class="legend">{" ".join(keys)}</p>' if len(keys) > 1 else ""


def notes(items: Iterable[str]) -> str:
    """Return a list as HTML."""
    return f"<ul>{''.join(f'<li>{escape(each)}</li>' for each in items)}</ul>"


def note(words: str, *, is_warning: bool = False) -> str:
    """Return a paragraph as HTML."""
    kind = ' class="warning"' if is_warning else ""
    return f"<p{kind}>{escape(words)}</p>"
