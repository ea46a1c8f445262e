"""The mutants of a source. A mutant is a stretch of text of a function and its replacement; the stretch
is an expression (chosen at run time between both) or a statement (left out)."""
import hashlib
import re

from ctext import ASSIGN, KEYWORDS, Source

SWAPS = {"<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "==": ("!=",),
         "!=": ("==",), "&&": ("||",), "||": ("&&",), "+": ("-",), "-": ("+",), "<<": (">>",),
         ">>": ("<<",), "&": ("|",), "|": ("&",), "*": ("+",), "%": ("/",)}
WORDS = (("min", "max"), ("MIN", "MAX"), ("LT", "LE"), ("AND", "OR"), ("ADD", "SUB"))
CHECKS = {"assert", "static_assert", "_Static_assert", "sizeof", "_Alignof"}


def either(number, old, new):
    """The expression that is `new` where the mutant is chosen. Where a test tells what it reaches, an expression that may be
    computed twice, or that only becomes true or false, counts as reached where both differ."""
    if new in ("true", "false") and old not in ("true", "false"):
        return f"(neo_mutant_is({number}) ? {new} : neo_mutant_holds({number}, ({old}), {new}))"
    if is_plain(old) and is_plain(new):
        return (f"(neo_mutant_is({number}) ? ({new}) : "
                f"(neo_mutant_sees({number}, ({old}) != ({new})), ({old})))")
    return f"(neo_mutant({number}) ? ({new}) : ({old}))"


def is_plain(text):
    """Whether the expression consists of numbers, names and elements, with no operator that decides whether another
    operand is computed."""
    return not re.search(r"[A-Za-z_0-9]\s*\(|\+\+|--|[^<>=!]=[^=]|&&|\|\||[?\"{]", text)


class Mutant:
    """file, function, operator; start, end: the stretch; new: the expression's other text, or None
    where it is a statement that is left out; id is set when it is chosen."""

    def __init__(self, file, function, operator, source, first, last, new):
        self.file, self.function, self.operator = file, function, operator
        self.start, self.end = source.tokens[first].start, source.tokens[last].end
        self.line = source.tokens[first].line
        self.old, self.new, self.id = source.text[self.start:self.end], new, 0

    def rank(self, seed):
        """The mutant's key in the seed's order; it does not depend on other mutants."""
        key = "\0".join((str(seed), self.file, self.function, self.operator, self.old,
                         str(self.ordinal), str(self.new)))
        return hashlib.sha256(key.encode()).hexdigest()

    def text(self):
        if self.operator == "body":
            return "{ " + f"if (neo_mutant({self.id})) return {self.new};"
        if self.new is None:
            return "{ " + f"if (!neo_mutant({self.id})) {self.old}" + " }"
        return either(self.id, self.old, self.new)

    def says(self):
        """Describes the mutation in one line."""
        flat = lambda s: re.sub(r"\s+", " ", s)
        if self.operator == "body":
            return f"always {self.new}"
        if self.new is None:
            return f"without `{flat(self.old)}`"
        return f"`{flat(self.old)}` -> `{flat(self.new)}`"


def mutants_of(path, text, names):
    """All mutants of a file. names: every identifier of the program, so that a swapped name
    exists."""
    source, found = Source(text), []
    for name, begin, open_, close in source.functions:
        here = list(in_function(source, begin, open_, close, names))
        for operator, first, last, new in here:
            found.append(Mutant(path, name, operator, source, first, last, new))
    count = {}
    for m in found:
        key = (m.function, m.operator, m.old, m.new)
        m.ordinal = count[key] = count.get(key, 0) + 1
    return found


def in_function(s, begin, open_, close, names):
    if "bool" in (t.text for t in s.tokens[begin:open_]) and s.at(open_ - 1) == ")":
        head = [t.text for t in s.tokens[begin:s.match[open_ - 1] - 1]]
        if head[-1:] == ["bool"]:
            yield "body", open_, open_, "true"
            yield "body", open_, open_, "false"
    i, inside = open_ + 1, 0
    while i < close:
        after = skipped(s, i)
        if after > i:
            i = after
            continue
        if s.at(i) == "(" and s.tokens[i].kind == "op":
            inside = max(inside, s.match[i])
        yield from at_token(s, i, names)
        if i > inside and s.starts_statement(i):
            yield from statement_at(s, i)
        i += 1


def skipped(s, i):
    """Skips code without mutants: checks, static data, labels."""
    if s.at(i) in CHECKS and s.at(i + 1) == "(":
        return s.match[i + 1] + 1
    if s.at(i) in ("static", "enum"):
        while s.at(i) != ";":
            i = s.match[i] + 1 if s.at(i) in "([{" else i + 1
        return i
    if s.at(i) == "case":
        while s.at(i) != ":":
            i += 1
        return i
    return i


def at_token(s, i, names):
    t = s.tokens[i]
    if t.kind == "op":
        yield from operator_at(s, i)
    elif t.kind == "num":
        yield from number_at(s, i)
    elif t.kind == "id":
        yield from word_at(s, i, names)


def operator_at(s, i):
    if s.at(i) in SWAPS and s.is_binary(i):
        first, last = s.left_of(i), s.right_of(i)
        if s.at(i) == "*" and s.starts_statement(first):  # a pointer is declared
            return
        kind = {"&&": "logic", "||": "logic", "<": "relation", "<=": "relation", ">": "relation",
                ">=": "relation", "==": "relation", "!=": "relation"}.get(s.at(i), "arithmetic")
        for new in SWAPS[s.at(i)]:
            yield kind, first, last, f"{s.slice(first, i - 1)} {new} {s.slice(i + 1, last)}"


def number_at(s, i):
    m = re.fullmatch(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)", s.at(i))
    if not m or (s.at(i - 1) == "{" and s.at(i + 1) == "}"):
        return
    value = int(m.group(1), 16 if m.group(1)[:2] in ("0x", "0X") else 10)
    yield "constant", i, i, f"{value + 1}{m.group(2)}"
    if value > 0:
        yield "constant", i, i, f"{value - 1}{m.group(2)}"


def word_at(s, i, names):
    word = s.at(i)
    if word in ("if", "while") and s.at(i + 1) == "(" and s.at(s.match[i + 1] + 1) != ";":
        first, last = i + 2, s.match[i + 1] - 1
        if word == "if" and last >= first:
            yield "condition", first, last, f"!({s.slice(first, last)})"
    if word in ("true", "false"):
        yield "constant", i, i, "false" if word == "true" else "true"
    if s.at(i - 1) in (".", "->") or word in KEYWORDS:
        return
    other = swapped_word(word, names)
    if other:
        yield "word", i, i, other
    if s.at(i + 1) == "(" and s.at(i - 1) not in ("*",):
        yield from arguments_at(s, i)


def swapped_word(word, names):
    parts = word.split("_")
    for a, b in WORDS:
        for old, new in ((a, b), (b, a)):
            if old in parts:
                other = "_".join(new if p == old else p for p in parts)
                if other in names:
                    return other
    return None


def arguments_at(s, i):
    """A call with its last two arguments exchanged; if their types differ it does not compile, and is dropped."""
    if s.tokens[i - 1].kind == "id" and s.at(i - 1) not in ("return", "else", "do"):
        return
    commas, j, close = [i + 1], i + 2, s.match[i + 1]
    while j < close:
        if s.at(j) == ",":
            commas.append(j)
        j = s.match[j] + 1 if s.at(j) in "([{" and s.tokens[j].kind == "op" else j + 1
    if len(commas) < 2:
        return
    a, b = s.slice(commas[-2] + 1, commas[-1] - 1), s.slice(commas[-1] + 1, close - 1)
    if a != b and s.tokens[commas[-1] + 1].kind != "str" and s.tokens[commas[-2] + 1].kind != "str":
        space = " " if s.at(commas[-2]) == "," else ""
        yield "arguments", i, close, f"{s.slice(i, commas[-2])}{space}{b}, {a})"


def statement_at(s, i):
    """A mutant that omits a call or an assignment."""
    end = s.end_of_statement(i)
    if end is None or s.at(i) in KEYWORDS or s.at(i) in CHECKS:
        return
    if s.tokens[i].kind == "id" and s.at(i + 1) == "(" and s.match[i + 1] + 1 == end:
        yield "dropped", i, end, None
    elif is_assignment(s, i, end):
        yield "dropped", i, end, None


def is_assignment(s, i, end):
    """Whether the statement is an assignment: x = .., x->y[i] |= .., x++; not a declaration."""
    if s.at(end - 1) in ("++", "--") or s.at(i) in ("++", "--"):
        return True
    while i < end and s.at(i) not in ASSIGN:
        if s.at(i) in "([" and i in s.match:
            i = s.match[i]
        elif s.tokens[i].kind == "id" and s.tokens[i + 1].kind == "id":
            return False
        elif s.at(i) == "*" and s.tokens[i - 1].kind == "id" and not s.starts_statement(i):
            return False
        i += 1
    return i < end


def identifiers(text):
    return set(re.findall(r"[A-Za-z_]\w*", text))
