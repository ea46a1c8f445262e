"""Texts of operators: what they read and define, and the modules that are written around them."""

from __future__ import annotations

import re

from . import _core, arrays, checks
from .compiler import failure_of
from .errors import ArgumentError, CompileError, ShapeError

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import Any, Iterable, Mapping, NamedTuple, Sequence

    # A tuple of ("array", "f32", shape), ("int",), ("float",), ("bool",), ("static", v).
    Key = tuple[Any, ...]

    class Argument(NamedTuple):
        """An argument or result of an operator. rank: of its subscripts; None: any. static: known
        to the text, as a size is, and not an array. form: how people read it, "A[i, k]". extents:
        names of its sizes, or numbers, where the text declares it; "" for one without a name.
        inner: its name in a derived text, where that cannot be `name`; "": it is."""

        name: str
        rank: int | None
        static: bool = False
        form: str = ""
        extents: tuple[str, ...] = ()
        inner: str = ""
else:
    from collections import namedtuple
    Key = tuple
    Argument = namedtuple("Argument", "name rank static form extents inner",
                          defaults=(False, "", (), ""))

PATH = "op"  # the text's name in messages


def inner_of(a: Argument) -> str:
    """The name of an argument or result in the text."""
    return a.inner or a.name


class Module:
    """A module that was written for a key: its text, how many lines come before the operator's, and
    what the user wrote, of which that may be derived."""

    __slots__ = ("text", "head", "written")

    def __init__(self, text: str, head: int, written: str) -> None:
        self.text = text
        self.head = head
        self.written = written


# ---------------------------------------------------------------- names of a text

class Names:
    """The names that a text reads, defines and declares, from the compiler."""

    __slots__ = ("reads", "defines", "declares")

    def __init__(self, reads: list[dict[str, Any]], defines: list[dict[str, Any]],
                 declares: list[str]) -> None:
        self.reads = reads
        self.defines = defines
        self.declares = declares


def read_names(text: str) -> Names:
    import json
    build = _core.Build(PATH, text, (), (), (), "none", None, None, None, None, True)
    if build.status:
        raise failure_of(build)
    found = json.loads(build.output("names") or b"{}")
    return Names(found["reads"], found["defines"], found["declares"])


def rank_of(row: Mapping[str, Any]) -> int | None:
    rank = row.get("rank")
    return None if rank is None or rank < 0 else int(rank)


def _first_subscripts(text: str, name: str) -> str | None:
    """Inside of the first brackets after the name that hold no others: of "A[i, k]" "i, k"."""
    at = text.find(name)
    while at >= 0:
        word = at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_.")
        rest = text[at + len(name):].lstrip()
        inside, end, _ = rest[1:].partition("]")
        if not word and rest[:1] == "[" and end and "[" not in inside:
            return inside
        at = text.find(name, at + 1)
    return None


def form_of(text: str, name: str, rank: int | None) -> str:
    """How the text writes a tensor, for people: "A[i, k]"."""
    if rank == 0:
        return name
    inside = _first_subscripts(text, name)
    if inside is not None:
        return f"{name}[{' '.join(inside.split())}]"
    return f"{name}[..]" if rank is None else f"{name}[{', '.join('_' * rank)}]"


_NOT_HERE = {"input": "its arguments are the names that it reads, or lines `input NAME[SIZES]`, "
             "each by itself and without a default",
             "output": "its results are one line `output NAME, NAME` without an entry's name, "
             "those of out=, or what nothing reads",
             "param": "it keeps nothing from call to call", "state": "it keeps nothing from call "
             "to call", "train": "it trains nothing", "graph": "it has no inputs of its own"}


def is_model(text: str) -> bool:
    """Has a text statements that only models have, such as `output`?"""
    words = {row.split(" ", 1)[0] for row in read_names(text).declares} - {"input"}
    return not words.isdisjoint(_NOT_HERE)


def check_declares(declares: Iterable[str]) -> None:
    for row in declares:
        word = row.split(" ", 1)[0]
        if word in _NOT_HERE:
            raise CompileError(f"'{row}' stands in the text of an operator: {_NOT_HERE[word]}; "
                               "a text with entries is a model, for neoc.compile")


# ---------------------------------------------------------------- arguments that are declared

# Patterns are compiled where they are needed first: that takes as long as importing a module.
_INPUT = (r"(?m)^[ \t]*input[ \t]+([A-Za-z_]\w*)[ \t]*(?:\[([^\[\]\n]*)\])?"
          r"[ \t]*(?::[ \t]*([^#=\n]*[^#=\s]))?[ \t]*(?:#[^\n]*)?$")


_OUTPUT = (r"(?m)^[ \t]*output[ \t]+([A-Za-z_]\w*(?:[ \t]*,\s*[A-Za-z_]\w*)*)"
           r"[ \t]*(?:#[^\n]*)?$")


def take_outputs(text: str) -> tuple[str, list[str] | None]:
    """A line `output Y, Z`: the text with empty lines in its place, and the names; None where the
    text has no such line. A second line stays in the text, which then is that of a model."""
    found = re.search(_OUTPUT, text) if "output" in text else None
    if not found:
        return text, None
    blank = "\n" * found.group().count("\n")
    return (text[:found.start()] + blank + text[found.end():],
            [name.strip() for name in found.group(1).split(",")])


def take_inputs(text: str) -> tuple[str, list[Argument], dict[str, str]]:
    """Lines such as `input Q[S, C] : f32`, which name the sizes of an argument: the text with
    empty lines in their places, the arguments, and the types of those that have one."""
    arguments: list[Argument] = []
    types: dict[str, str] = {}

    def take(match: re.Match[str]) -> str:
        name, inside, kind = match.groups()
        if any(a.name == name for a in arguments):
            raise CompileError(f"the text of an operator declares the input '{name}' twice")
        extents = tuple(e.strip() for e in inside.split(",")) if inside is not None else ()
        for e in extents:
            if not re.fullmatch(r"[A-Za-z_]\w*|\d+", e):
                raise CompileError(f"input {name}: an extent in the text of an operator is the "
                                   f"name of a size, or a number: '{e}' is neither")
        form = f"{name}[{', '.join(extents)}]" if extents else name
        arguments.append(Argument(name, len(extents), False, form, extents))
        if kind:
            types[name] = kind
        return ""

    return re.sub(_INPUT, take, text) if "input" in text else text, arguments, types


_DERIVED = r"(?m)(?:^|;)[ \t]*dim[ \t]+([A-Za-z_]\w*)[ \t]*=[^#;\n]*"


def derived_sizes(text: str) -> frozenset[str]:
    """The sizes that lines of the text define, as `dim F = 2*D` does."""
    if "dim" not in text:
        return frozenset()
    return frozenset(m.group(1) for m in re.finditer(_DERIVED, text)
                     if text.count("{", 0, m.start()) == text.count("}", 0, m.start()))


def derived_extents(text: str, arguments: Sequence[Argument],
                    key: Key) -> dict[str, tuple[Argument, int]]:
    """Extents of arguments that the text derives: "F == 10" by the argument and its dimension."""
    derived = derived_sizes(text)
    return {f"{name} == {n}": (a, d) for a, part in zip(arguments, key) if part[0] == "array"
            for d, (name, n) in enumerate(zip(a.extents, part[2]))
            if name in derived and isinstance(n, int)}


def size_lines(text: str, arguments: Sequence[Argument], key: Key) -> list[str]:
    """`dim C = 4` for each size that an argument's declaration names and the text does not derive.
    ShapeError where two arguments have different extents of one name; symbols (of torch and jax)
    are not compared."""
    found: dict[str, tuple[str, Any]] = {}
    derived = derived_sizes(text)
    for a, part in zip(arguments, key):
        if a.extents and part[0] != "array":
            raise ShapeError(f"{a.name}: expected {a.rank} dimensions ({a.form}), given a number")
        for d, (name, n) in enumerate(zip(a.extents, part[2] if a.extents else ())):
            if name.isdigit():
                whose, wanted = "the text", int(name)
            elif name:
                whose, wanted = found.setdefault(name, (a.name, n))
            else:
                continue
            if isinstance(n, int) and isinstance(wanted, int) and n != wanted:
                raise ShapeError(f"{a.name}: dim {d} of {a.form} is {n}, that of {whose} is "
                                 f"{wanted}")
    return [f"dim {name} = {n}" for name, (_, n) in found.items() if name not in derived]


def with_inputs(text: str, arguments: Sequence[Argument], types: Mapping[str, str]) -> str:
    """The text with the declarations that take_inputs took out of it. Sizes that the text derives
    come before the inputs that have them, and after those that they are derived from."""
    first, later = [], []
    derived = derived_sizes(text)
    for a in arguments:
        if a.extents:
            sizes = [e or _fresh(f"batch_{a.name}_{d}", text) for d, e in enumerate(a.extents)]
            kind = f" : {types[a.name]}" if a.name in types else ""
            lines = first if derived.isdisjoint(sizes) else later
            lines.append(f"input {inner_of(a)}[{', '.join(sizes)}]{kind}\n")
    if later:
        first += [m.group().strip("; \t\n") + "\n" for m in re.finditer(_DERIVED, text)]
        text = re.sub(_DERIVED, "", text)
    return "".join(first + later) + (text.lstrip("\n") if first or later else text)


# ---------------------------------------------------------------- writing modules

def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        text = repr(value)  # of those that are not finite the names are the language's
        if value != value or value in (float("inf"), float("-inf")):
            return text
        return text if "." in text or "e" not in text else text.replace("e", ".0e")
    return str(int(value))


def static_line(name: str, value: Any) -> str:
    is_size = isinstance(value, int) and not isinstance(value, bool)
    return f"{'dim ' if is_size else ''}{name} = {_literal(value)}"


def input_line(name: str, shape: Sequence[int], word: str) -> str:
    extents = f"[{', '.join(map(str, shape))}]" if shape else ""
    return f"input {name}{extents} : {word}"


class Plan:
    """The choices that are tried for one key: which types numbers of Python have, whether index arrays have
    bounds, and which lines are zeros."""

    def __init__(self) -> None:
        self.numbers = 0  # how many types of the numbers were tried before
        self.bounded = False
        self.asked: dict[str, int] = {}  # bounds that functions ask of their arguments
        self.zeros: set[int] = set()  # lines of `fallbacks`

    def _choices(self, key: Key) -> list[tuple[str, str]]:
        """Types of whole numbers and of floats: i64, and those of the arrays."""
        words = list(dict.fromkeys(part[1] for part in key if part[0] == "array"))
        floats = [w for w in words if w in arrays.FLOATS] or ["f64"]
        kinds = {part[0] for part in key}
        whole = ["i64"]
        if "int" in kinds:
            whole += [w for w in words if w not in ("i64", "bool")] or ["f64"]
        return [(w, f) for f in (floats if "float" in kinds else floats[:1]) for w in whole]

    def word_of(self, kind: str, key: Key) -> str:
        """The type of a number of Python: of an "int", a "float" or a "bool"."""
        if kind == "bool":
            return "bool"
        whole, real = self._choices(key)[self.numbers]
        return whole if kind == "int" else real

    def next_numbers(self, key: Key) -> bool:
        """Goes on to the next types of numbers; False where there are none."""
        if self.numbers + 1 >= len(self._choices(key)):
            return False
        self.numbers += 1
        return True


_SUBSCRIPT = r"(?<![\w.])([A-Za-z_]\w*)\s*\["


def _closing(text: str, at: int) -> int:
    """The position at which the bracket that opens at `at` closes."""
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] in "[(") - (text[k] in "])")
        if depth == 0:
            return k
    return len(text)


def _parts(text: str) -> list[str]:
    """Subscripts: at commas that are in no bracket."""
    parts, depth, last = [], 0, 0
    for k, sign in enumerate(text):
        depth += (sign in "[(") - (sign in "])")
        if sign == "," and depth == 0:
            parts.append(text[last:k])
            last = k + 1
    return parts + [text[last:]]


def index_reads(text: str, names: Iterable[str]) -> list[tuple[str, str, int]]:
    """(index array, array that it subscripts, dimension) of subscripts that are one element:
    X[n[i], j] has ("n", "X", 0)."""
    known, found = set(names), []
    text = re.sub(r"#[^\n]*", "", text)
    for match in re.finditer(_SUBSCRIPT, text):
        end = _closing(text, match.end() - 1)
        guarded = re.match(r"\s*else\b", text[end + 1:])  # reads beyond the end have a value
        if match.group(1) not in known or guarded:
            continue
        for d, part in enumerate(_parts(text[match.end():end])):
            inner = re.match(r"\s*([A-Za-z_]\w*)\s*(\[|$)", part)
            whole = inner and (not inner.group(2) or
                               not part[_closing(part, inner.end() - 1) + 1:].strip())
            if inner and whole and inner.group(1) in known:
                found.append((inner.group(1), match.group(1), d))
    return found


def check_known(what: str, given: Iterable[str], known: Sequence[str]) -> None:
    """Raises where an option names what the text does not read."""
    for name in given:
        if name not in known:
            raise ArgumentError(f"neoc.op(): {what}: the text does not read '{name}'; it reads "
                                f"{', '.join(known) or 'nothing'}")


_BOUNDED = r"\s*(?:(\S.*?)\s*<=\s*)?(\w+)\s*<(?!=)\s*(\S.*)"


def types_of(types: Mapping[str, Any] | None, arguments: Sequence[Argument]) -> dict[str, str]:
    """Types as words of the language; bounds, as of "-1 <= i32 < 10", are taken as they are."""
    where = "neoc.op(): types"
    given = {} if types is None else checks.mapping(where, types, "a dict of types by argument")
    check_known("types", given, [a.name for a in arguments])
    made = {}
    for name, kind in given.items():
        its = f"{where}['{name}']"
        bound = re.fullmatch(_BOUNDED, checks.word(its, kind)) if isinstance(kind, str) else None
        if isinstance(kind, str) and "<" in kind and not bound:
            raise checks.wrong_value(its, "a type, or one with a bound as \"i32 < 10\"", kind)
        word = arrays.word_of(its, bound.group(2) if bound else kind)
        if bound:
            least = f"{' '.join(bound.group(1).split())} <= " if bound.group(1) else ""
            word = f"{least}{word} < {' '.join(bound.group(3).split())}"
        made[name] = word
    return made


def _fresh(name: str, text: str) -> str:
    """The name, or one like it, which is no part of the text."""
    while name in text:
        name += "_"
    return name


def zeros_line(name: str, like: str, text: str) -> str:
    """Zeros of the shape and type of another tensor, as a line of the text."""
    return f"{name}[..] = sum[{_fresh(name + '_none', text)} < 0] {like}[..]"


# ---------------------------------------------------------------- names with two meanings

REDUCERS = frozenset(("sum", "prod", "max", "min", "mean", "argmax", "argmin", "logsumexp", "any",
                      "all"))
# Names that a text may give to what is no function or, without subscripts, to a scalar, and that
# derived texts subscript or call.
AMBIGUOUS = REDUCERS | {"grad", "stop"} | arrays.FLOATS

_WORD = (r"#[^\n]*|[(){}]|(?<![^\n])[ \t]*(?:fn|optimizer|vertex|graph)[ \t]+(?=[A-Za-z_])|"
         r"(?<![\w.])[A-Za-z_]\w*")


def functions_of(text: str) -> set[str]:
    """Names of the functions that the text defines."""
    return set(re.findall(r"(?m)^[ \t]*(?:fn|optimizer|vertex|graph)[ \t]+([A-Za-z_]\w*)", text))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """The text with other names for tensors and functions that have one of AMBIGUOUS. What reduces
    (before "["), is a type, names an option (`f(x, all = 3)`), or is a tensor of a function,
    stays."""
    functions = functions_of(text)
    made: list[str] = []
    last, depth, block = 0, 0, 0  # block: 1 before a function's block, 2 or more in it
    for match in re.finditer(_WORD, text):
        word, rest = match.group(), text[match.end():].lstrip(" \t")
        depth += (word == "(") - (word == ")")
        if word[-1:] in " \t":
            block = 1
        elif word in "{}" and block:
            block += 1 if word == "{" else -1
            if block == 1 and not (word == "}" and re.match(r"grad\s*\(", rest)):
                block = 0
        if word not in names:
            continue
        before = text[:match.start()].rstrip()
        tensor = not (block or depth and re.match("=(?!=)", rest) or before[-1:] == ":" or
                      word in REDUCERS and rest[:1] == "[")
        called = rest[:1] == "(" and not (word == "grad" and before[-1:] == "}")
        if called and word in functions or tensor and rest[:1] != "(":
            made += [text[last:match.start()], names[word]]
            last = match.end()
    return "".join(made) + text[last:]
