"""Pages of matches: events in lanes over time, with the matches drawn over them."""

from augury.view.page import Page, page

__all__ = ["Page", "page"]
