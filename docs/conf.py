"""The documentation as a site: `make docs`. The pages are plain Markdown, which a Git host shows as well."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import augury

DOCS = Path(__file__).parent

project = "Augury"
copyright = "the Augury authors"
version = release = augury.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "site"
exclude_patterns = ["_build"]
# Headings have the anchors that a Git host gives them.
myst_heading_anchors = 4
highlight_language = "text"
# Pygments has no colours for CSV, and does not know every sign of row patterns in SQL: such blocks are shown plain.
suppress_warnings = ["misc.highlighting_failure"]

html_theme = "pydata_sphinx_theme"
html_title = "Augury"
html_theme_options = {
    "navigation_depth": 2,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 7,
}
html_show_sourcelink = False
html_copy_source = False

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": False}

_LINK = re.compile(r"(?<!!)\[(?P<text>[^\[\]]+)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")


def _site_links(app: Any, name: str, source: list[str]) -> None:
    """Links to folders lead to the page about them; links out of docs/ are texts, as the site holds nothing else."""
    folder = (DOCS / name).parent

    def changed(link: re.Match[str]) -> str:
        target = link["target"]
        if not target or "://" in target:
            return link[0]
        path = (folder / target).resolve()
        if not path.is_relative_to(DOCS):
            return link["text"]
        if path == DOCS / "decisions":
            return f"[{link['text']}](#decisions)"
        if path.is_dir():
            return f"[{link['text']}]({target.rstrip('/')}/index.md)"
        return link[0]

    blocks = re.split(r"(^```.*?^```$)", source[0], flags=re.MULTILINE | re.DOTALL)
    source[0] = "".join(block if block.startswith("```") else _LINK.sub(changed, block) for block in blocks)


def _plain_docstring(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings quote code with single backquotes, where reStructuredText wants two."""
    lines[:] = [re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", line) for line in lines]


def setup(app: Any) -> None:
    app.connect("source-read", _site_links)
    app.connect("autodoc-process-docstring", _plain_docstring)
