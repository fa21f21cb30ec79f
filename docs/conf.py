"""The documentation as a site: `make docs`. The pages are plain Markdown, which a Git host shows as well."""

from __future__ import annotations

import os
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
html_static_path = ["static"]
html_css_files = ["site.css"]
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

EXAMPLES = DOCS.parent / "examples"

_LINK = re.compile(r"(?P<image>!?)\[(?P<text>[^\[\]]+)\]\((?P<target>[^)\s#]*)(?P<anchor>#[^)\s]*)?\)")


def _on_site(path: Path) -> Path:
    """Where the site shows a file or folder: examples have pages of their own."""
    page = DOCS / "examples" / f"{path.name}.md"
    if path == EXAMPLES:
        return DOCS / "navigation" / "examples.md"
    return page if path.parent == EXAMPLES and page.exists() else path


def _site_links(app: Any, name: str, source: list[str]) -> None:
    """Links to folders lead to the page about them; links out of docs/ are texts, as the site holds nothing else.

    A page of docs/examples/ shows that of the example, with its pictures.
    """
    folder = here = (DOCS / name).parent
    if here == DOCS / "examples":
        folder = EXAMPLES / Path(name).name
        source[0] = (folder / "README.md").read_text(encoding="utf-8")

    def changed(link: re.Match[str]) -> str:
        target = link["target"]
        if not target or "://" in target:
            return link[0]
        path = _on_site((folder / target).resolve())
        target = os.path.relpath(path, here)
        if link["image"]:
            return f"![{link['text']}]({target})"
        if not path.is_relative_to(DOCS):
            return link["text"]
        if path == DOCS / "decisions":
            return f"[{link['text']}](#decisions)"
        if path.is_dir():
            return f"[{link['text']}]({target}/index.md)"
        return f"[{link['text']}]({target}{link['anchor'] or ''})"

    blocks = re.split(r"(^```.*?^```$)", source[0], flags=re.MULTILINE | re.DOTALL)
    source[0] = "".join(block if block.startswith("```") else _LINK.sub(changed, block) for block in blocks)


def _plain_docstring(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings quote code with single backquotes, where reStructuredText wants two."""
    # Some quotations go on in the next line.
    lines[:] = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", "\n".join(lines)).split("\n")


def setup(app: Any) -> None:
    app.connect("source-read", _site_links)
    app.connect("autodoc-process-docstring", _plain_docstring)
