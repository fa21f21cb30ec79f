"""Templates, styles and scripts of pages, from files in this folder."""

from __future__ import annotations

from importlib.resources import files

import panel as pn


def resource(name: str) -> str:
    """The text of a file in this folder."""
    return files("augury.serve").joinpath(name).read_text(encoding="utf-8")


def page_template(name: str, *scripts: str) -> pn.Template:
    """A template for a page with these contents, in the frame, the styles and the script of all pages."""
    page = pn.Template(resource("frame.html") + resource(name))
    page.add_variable("head", resource("head.html"))
    page.add_variable("css", resource("page.css"))
    page.add_variable("script", "".join(map(resource, ("page.js", *scripts))))
    return page
