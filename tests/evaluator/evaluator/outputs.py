"""The results of an entry: its outputs and the tensors that it changes."""

from . import training
from .errors import ExprError
from .tree import Output, Train


def kind_of(program, entry):
    """forward, train or grad; the gradients of an entry `d` are the entry grad_d, those of `step` grad."""
    for s in program.statements:
        if isinstance(s, Output) and s.entry == entry:
            return "forward"
        if isinstance(s, Train) and s.entry == entry:
            return "train"
    if entry == "grad" or entry.startswith("grad_"):
        return "grad"
    raise ExprError(f"there is no entry '{entry}'")


def outputs(program, entry):
    """(outputs, changed parameters and states), arrays by name."""
    kind = kind_of(program, entry)
    program.training = kind != "forward"
    program.finished = 0 if program.training else program.finished
    if kind == "forward":
        return _forward(program, entry)
    if kind == "train":
        return training.train_step(program, entry)
    statements, _, loss, found = training.train_gradients(program, entry[5:] or "step")
    results = {".".join(statements[0].loss): loss.data}
    results.update({f"grad:{n}": g.data for n, g in found.items()})
    return results, {}


def _forward(program, entry):
    results, changed, updates = {}, {}, False
    for s in program.statements:
        if isinstance(s, Output) and s.entry == entry:
            for path in s.paths:
                results[".".join(path)] = program.main.view().lookup(path, s.line).data
            updates = updates or [".".join(p) for p in s.updates]
    if updates:
        program.force()
        changed = training.new_values(program, {n for n in program.updates if training._fits_any(
            n, [tuple(u.split(".")) for u in updates])})
    return results, changed
