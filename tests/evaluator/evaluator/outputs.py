"""What an entry gives."""

from .errors import ExprError
from .tree import Output


def entry_outputs(program, e):
    """The outputs of an entry as `neoc describe` lists it: arrays by name."""
    results = {}
    for s in program.statements:
        if isinstance(s, Output) and s.entry == e["name"]:
            for path in s.paths:
                results[".".join(path)] = program.main.view().lookup(path, s.line).data
    if not results:
        raise ExprError(f"entry {e['name']} has no outputs")
    return results
