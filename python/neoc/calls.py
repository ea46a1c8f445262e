"""Messages about a call whose arguments are not those that the operator or the entry takes.

A message says what is wrong and what is taken, with the name that may have been meant:

    C() needs the argument 'k'; it takes (A[i, k], k, B[k, j]) -> C[i, j]
    'k' is bound by no index: write sum[k] ..., ...
"""

from __future__ import annotations

from .text import read_names

TYPE_CHECKING = False  # typing is for checkers alone: its import takes longer than ours
if TYPE_CHECKING:
    from typing import Iterable, Mapping, Sequence

    from .op import Op


def meant(name: str, known: Iterable[str]) -> str:
    """"; did you mean 'softmax'?" where one of the names is near to `name`, else nothing."""
    import difflib
    names = {k.lower(): k for k in known}
    found = difflib.get_close_matches(name.lower(), names, 1, 0.7)
    return f"; did you mean '{names[found[0]]}'?" if found else ""


def no_function(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """The exception of an attribute that a module of the library does not have."""
    return AttributeError(f"{module} has no function '{name}'{meant(name, known)}",
                          name=name)


# ---------------------------------------------------------------- operators

def unbound_names(text: str) -> frozenset[str]:
    """Arguments of a text that stand in it as subscripts by themselves alone, such as `k` in
    A[i, k]*B[k, j]: mostly indices that no reducer and no left side binds."""
    return frozenset(str(row["name"]) for row in read_names(text).reads
                     if row["subscript"] and row["rank"] == 0 and not row["size"])


def unbound_hint(names: Iterable[str]) -> str:
    """How a name that was meant as an index is bound."""
    return "\n".join(
        f"'{k}' is bound by no index: write sum[{k}] ..., or parentheses around what the reducer "
        "takes in, or an index that the left side or a reducer has" for k in names)


def _what(op: Op, given: int, named: Sequence[str]) -> str:
    """The mistake in a call with `given` arguments by position, and with these names."""
    names = op.arguments
    if given > len(names):
        return f"takes {len(names)} arguments, {given} were given"
    for word in named:
        if word not in names and word != "out":
            return f"got an unexpected argument '{word}'{meant(word, names)}"
        if word in names[:given]:
            return f"got two values for the argument '{word}'"
    return f"needs the argument '{next(k for k in names[given:] if k not in named)}'"


def misfit(op: Op, given: int, named: Sequence[str]) -> str:
    """The message of a call with arguments that are too few, too many, or unknown."""
    what = _what(op, given, named)
    unbound = unbound_names(op._written)
    hint = unbound_hint(k for k in op.arguments if k in unbound and k not in named)
    takes = f"{op.__name__}() {what}{'' if what.endswith('?') else ';'} it takes {op.signature}"
    return takes + (f"\n{hint}" if hint else "")


def ordered(op: Op, names: Sequence[str], args: Sequence[object],
            named: Mapping[str, object]) -> list[object]:
    """The arguments of a call in the operator's order; names: op.arguments. TypeError where they
    are not its. Plain loops, which PyTorch's Dynamo traces."""
    values = dict(zip(names, args))
    fits = len(args) <= len(names) and len(args) + len(named) == len(names)
    for name in named:
        fits = fits and name in names and name not in values
    if not fits:
        raise TypeError(misfit(op, len(args), tuple(named)))
    values.update(named)
    return [values[name] for name in names]


# ---------------------------------------------------------------- entries of models

def entry_misfit(name: str, what: str, word: str, inputs: Sequence[str],
                 settings: Sequence[str] = ()) -> str:
    """The message of a call of an entry that is wrong about the argument `word`."""
    near = meant(word, [*inputs, *settings]) if "unexpected" in what else ""
    more = f", and the settings {', '.join(settings)}" if settings else ""
    return f"{name}() {what}{near or ';'} it takes {', '.join(inputs) or 'no inputs'}{more}"
