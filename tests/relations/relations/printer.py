"""The tree to text: every rule of the grammar, with more parentheses than a person would write."""

from .syntax import (DOTS, Assert, Bind, Binary, Call, Case, Collect, Declare, Define, Dim, Else, Function, Gather, Graph,
                     Import, Number, Optimizer, Output, Path, Push, Range, Read, Reduce, Repeat, Target, Train, Type, Unary,
                     Variable, Vertex, While)


def text_of(statements):
    """A whole file."""
    return "".join(line + "\n" for s in statements for line in _statement(s))


def expression(node):
    """An expression as it stands where the loosest level may."""
    return _EXPRESSIONS[type(node)](node)


def _tight(node):
    """The same as an atom: in parentheses, unless it is one already."""
    plain = isinstance(node, (Path, Call, Read, Else)) or (isinstance(node, Number) and not _negative(node))
    return expression(node) if plain else f"({expression(node)})"


def _negative(node):
    return not isinstance(node.value, bool) and node.value < 0


def number(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value)


def _list(value):
    if isinstance(value, list):
        return "[" + ", ".join(_list(v) for v in value) + "]"
    return number(value)


def _subscript(node):
    return ".." if node is DOTS else expression(node)


def _binary(node):
    space = "" if node.op == "^" else " "
    return f"{_tight(node.a)}{space}{node.op}{space}{_tight(node.b)}"


def range_of(r):
    if r.name is DOTS:
        return ".."
    lower = "" if r.lower is None else f"{_tight(r.lower)} {'<' if r.lower_open else '<='} "
    upper = "" if r.upper is None else f" {'<=' if r.upper_closed else '<'} {_tight(r.upper)}"
    return lower + r.name + upper


def _reduce(node):
    where = "" if node.where is None else f" where {expression(node.where)}"
    return f"{node.kind}[{', '.join(map(range_of, node.ranges))}{where}] {_tight(node.body)}"


def _args(args):
    return "(" + ", ".join(expression(e) if n is None else f"{n} = {expression(e)}" for n, e in args) + ")"


_EXPRESSIONS = {
    Number: lambda n: number(n.value),
    Path: lambda n: ".".join(n.names),
    Call: lambda n: ".".join(n.path) + _args(n.args),
    Read: lambda n: f"{expression(n.base)}[{', '.join(map(_subscript, n.subscripts))}]",
    Unary: lambda n: f"{n.op}{' ' if n.op == 'not' else ''}{_tight(n.a)}",
    Binary: _binary,
    Reduce: _reduce,
    Else: lambda n: f"({expression(n.read)} else {expression(n.value)})",
}


def _type(t):
    if t is None:
        return ""
    lower = "" if t.lower is None else f"{_tight(t.lower)} <= "
    upper = "" if t.bound is None else f" {'<=' if t.closed else '<'} {_tight(t.bound)}"
    return f" : {lower}{f'wide({t.name})' if t.wide else t.name}{upper}"


def _axis(axis):
    return range_of(axis) if isinstance(axis, Range) else _subscript(axis)


def _variable(v):
    axes = "" if v.axes is None else f"[{', '.join(map(_axis, v.axes))}]"
    return v.name + axes + _type(v.type)


def _target(t):
    indices = "" if t.indices is None else f"[{', '.join(map(range_of, t.indices))}]"
    return t.name + indices + _type(t.type)


def _edges(edges):
    """Places for children, or lists of edges: `edges <= 6`, `word.edges <= 6`."""
    words = [f"{kind}.edges" if kind else "edges" if is_list else "children" for is_list, kind, _ in edges]
    return ", ".join(f"{word} <= {_tight(most)}" for word, (_, _, most) in zip(words, edges))


def _gathered(variable, default):
    return _variable(variable) + (f" = {expression(default)}" if default else "")


def _bindings(bindings):
    return ", ".join(f"{_target(t)} = {expression(e)}" for t, e in bindings)


def _block(head, body):
    return [head + " {"] + ["  " + line for s in body for line in _statement(s)] + ["}"]


def _signature(parameters, options):
    parts = ", ".join(map(_variable, parameters))
    if options:
        one = [("input " if is_input else "") + n + _type(kind) + ("" if e is None else f" = {expression(e)}")
               for n, e, is_input, kind in options]
        parts += "; " + ", ".join(one)
    return f"({parts})"


def _region(head, value):
    if isinstance(value, Repeat):
        start = f" from {_bindings(value.carries)}" if value.carries else ""
        down = " down" if value.down else ""
        return _block(f"{head}{value.kind} {value.index} < {_tight(value.count)}{down}{start}", value.body)
    if isinstance(value, While):
        return _block(f"{head}while {expression(value.condition)} limit {_tight(value.limit)} from "
                      f"{_bindings(value.carries)}", value.body)
    if isinstance(value, Case):
        lines = [f"{head}case {expression(value.value)} {{"]
        for label, body in value.branches:
            lines += ["  " + line for line in _block("else" if label is None else number(label), body)]
        return lines + ["}"]
    return [head + expression(value)]


def _declare(s):
    value = "" if s.value is None else f" = {_list(s.value) if isinstance(s.value, list) else expression(s.value)}"
    return [f"{s.kind} {_variable(s.variable)}{value}"]


def _dim(s):
    if s.value is not None:
        return [f"dim {s.name} = {expression(s.value)}"]
    return [f"dim {_tight(s.lower)} <= {s.name} <= {_tight(s.upper)}"]


def _function(s):
    lines = _block(f"fn {s.name}{_signature(s.parameters, s.options)} -> {', '.join(s.results)}", s.body)
    if s.grad_body is not None:
        more = _block(f"grad({', '.join(s.grad_parameters)}) -> {', '.join(s.grad_results)}", s.grad_body)
        lines = lines[:-1] + ["} " + more[0]] + more[1:]
    return lines


def _output(s):
    update = f" update {', '.join('.'.join(p) for p in s.updates)}" if s.updates else ""
    entry = "" if s.entry == "forward" else f"{s.entry}: "
    return [f"output {entry}{', '.join('.'.join(p) for p in s.paths)}{update}"]


def _train(s):
    entry = "" if s.entry == "step" else f"{s.entry}: "
    patterns = "".join(f" {word} {', '.join('.'.join(p) for p in parts)}"
                       for word, parts in (("over", s.over), ("except", s.excepted)) if parts)
    return [f"train {entry}{'.'.join(s.loss)}{patterns} using {'.'.join(s.using)}{_args(s.args)}"]


def _vertex(s):
    return _block(f"vertex {s.name}{_signature(s.parameters, s.options)} over {s.graph}{' down' if s.down else ''}", s.body)


_STATEMENTS = {
    Import: lambda s: ["import " + ", ".join(n if n == a else f"{n} as {a}" for n, a in s.names)],
    Dim: _dim,
    Assert: lambda s: [f"assert {expression(s.condition)}"],
    Declare: _declare,
    Define: lambda s: _region(", ".join([_target(s.target)] + s.more) + " = ", s.value),
    Bind: lambda s: [f"{s.kind} {_bindings(s.bindings)}"],
    Gather: lambda s: ["gather " + ", ".join(_gathered(v, e) for v, e in s.bindings)],
    Collect: lambda s: [f"collect {', '.join(s.names)}"],
    Push: lambda s: [f"push {s.name}"],
    Graph: lambda s: [f"graph {s.name}({_edges(s.edges)}, vertices <= {_tight(s.vertices)})"],
    Function: _function,
    Vertex: _vertex,
    Optimizer: lambda s: _block(f"optimizer {s.name}{_signature(s.parameters, s.options)}", s.body),
    Output: _output,
    Train: _train,
}


def _statement(s):
    return _STATEMENTS[type(s)](s)
