"""Mutations of outputs: tensors and gradients."""

from relations.syntax import DOTS, Binary, Call, Declare, Define, Output, Path, Range, Read, Reduce, Target, nodes, num, path

from .parts import FLOATS, fresh, outputs_of


def outputs_changed(r, statements):
    """One more tensor is given out, or one less."""
    outs = outputs_of(statements)
    names = [s.target.name for s in statements if isinstance(s, Define)]
    if not names:
        return None
    if len(outs) > 1 and r.random() < 0.3:
        return f"no output {outs.pop(r.randrange(len(outs)))[0]}"
    name = r.choice(names)
    if (name,) in outs:
        return None
    outs.append((name,))
    return f"output {name}"


def differentiated(r, statements):
    """The gradient of an output, or of its gradient, is given out too."""
    out = next((s for s in statements if isinstance(s, Output) and s.paths), None)
    targets = _targets(statements)
    if out is None or not targets:
        return None
    chosen, wrt, loss, grad = r.choice(out.paths), r.choice(targets), fresh(statements, "l"), fresh(statements, "g")
    new = [_scalar(loss, _loss(r, statements, chosen)), _gradient(grad, loss, wrt)]
    if r.random() < 0.4:
        square = Binary(0, "^", Read(0, path(grad), [DOTS]), num(2))
        new += [_scalar(loss + "2", _sum(square)), _gradient(grad + "2", loss + "2", r.choice(targets))]
    at = next(k for k, s in enumerate(statements) if s is out)
    statements[at:at] = new
    out.paths.append((new[-1].target.name,))
    return f"{new[-1].target.name}: the gradient of {'.'.join(chosen)} to {wrt}"


def _targets(statements):
    """Names of tensors that a gradient may be taken to."""
    declared = [s.variable for s in statements if isinstance(s, Declare) and s.kind in ("input", "param")]
    return ([v.name for v in declared if v.type is None or v.type.name in FLOATS] +
            [s.target.name for s in statements if isinstance(s, Define) and not s.more][:3])


def _loss(r, statements, out):
    """A scalar of an output: the sum of its elements or of their squares."""
    indices = {s.target.name: s.target.indices for s in nodes(statements) if isinstance(s, Define)}
    whole = len(out) > 1 or indices.get(out[0], True) or r.random() < 0.3
    y = Read(0, Path(0, out), [DOTS]) if whole else path(out[0])
    value = Binary(0, "^", y, num(2)) if r.random() < 0.5 else y
    return _sum(value) if whole else value


def _sum(value):
    return Reduce(0, "sum", [Range(0, DOTS)], None, value)


def _scalar(name, value):
    return Define(0, Target(0, name, None, None), [], value)


def _gradient(name, loss, wrt):
    return _scalar(name, Call(0, ("grad",), [(None, path(loss)), (None, path(wrt))]))


TABLE = {outputs_changed: 3, differentiated: 8}
