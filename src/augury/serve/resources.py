"""What pages are made of beside their components: templates, styles and scripts that lie in this folder."""

from __future__ import annotations

from importlib.resources import files

import panel as pn


def resource(name: str) -> str:
    """A file of this folder."""
    return files("augury.serve").joinpath(name).read_text(encoding="utf-8")


def page_template(name: str, *scripts: str) -> pn.Template:
    """A page to put components into, with the styles of all pages, their script and more of them."""
    page = pn.Template(resource(name))
    page.add_variable("head", resource("head.html"))
    page.add_variable("css", resource("page.css"))
    page.add_variable("script", "".join(map(resource, ("page.js", *scripts))))
    return page
