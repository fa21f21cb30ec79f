"""Text that came from users, made fit to be shown: in messages, plans, and comments of generated code."""

from __future__ import annotations

import unicodedata

MAX_SHOWN_CHARACTERS = 160
"""Characters of a name or a value that a message shows."""


def one_line(text: str, longest: int = MAX_SHOWN_CHARACTERS) -> str:
    r"""The text as printable characters of one line, cut to `longest`.

    What is not printable is written as an escape: control characters, line breaks of every kind, marks that change the
    direction of writing, lone surrogates.

    >>> print(one_line("price\r\x1b[31m\u2028\ud800"))
    price\r\x1b[31m\u2028\ud800
    >>> one_line("abcdef", longest=3)
    'abc…'
    """
    if len(text) > longest:
        text = text[:longest] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def printable(text: str) -> str:
    r"""The text as printable characters, whose lines stay lines.

    >>> print(printable("a\x1b[2J\nb"))
    a\x1b[2J
    b
    """
    if text.replace("\n", "").isprintable():
        return text
    return "\n".join(one_line(line, len(line)) for line in text.split("\n"))


def is_dangerous(character: str) -> bool:
    r"""Whether a character has no place in a name: it ends a line, controls a terminal, or turns the writing around.

    >>> [is_dangerous(c) for c in "a\u200c\r\u202e"]
    [False, False, True, True]
    """
    return not character.isprintable() and (
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(character) in _TURNING
    )


def lone_surrogate(text: str) -> int | None:
    r"""The position of the first lone surrogate, which cannot be written as UTF-8; None if there is none.

    >>> lone_surrogate("a\ud800"), lone_surrogate("a\0")
    (1, None)
    """
    try:
        text.encode()
    except UnicodeEncodeError as e:
        return e.start
    return None


_TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
"""Classes of characters that embed, override or isolate a direction of writing."""


def _escape(character: str) -> str:
    return ascii(character)[1:-1]
