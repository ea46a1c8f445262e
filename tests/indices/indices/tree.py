"""Expressions of integers and numbers: their text and their values.

A node is a tuple (form, kind, ..): kind is a type, or "index" for what is made of indices, sizes and literals alone, or "f32".
Values are computed with `inside` true in subscripts and bounds of ranges, where sums and products are in i64.
"""

from .integers import OPERATORS, RELATIONS, ends, wrap

INDEX = "index"


def kind(e):
    return e[1]


def children(e):
    return [x for x in e[2:] if isinstance(x, tuple)]


def is_untyped(e):
    """Literals alone take the type of what they meet: there is none yet."""
    if e[0] == "select":
        return is_untyped(e[3]) and is_untyped(e[4])
    return e[0] == "literal" or (e[0] in ("operator", "negated", "absolute", "clamp") and
                                 all(is_untyped(x) for x in children(e)))


def is_typed_inside(e):
    """Does each operation have a type of its own?"""
    if e[0] in ("relation", "operator") and is_untyped(e[2]) and is_untyped(e[3]):
        return False
    return not (e[0] != "literal" and is_untyped(e)) and all(is_typed_inside(x) for x in children(e))


def text(e):
    form = e[0]
    return _TEXT[form](e)


def _operator(e):
    _, _, a, b, op = e
    if op in ("min", "max"):
        return f"{op}({text(a)}, {text(b)})"
    return f"({text(a)} {op} {text(b)})"


def _read(e):
    subscripts = ", ".join(text(s) for s in e[4:])
    read = f"{e[2]}[{subscripts}]"
    return read if e[3] is None else f"({read} else {e[3]})"


def _reduce(e):
    _, _, body, where, low, high, reducer, index = e
    low = "" if low is None else f"{text(low)} <= "
    where = "" if where is None else f" where {text(where)}"
    return f"({reducer}[{low}{index} < {text(high)}{where}] {text(body)})"


_TEXT = {
    "name": lambda e: e[2],
    "literal": lambda e: str(e[2]) if e[2] >= 0 else f"({e[2]})",
    "operator": _operator,
    "negated": lambda e: f"(-{text(e[2])})",
    "absolute": lambda e: f"abs({text(e[2])})",
    "clamp": lambda e: f"clamp({text(e[2])}, {e[3]}, {e[4]})",
    "cast": lambda e: f"{e[1]}({text(e[2])})",
    "select": lambda e: f"select({text(e[2])}, {text(e[3])}, {text(e[4])})",
    "relation": lambda e: f"{text(e[2])} {e[4]} {text(e[3])}",
    "both": lambda e: f"({text(e[2])} and {text(e[3])})",
    "either": lambda e: f"({text(e[2])} or {text(e[3])})",
    "not": lambda e: f"not ({text(e[2])})",
    "read": _read,
    "reduce": _reduce,
}


class Outside(Exception):
    """A read without `else` outside of its tensor."""


class Values:
    """Sizes and tensors by name; tensors are dictionaries from subscripts."""

    def __init__(self, names, tensors):
        self.names = names
        self.tensors = tensors

    def of(self, e, inside=False):
        return getattr(self, "_" + e[0])(e, inside)

    def _stay(self, x, e, inside):
        return wrap(x, "i64" if inside or e[1] == INDEX else e[1])

    def _name(self, e, inside):
        return self.names[e[2]]

    def _literal(self, e, inside):
        return e[2]

    def _operator(self, e, inside):
        return self._stay(OPERATORS[e[4]](self.of(e[2], inside), self.of(e[3], inside)), e, inside)

    def _negated(self, e, inside):
        return self._stay(-self.of(e[2], inside), e, inside)

    def _absolute(self, e, inside):
        return self._stay(abs(self.of(e[2], inside)), e, inside)

    def _clamp(self, e, inside):
        return min(max(self.of(e[2], inside), e[3]), e[4])

    def _cast(self, e, inside):
        return wrap(self.of(e[2], inside), e[1])

    def _select(self, e, inside):
        return self.of(e[3] if self.of(e[2], inside) else e[4], inside)

    def _relation(self, e, inside):
        return RELATIONS[e[4]](self.of(e[2], inside), self.of(e[3], inside))

    def _both(self, e, inside):
        return self.of(e[2], inside) and self.of(e[3], inside)

    def _either(self, e, inside):
        return self.of(e[2], inside) or self.of(e[3], inside)

    def _not(self, e, inside):
        return not self.of(e[2], inside)

    def _read(self, e, inside):
        at = tuple(self.of(s, True) for s in e[4:])
        tensor = self.tensors[e[2]]
        if at in tensor:
            return tensor[at]
        if e[3] is None:
            raise Outside(text(e))
        return e[3]

    def _reduce(self, e, inside):
        _, kind_, body, where, low, high, reducer, index = e
        first = 0 if low is None else self.of(low, True)
        terms = []
        for at in range(first, self.of(high, True)):
            self.names[index] = at
            if where is None or self.of(where, False):
                terms.append((self.of(body, False), at))
        self.names.pop(index, None)
        return _REDUCERS[reducer](terms, kind_)


def _argmax(terms, kind_):
    best = max((x for x, _ in terms), default=None)
    return next((at for x, at in terms if x == best), 0)


def _extremum(choose, end):
    def reduced(terms, kind_):
        return choose((x for x, _ in terms), default=0 if kind_ == "f32" else ends(kind_)[end])
    return reduced


_REDUCERS = {
    "sum": lambda terms, kind_: sum(x for x, _ in terms) if kind_ == "f32" else wrap(sum(x for x, _ in terms), kind_),
    "max": _extremum(max, 0),
    "min": _extremum(min, 1),
    "argmax": _argmax,
}
