"""Colours of .expr blocks, from the TextMate grammar in editors/, so that the language's words stand there alone."""
import json

from pygments.lexer import RegexLexer, bygroups
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Text

TOKENS = {  # the longest of these that a scope begins with
    "comment": Comment.Single,
    "constant.language": Keyword.Constant,
    "constant.numeric": Number,
    "entity.name.function": Name.Function,
    "keyword": Keyword,
    "keyword.declaration": Keyword.Declaration,
    "keyword.operator": Operator,
    "keyword.operator.reducer": Name.Builtin,
    "keyword.operator.word": Operator.Word,
    "storage.type": Keyword.Type,
    "support.function": Name.Builtin,
}


def token(scope):
    return TOKENS[max((name for name in TOKENS if scope.startswith(name)), key=len)]


def between_captures(pattern, captures):
    """A rule for a pattern whose named parts are words and spaces: a group for each character run."""
    groups = [token(captures[key]["name"]) for key in sorted(captures)]
    return pattern.replace(r"\s+", r"(\s+)", 1), bygroups(groups[0], Text, groups[1])


def rules(grammar, patterns):
    for pattern in patterns:
        if "include" in pattern:
            yield from rules(grammar, [grammar["repository"][pattern["include"].removeprefix("#")]])
        elif "patterns" in pattern:
            yield from rules(grammar, pattern["patterns"])
        elif "captures" in pattern:
            yield between_captures(pattern["match"], pattern["captures"])
        else:
            yield pattern["match"], token(pattern["name"])


def lexer(path):
    """Makes a lexer class from the grammar in the file."""
    with open(path, encoding="utf-8") as file:
        grammar = json.load(file)
    rest = [(r"[A-Za-z_]\w*", Name), (r"\s+", Text), (r".", Punctuation)]
    members = {"name": "neo", "aliases": ["expr", "neo"], "filenames": ["*.expr"],
               "tokens": {"root": [*((m, t) for m, t in rules(grammar, grammar["patterns"])), *rest]}}
    return type("ExprLexer", (RegexLexer,), members)
