"""The query language for Pygments: colours in terminals, notebooks and documentation."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from pygments.lexer import RegexLexer
from pygments.lexer import bygroups as _bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace, _TokenType

from augury.lang.words import CLAUSES, CONSTANTS, OPERATORS, any_of, terminals

# The stubs of Pygments leave this function untyped.
bygroups: Any = _bygroups

NAME = r"(?:[^\W\d]\w*|`(?:[^`]|``)*`)"
NUMBER = r"(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?"
RESERVED = rf"(?:{any_of((*CLAUSES, *OPERATORS, *CONSTANTS))})\b"
QUANTIFIER = r"\s*(?:[+*?]|\{\s*\d+\s*(?:,\s*\d*\s*)?\})"


class AuguryLexer(RegexLexer):
    """Tokens of query text; a text that is no query is split into tokens too.

    >>> [text for kind, text in AuguryLexer().get_tokens("WITHIN 5 minutes") if kind in Keyword]
    ['WITHIN', 'minutes']
    """

    name = "Augury"
    aliases: ClassVar[list[str]] = ["augury"]
    filenames: ClassVar[list[str]] = ["*.augury"]
    flags = re.IGNORECASE | re.MULTILINE
    tokens: ClassVar[dict[str, list[tuple[str, object]]]] = {
        "root": [
            (r"\s+", Whitespace),
            (r"--[^\n]*", Comment.Single),
            (r"/\*(?:[^*]|\*(?!/))*\*/", Comment.Multiline),
            (r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"", String),
            (rf"({terminals()['OUTPUT']})(\s+)(\w+)", bygroups(Keyword, Whitespace, Keyword.Pseudo)),
            (rf"(?:{terminals()['GROUP']})(?=\s*\()", Keyword),
            (rf"(?:{any_of(CLAUSES)})\b", Keyword),
            (rf"(?:{any_of(CONSTANTS)})\b", Keyword.Constant),
            (rf"(?:{any_of(OPERATORS)})\b|[∧∨¬]", Operator.Word),
            (rf"(?:{terminals()['STRATEGY']})\b", Keyword.Pseudo),
            (
                rf"({NUMBER})(\s*)((?:{any_of(('UNIT', 'EVENTS'))})\b)",
                bygroups(Number, Whitespace, Keyword.Type),
            ),
            (rf"{NUMBER}%?", Number),
            (r"\.\.", Punctuation),
            (rf"(\.)(\s*)({NAME})", bygroups(Punctuation, Whitespace, Name.Attribute)),
            # A type stands before its variable, or before another type.
            (
                rf"({NAME})({QUANTIFIER})?(\s+|(?<=`)|(?<=[+*?}}]))(?!{RESERVED})({NAME})(?!\s*\()",
                bygroups(Name.Class, Operator, Whitespace, Name.Variable),
            ),
            (rf"{NAME}(?=\s*\|)", Name.Class),
            (rf"{NAME}(?=\s*\()", Name.Function),
            (NAME, Name),
            (r"==|!=|<>|<=|>=|[=<>≤≥≠+*/%?~!|−-]", Operator),
            (r"[()\[\]{},;]", Punctuation),
            (r".", Text),
        ]
    }


def token_kinds(text: str) -> list[tuple[_TokenType, str]]:
    """The tokens of a text without blanks.

    >>> token_kinds("[tag]")[1]
    (Token.Name, 'tag')
    """
    return [(kind, value) for kind, value in AuguryLexer().get_tokens(text) if not value.isspace()]
