"""The files that `index.html` links to, put into it: sent alone it has no dead link."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path

from erlbench import files

BUDGET = 1_000_000  # characters that all of them may take; a page of 1,000 cells stays below 3 MB
TYPES = {  # in this order where not all have room
    ".csv": "text/csv",
    ".md": "text/markdown",
    ".tex": "text/x-tex",
    ".png": "image/png",
    ".pdf": "application/pdf",
    ".svg": "image/svg+xml",
}
LINK = re.compile(r'<a href="([^"#:]+\.[a-z]+)">([^<]*)</a>')


def embed_files(index: Path) -> None:
    """Make each link of the page to a file of its folder hold that file; what has no room is named and no link."""
    page = index.read_text(encoding="utf-8")
    names = sorted(dict.fromkeys(html.unescape(found[1]) for found in LINK.finditer(page)), key=_rank)
    left, held = BUDGET, dict[str, str]()
    for name in names:
        path = Path(name)
        if path.suffix not in TYPES or path.is_absolute() or ".." in path.parts or not (index.parent / path).is_file():
            continue
        if (index.parent / path).stat().st_size > left:  # not read at all: a report of many runs has long tables
            continue
        data = base64.b64encode(files.read_bytes(index.parent / path, inside=len(path.parts))).decode()
        if len(data) <= left:
            left -= len(data)
            held[name] = f"data:{TYPES[path.suffix]};base64,{data}"

    def link(found: re.Match[str]) -> str:
        name = html.unescape(found[1])
        file = html.escape(Path(name).name)
        if name in held:
            return f'<a href="{held[name]}" download="{file}">{found[2]}</a>'
        return f'<span title="{found[1]} in the folder of the report">{found[2]}</span>'

    index.write_text(LINK.sub(link, page), encoding="utf-8")


def _rank(name: str) -> int:
    kinds = list(TYPES)
    suffix = Path(name).suffix
    return kinds.index(suffix) if suffix in kinds else len(kinds)
