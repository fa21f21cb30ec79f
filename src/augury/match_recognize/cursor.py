"""A cursor over the tokens of a statement, with errors that point into its text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import Token, TokenType

from augury.errors import Diagnostic, QueryError
from augury.match_recognize.syntax import Identifier
from augury.source import Source, Span

if TYPE_CHECKING:
    from sqlglot.parser import Parser

VALUES = (TokenType.STRING, TokenType.NUMBER, TokenType.IDENTIFIER)
"""Types of tokens that are never keywords."""


class Cursor:
    """The current position of sqlglot's parser, which Augury's own parser advances."""

    def __init__(self, parser: Parser, source: Source) -> None:
        self.parser, self.source = parser, source

    @property
    def token(self) -> Token:
        return self.parser._curr

    @property
    def at_end(self) -> bool:
        return self.parser._index >= len(self.parser._tokens)

    @property
    def span(self) -> Span:
        """The place of the next token."""
        if self.at_end:
            return Span(len(self.source.text), len(self.source.text) + 1)
        return Span(self.token.start, self.token.end + 1)

    @property
    def last_span(self) -> Span:
        """The place of the token before the next one."""
        previous = self.parser._tokens[self.parser._index - 1]
        return Span(previous.start, previous.end + 1)

    def text(self, ahead: int = 0) -> str:
        """The word or sign `ahead` tokens on, in upper case; empty for strings, numbers and quoted names."""
        index = self.parser._index + ahead
        if index >= len(self.parser._tokens):
            return ""
        token = self.parser._tokens[index]
        return "" if token.token_type in VALUES else " ".join(token.text.upper().split())

    def kind(self, ahead: int = 0) -> TokenType | None:
        index = self.parser._index + ahead
        return self.parser._tokens[index].token_type if index < len(self.parser._tokens) else None

    def advance(self) -> Span:
        """Step over one token."""
        span = self.span
        self.parser._advance()
        return span

    def accept(self, *words: str) -> Span | None:
        """Step over these words if they come next; the tokenizer may have joined two of them into one token."""
        wanted, found, ahead = list(words), list[str](), 0
        while len(found) < len(wanted):
            text = self.text(ahead)
            if not text:
                return None
            found += text.split()
            ahead += 1
        if found != wanted:
            return None
        first = self.span
        for _ in range(ahead):
            self.parser._advance()
        return first | self.last_span

    def expect(self, *words: str, code: str = "A702") -> Span:
        """Step over these words, or raise an error."""
        span = self.accept(*words)
        if span is None:
            raise self.error(code, f"expected {' '.join(words)}, found {self.shown()}", self.span, "here")
        return span

    def shown(self) -> str:
        """The next token, for a message."""
        return "the end of the text" if self.at_end else f"`{self.source.text[self.span.start : self.span.end]}`"

    def is_name(self, ahead: int = 0) -> bool:
        """Whether the token `ahead` tokens on can be a name."""
        kind = self.kind(ahead)
        if kind is None or kind in (TokenType.STRING, TokenType.NUMBER):
            return False
        return kind is TokenType.IDENTIFIER or self.text(ahead).replace("_", "a").replace("$", "a").isalnum()

    def identifier(self, what: str) -> Identifier:
        """Step over a name."""
        if not self.is_name():
            raise self.error("A702", f"expected {what}, found {self.shown()}", self.span, "here")
        token = self.token
        quoted = token.token_type is TokenType.IDENTIFIER
        return Identifier(token.text, quoted, self.advance())

    def error(self, code: str, message: str, span: Span, label: str = "", help: str = "") -> QueryError:
        return QueryError([Diagnostic(code, message, span, label, help)], self.source)
