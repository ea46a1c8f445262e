"""Training entries: which parameters are trained, optimizers, and what `update` does when a step ends."""

import numpy as np

from . import calls, elements, gradients, scalars, tape
from .errors import error
from .reads import names
from .scopes import Block, FunctionIn
from .tree import Train


def entry_statements(program, entry):
    return [s for s in program.statements if isinstance(s, Train) and s.entry == entry]


def loss_of(program, statement):
    loss = program.main.view().lookup(statement.loss, statement.line)
    if not isinstance(loss, tape.Tensor) or loss.rank or not scalars.is_float(loss.type):
        error(statement, f"loss '{'.'.join(statement.loss)}' must be a scalar float that the model defines")
    return loss


def trained(program, statements):
    """For every train statement of an entry, the names of the parameters that it trains."""
    loss = loss_of(program, statements[0])
    reached = tape.ancestors(loss)
    params = [n for n, kind in program.kinds.items() if kind == "param" and id(program.stored[n]) in reached]
    named = set()
    for s in statements:
        if s.over:
            named |= {n for n in params if _fits_any(n, s.over)}
    result = []
    for s in statements:
        if s.over:
            result.append([n for n in params if _fits_any(n, s.over)])
        else:
            result.append([n for n in params if n not in named and not (s.excepted and _fits_any(n, s.excepted))])
    return result


def _fits_any(name, patterns):
    return any(_fits(name.split("."), list(p)) for p in patterns)


def _fits(parts, pattern):
    """Components one by one; a last `*` is one or more, and a whole name stands for all that it owns."""
    if len(pattern) > len(parts):
        return False
    return all(p in ("*", n) for p, n in zip(pattern, parts))


def train_gradients(program, entry):
    """The loss of an entry and the gradients of its trained parameters by name."""
    statements = entry_statements(program, entry)
    loss = loss_of(program, statements[0])
    groups = trained(program, statements)
    wanted = [n for group in groups for n in group]
    found = gradients.of(loss, tape.constant(1.0, loss.type), [program.stored[n] for n in wanted])
    return statements, groups, loss, dict(zip(wanted, found))


def train_step(program, entry):
    """(outputs, new values of parameters and states), arrays by name."""
    statements, groups, loss, found = train_gradients(program, entry)
    program.force()
    norm = np.sqrt(sum(float((g.data ** 2).sum()) for g in found.values()))
    program.settings["global_norm"] = tape.constant(norm, loss.type)
    steps = f"{entry}.step"
    before = int(np.asarray(program.inputs.get(steps, program.step)))
    program.settings["step"] = tape.constant(before, "i64")  # in optimizers: the steps of this entry alone
    updates = new_values(program)
    for s, group in zip(statements, groups):
        for name in group:
            _optimize(program, s, name, found[name])
    updates.update(new_values(program))
    updates[steps] = np.array(before + 1)
    return {".".join(statements[0].loss): loss.data}, updates


def new_values(program, wanted=None):
    """The updated values by full names; of a state in a loop, the values of all iterations."""
    result = {}
    for full, entries in list(program.updates.items()):
        if wanted is not None and full not in wanted:
            continue
        before = program.stored.get(full)
        for rounds, lazy in entries:
            value = lazy.get()
            before = before or program.stored[full]
            data = result.setdefault(full, np.array(before.data))
            data[tuple(k for k, _ in rounds)] = elements.convert(value, before.type).data
    return result


def _optimize(program, s, name, gradient):
    """One instance of an optimizer, for one parameter."""
    function = program.main.view().lookup(s.using, s.line)
    if not isinstance(function, FunctionIn):
        error(s, f"'{'.'.join(s.using)}' is not an optimizer")
    text, leaf = function.node, program.stored[name]
    block = Block(program, function.block.view(function.position), None, f"{name}.{text.name}")
    arguments = [leaf, gradient] + calls.positional(program, s, len(text.parameters) - 2, text)
    calls.bind_parameters(block, text.parameters, arguments, s)
    block.trained[text.parameters[0].name] = name
    norm = program.settings["global_norm"]
    rounded = tape.constant(scalars.round_to(norm.data, leaf.type), leaf.type)
    rounded.unrounded = norm.data
    block.define("global_norm", rounded)
    for option, default, is_input, kind in text.options:
        value = None
        if is_input:
            value = _setting(program, s, option)
        if value is None:
            value = calls.option(program, program.main.view(), block, s, option, default)
        if kind is not None:
            value = calls.in_type(block, kind, value)
        elif is_input:
            value = _as_type(value, leaf.type)
        block.define(option, value)
    program.declare(text.body, block)


def settings(program):
    """The names of settable options: {(train statement, option): name}. One whose value depends on the step is none;
    the name says the entry where several statements have the option, and has a number where it is taken."""
    places = []
    for s in program.statements:
        if isinstance(s, Train):
            function = program.main.view().lookup(s.using, s.line)
            given = dict(s.args)
            places += [(s, name) for name, _, is_input, _ in function.node.options
                       if is_input and not (name in given and "step" in names(given[name]))]
    result, taken = {}, set(program.main.names)
    for s, name in places:
        alone = sum(other == name for _, other in places) == 1
        full = base = name if alone else f"{s.entry}.{name}"
        count = 2
        while full in taken:
            full = f"{base}{count}"
            count += 1
        taken.add(full)
        result[id(s), name] = full
    return result


def _setting(program, s, option):
    name = settings(program).get((id(s), option))
    if name is not None and name in program.inputs:
        return tape.constant(float(np.asarray(program.inputs[name])), "f64")
    return None


def _as_type(value, kind):
    return elements.convert(value, kind) if scalars.is_float(value.type) else value
