"""Calls of functions: arguments, sizes and options, own gradients; and `grad`.

A function that is called with elements of indexed tensors is computed for all points of the frame at once: its
definitions have the axes of the frame in front of their own.
"""

from . import duals, edges, elements, gradients, scalars, tape, vertices
from .errors import error
from .expressions import Expressions
from .parser import TYPES
from .reads import children
from .scopes import Block, FunctionIn, as_size
from .tree import DOTS, Path, Range, Vertex


def call(program, context, node, frame, count):
    """The results of a call, as a list."""
    if node.path == ("grad",) and not context.view.find("grad"):
        return gradients.grad(program, context, node, frame)
    function = context.view.lookup(node.path, node.line)
    if not isinstance(function, FunctionIn):
        error(node, f"'{'.'.join(node.path)}' is not a function")
    text = function.node
    prefix = _prefix(context, node)

    def begun(arguments):
        """The block of the call, with parameters and options."""
        block = Block(program, function.block.view(function.position), frame.hidden(), prefix,
                      context.view.block.rounds, function.block.path)
        block.key, block.text = context.view.block.key + (id(node),), text.body
        block.vertex = edges.vertex_of(context.view)
        bind_parameters(block, text.parameters, arguments, node, typed_options(program, context, text, node))
        bind_options(program, context, block, text, node)
        return block

    positional = [a for n, a in node.args if n is None]
    if len(positional) != len(text.parameters):
        error(node, f"'{text.name}' takes {len(text.parameters)} arguments, here are {len(positional)}")
    arguments = [context.whole(a, frame) for a in positional]
    if isinstance(text, Vertex):
        return vertices.run(program, function, arguments, begun, node)
    block = begun(arguments)
    program.declare(text.body, block)
    with tape.masked(block.frame.mask):
        results = [block.view().lookup((r,), node.line) for r in text.results]
    if text.grad_body is not None:
        if any(isinstance(a.data, duals.Dual) for a in arguments):
            results = gradients.own_forward(program, text, begun, arguments)
        return gradients.with_own(program, block, text, arguments, results)
    return results


def positional(program, statement, count, text):
    """The arguments that a train statement passes to its optimizer after the trained tensor and its gradient."""
    given = [a for n, a in statement.args if n is None]
    if len(given) != count:
        error(statement, f"'{text.name}' takes {count} arguments, here are {len(given)}")
    view = program.main.view()
    return [Expressions(view, program).whole(a, view.frame) for a in given]


def _prefix(context, node):
    """The prefix of the names of the call's parameters."""
    block = context.view.block
    base = block.qualified(context.target) if context.target else block.prefix
    if node is context.direct:
        return base
    name = node.path[-1]
    taken = block.calls.setdefault(base, {})
    taken[name] = taken.get(name, 0) + 1
    name = name if taken[name] == 1 else f"{name}{taken[name]}"
    return f"{base}.{name}" if base else name


# ---- parameters


def bind_parameters(block, variables, arguments, node, options=()):
    """The names of the parameters, and of the sizes in their brackets. `options`: pairs of the type that is written for
    an option, and of that of what is given, None where nothing is."""
    later = []
    bind_types(block, [(v.type, a.type) for v, a in zip(variables, arguments)] + list(options))
    for variable, argument in zip(variables, arguments):
        kind = variable.type and block.view().kind(variable.type)
        if kind and argument.type in scalars.LITERALS:
            argument = elements.convert(argument, kind)
        if kind and argument.type != kind:
            error(node, f"this argument is {argument.type}, '{variable.name}' is {kind}")
        block.define(variable.name, argument, line=node.line)
        axes = _against(block, variable, argument, node)
        later += [(axis, n, variable) for axis, n in axes if not _fixed(block, axis, n, node)]
        if variable.type and variable.type.bound is not None and argument.bound is not None:
            bound = argument.bound - int(variable.type.closed)
            if isinstance(variable.type.bound, Path) and variable.type.bound.names[0] not in block.names:
                block.define(variable.type.bound.names[0], bound)
    for axis, n, variable in later:
        _solve(block, axis, n, node)


def bind_types(block, pairs):
    """Type variables: the first argument with a type that has one binds it, then the first option; f32 where none
    does. `pairs` are of what is written and what is given."""
    pairs = [(written, given) for written, given in pairs if written]
    for written, given in pairs:
        if not written.wide and given is not None and given not in scalars.LITERALS:
            block.types.setdefault(written.name, given)
    for written, _ in pairs:
        block.types.setdefault(written.name, "f32")
    for name in TYPES:
        block.types.pop(name, None)


def _against(block, variable, argument, node):
    """Pairs of an axis and the extent that it has in the argument."""
    axes, shape = variable.axes or [], argument.shape
    dots = next((k for k, a in enumerate(axes) if a is DOTS), None)
    wrong = len(axes) != len(shape) if dots is None else len(axes) - 1 > len(shape)
    if wrong:
        error(node, f"'{variable.name}' takes {len(axes)} dimensions, this argument has {len(shape)}")
    if dots is None:
        return list(zip(axes, shape))
    after = len(axes) - dots - 1
    block.dots = shape[dots:len(shape) - after] if block.dots is None else block.dots
    return list(zip(axes[:dots], shape[:dots])) + list(zip(axes[dots + 1:], shape[len(shape) - after:]))


def _fixed(block, axis, n, node):
    """A size by its name alone, which is bound to n; False where it is an expression."""
    if isinstance(axis, Range):
        axis = axis.upper
    if not isinstance(axis, Path):
        return False
    name = axis.names[0]
    if name not in block.names:
        block.define(name, int(n))
    elif as_size(block.names[name][1]) != n:
        error(node, f"dimension of extent {n}, but {name} = {as_size(block.names[name][1])}")
    return True


def _solve(block, axis, n, node):
    """An expression over sizes equals n: one size in it may be new."""
    unknown = {m for m in _sizes(axis) if block.view().find(m) is None}
    if len(unknown) > 1:
        error(node, f"this extent has {len(unknown)} unknown sizes")
    if not unknown:
        value = Expressions(block.view(), block.program).size(axis)
        if value != n:
            error(node, f"dimension of extent {n}, expected {value}")
        return
    name = unknown.pop()
    for guess in range(n + 1):
        trial = Block(block.program, block.view())
        trial.define(name, guess)
        if Expressions(trial.view(), block.program).size(axis) == n:
            block.define(name, guess)
            return
    error(node, f"no size '{name}' gives the extent {n}")


def _sizes(node):
    if isinstance(node, Path):
        return {node.names[0]}
    return set().union(*[_sizes(c) for c in children(node)]) if children(node) else set()


# ---- options


def bind_options(program, context, block, text, node):
    """Options by name, evaluated where the call stands; defaults where the function does."""
    known = [name for name, _, _, _ in text.options]
    for name, _ in node.args:
        if name is not None and name not in known:
            error(node, f"'{text.name}' has no option '{name}'")
    for name, default, _, kind in text.options:
        value = option(program, context.view, block, node, name, default)
        block.define(name, in_type(block, kind, value), line=node.line)


def typed_options(program, context, text, node):
    """By option, the declared type and the type of the value in the call."""
    given = dict(a for a in node.args if a[0] is not None)
    return [(kind, Expressions(context.view, program).value(given[name], context.view.frame).type if name in given
             else None) for name, _, _, kind in text.options if kind is not None]


def in_type(block, kind, value):
    """An option in the type that is written for it; a literal stays one."""
    if kind is None or value.type in scalars.LITERALS + ("bool",):
        return value
    return elements.convert(value, block.view().kind(kind))


def option(program, view, block, node, name, default):
    """The value of an option of a call, or of a train statement."""
    given = [a for n, a in node.args if n == name]
    if given:
        return Expressions(view, program).value(given[0], view.frame)
    if default is None:
        error(node, f"the option '{name}' is needed")
    return Expressions(block.view(), program).value(default, block.frame)
