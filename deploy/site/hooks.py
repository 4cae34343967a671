"""The pages' links in the site lead to files and folders of the tree, as code hosts show them.

MkDocs knows pages below docs/ alone. So the README and other Markdown files beside docs/ become pages, a
source file that a page links to becomes a page with its text, and a folder a page with its list; links are
rewritten to lead there.
"""

import posixpath
import re
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

CHECKOUT: Final = Path(__file__).parents[2]
DOCS: Final = CHECKOUT / "docs"
README: Final = CHECKOUT / "README.md"
README_PAGE: Final = "about.md"
OWN: Final = [Path(__file__).with_name(name) for name in ("site.css", "iframe-worker.js")]
PICTURES: Final = (".png", ".svg")
LANGUAGES: Final = {
    ".html": "html",
    ".js": "js",
    ".json": "json",
    ".py": "python",
    ".service": "ini",
    ".sh": "sh",
    ".ts": "ts",
    ".yml": "yaml",
}
_CODE: Final = re.compile(r"(^```.*?^```$|`[^`]*`)", re.MULTILINE | re.DOTALL)
_LINK: Final = re.compile(r"(?<=\]\()(?!https?:)[^()\s#]+(?=[)#])")
_TITLE: Final = re.compile(r"^# (.+)$", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Return the site's files, with what pages link to and MkDocs does not find."""

    def add(address: str, content: str) -> None:
        files.append(File.generated(config, address, content=content))

    add(README_PAGE, README.read_text())
    for place in OWN:
        add(place.name, place.read_text())
    for place in _linked():
        if place.is_dir():
            add(_address(place), _list(place))
        elif _is_page_beside_docs(place):
            add(_address(place), place.read_text())
        elif _is_source(place):
            add(_address(place), _text(place))
            if not place.is_relative_to(DOCS):
                add(_below(place), place.read_text())
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page, its links leading to where their files are in the site."""
    address = page.file.src_uri
    origin = _origin(address)
    if not origin.exists():
        return markdown

    def rewritten(link: re.Match[str]) -> str:
        place = (origin.parent / link[0]).resolve()
        # MkDocs complains of a link that leads nowhere.
        return posixpath.relpath(_address(place), posixpath.dirname(address)) if place.exists() else link[0]

    parts = _CODE.split(markdown)
    parts[::2] = (_LINK.sub(rewritten, part) for part in parts[::2])
    return "".join(parts)


def _linked() -> list[Path]:
    """Return the files and folders that pages link to."""
    pages = [README, *DOCS.rglob("*.md")]
    found = set[Path]()
    for page in pages:
        links = _LINK.findall(_CODE.sub("", page.read_text()))
        new = {(page.parent / link).resolve() for link in links} - found
        found |= new
        pages += filter(_is_page_beside_docs, new)
    return sorted(place for place in found if place.exists())


def _origin(address: str) -> Path:
    """Return the file of a page of the site, which may be absent."""
    if address == README_PAGE:
        return README
    beside = CHECKOUT / address
    return beside if _is_page_beside_docs(beside) else DOCS / address


def _address(place: Path) -> str:
    """Return the address of a file or folder in the site, before pages become HTML."""
    if place == README:
        return README_PAGE
    if place.is_dir():
        return f"{_below(place)}/index.md"
    return f"source/{_below(place)}.md" if _is_source(place) else _below(place)


def _below(place: Path) -> str:
    """Return a path below docs/, or else below the checkout."""
    return place.relative_to(DOCS if place.is_relative_to(DOCS) else CHECKOUT).as_posix()


def _is_page_beside_docs(place: Path) -> bool:
    is_beside = place != README and not place.is_relative_to(DOCS)
    return place.suffix == ".md" and is_beside and place.is_file()


def _is_source(place: Path) -> bool:
    return place.is_file() and place.suffix not in (".md", *PICTURES)


def _text(place: Path) -> str:
    """Return a page with the text of a source file."""
    name = place.relative_to(CHECKOUT).as_posix()
    raw = posixpath.relpath(_below(place), posixpath.dirname(_address(place)))
    language = LANGUAGES.get(place.suffix, "text")
    return f"# {place.name}\n\n`{name}` ([the file]({raw}))\n\n~~~~~~ {language}\n{place.read_text()}~~~~~~\n"


def _list(folder: Path) -> str:
    """Return a page with the titles of a folder's pages."""
    pages = [(page.name, _TITLE.search(page.read_text())) for page in sorted(folder.glob("*.md"))]
    lines = [f"- [{title[1]}]({name})" for name, title in pages if title is not None]
    return "\n".join([f"# {folder.name.capitalize()}", "", *lines, ""])
