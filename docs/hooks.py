"""A hook of MkDocs: what is outside docs/ is linked by its path, which the site does not have; it becomes text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(((?:\.\./)+[^)\s]*)\)")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to files of the repository as text; one whose file is not there stays, and fails the build."""
    folder = Path(page.file.abs_src_path).parent

    def plain(match: re.Match[str]) -> str:
        target = (folder / match[2].partition("#")[0]).resolve()
        inside = target.is_relative_to(ROOT / "docs")
        return match[1] if not inside and target.exists() else match[0]

    return OUTSIDE.sub(plain, markdown)
