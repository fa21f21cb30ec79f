"""The query language as text: reading it, and writing it back."""

from augury.ir.text import query_text
from augury.lang.parser import parse, parse_query

__all__ = ["parse", "parse_query", "query_text"]
