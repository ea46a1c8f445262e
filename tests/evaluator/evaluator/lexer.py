"""Text to tokens: docs/language.md, "Words and lines".

A token is (kind, text, line); the kinds are name, number, sign and end. An `end` token stands where a statement
ends; the lexer drops those that the rules of continuation forbid, so that the parser never sees a line's end
within a statement.
"""

import re
from typing import NamedTuple

from .errors import error

REDUCERS = ("sum", "prod", "max", "min", "mean", "argmax", "argmin", "logsumexp", "any", "all")

_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|#[^\n]*)|(?P<line>\n)|(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)|(?P<sign>->|\.\.|==|!=|<=|>=|[-+*/%^<>=()\[\]{},;:.])")

_CONTINUES = {"+", "-", "*", "/", "%", "^", "==", "!=", "<", "<=", ">", ">=", ",", "=", "->", ":", ".", "and", "or",
              "not"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Token(NamedTuple):
    kind: str
    text: str
    line: int


def tokens(text):
    """All tokens of a text, with `end` where a statement ends, and one more at the end of the text."""
    result, brackets, line, at = [], [], 1, 0
    reducer_closed = False  # the last token closed the bracket of a reducer
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            error(line, f"unexpected character {text[at]!r}")
        kind, word, at = match.lastgroup, match.group(), match.end()
        if kind == "space":
            continue
        if kind == "line":
            inside = brackets and brackets[-1][0] in "(["
            goes_on = result and (result[-1].text in _CONTINUES or reducer_closed)
            if not inside and not goes_on:
                _end(result, line)
            line += 1
            continue
        if word == ";" and not (brackets and brackets[-1][0] in "(["):
            _end(result, line)
            continue
        was_reducer = bool(result) and result[-1].kind == "name" and result[-1].text in REDUCERS
        result.append(Token(kind, word, line))
        reducer_closed = _bracket(word, brackets, was_reducer, line) if kind == "sign" else False
    if brackets:
        error(brackets[-1][2], f"'{brackets[-1][0]}' is never closed")
    _end(result, line)
    return result


def _bracket(word, brackets, was_reducer, line):
    """Keep the stack of open brackets; say whether this one closes that of a reducer."""
    if word in _CLOSING:
        brackets.append((word, word == "[" and was_reducer, line))
    elif word in _CLOSING.values():
        if not brackets or _CLOSING[brackets[-1][0]] != word:
            error(line, f"'{word}' closes nothing")
        return brackets.pop()[1]
    return False


def _end(result, line):
    if result and result[-1].kind != "end":
        result.append(Token("end", "", line))
