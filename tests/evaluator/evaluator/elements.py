"""Operators and functions of elements, with their types: docs/language.md, "Expressions" and "Types"."""

import numpy as np

from . import scalars, tape
from .errors import error

CONVERSIONS = ("f64", "f32", "f16", "bf16", "i64", "i32", "i8", "u8", "bool")
UNARY = {"sqrt": tape.sqrt, "rsqrt": tape.rsqrt, "exp": tape.exp, "expm1": tape.expm1, "log": tape.log,
         "log1p": tape.log1p, "sin": tape.sin, "cos": tape.cos, "tan": tape.tan, "tanh": tape.tanh,
         "sigmoid": tape.sigmoid, "gelu": tape.gelu, "silu": tape.silu, "softplus": tape.softplus, "elu": tape.elu,
         "erf": tape.erf}
STEPS = {"floor": np.floor, "ceil": np.ceil, "round": np.rint}
NAMES = set(UNARY) | set(STEPS) | set(CONVERSIONS) | {"select", "min", "max", "clamp", "abs", "sign", "relu", "rand",
                                                      "stop", "wide"}


def bool_tensor(data):
    data = np.asarray(data, dtype=np.bool_)
    return tape.Tensor(data, "bool", data.ndim)


def integer_tensor(data, kind):
    data = np.asarray(data, dtype=np.int64)
    return tape.Tensor(data, kind, data.ndim)


def retype(a, kind):
    """The same elements under another name of their type. A literal takes the nearest number of the type."""
    if a.type == kind:
        return a
    if a.type in scalars.LITERALS and scalars.is_float(kind) and not a.tracked:
        return tape.Tensor(scalars.round_to(a.data.astype(np.float64), kind), kind, a.lead)
    if scalars.is_float(kind) and scalars.is_float(a.type):
        result = tape.node(a.data, kind, a.lead, (a,), lambda g: (g,))
    else:
        result = tape.Tensor(a.data.astype(scalars.dtype(kind)), kind, a.lead)
    result.bound = a.bound
    return result


def rounded(a):
    """An f16 or bf16 element rounded to its type."""
    if a.type not in ("f16", "bf16"):
        return a
    return tape.node(scalars.round_to(a.data, a.type), a.type, a.lead, (a,), lambda g: (g,))


def convert(a, kind):
    """Conversions such as `f32(a)`; between floats the gradient passes through."""
    if a.type == kind:
        return a
    if a.type in scalars.LITERALS and scalars.is_float(kind):
        return retype(a, kind)
    data = scalars.convert(a.data, a.type, kind)
    if scalars.is_float(kind) and scalars.is_float(a.type):
        return tape.node(data, kind, a.lead, (a,), lambda g: (g,))
    result = tape.Tensor(data, kind, a.lead)
    result.bound = a.bound if scalars.is_integer(a.type) and scalars.is_integer(kind) else None
    return result


def unify(a, b, line):
    """Both operands as one type: a literal takes that of the other side, sizes and indices mix as i64."""
    if a.type == b.type:
        return a, b
    kind = _common(a.type, b.type)
    if kind is None:
        error(line, f"operands have different types: {a.type} and {b.type}")
    return retype(a, kind), retype(b, kind)


def _common(a, b):
    for one, other in ((a, b), (b, a)):
        if one == "int" and other != "bool" or one == "float" and scalars.is_float(other):
            return other
        if one == "index" and scalars.is_integer(other) and other != "int":
            return "i64"
    return None


def _overflows(value, kind):
    return scalars.is_integer(kind) and (scalars.wrap(value, kind) != value).any()


def arithmetic(op, a, b, line):
    if op == "^":
        return _power(a, b, line)
    a, b = unify(a, b, line)
    if a.type == "bool":
        error(line, f"bool has no '{op}'")
    if scalars.is_float(a.type):
        operation = {"+": tape.add, "-": tape.sub, "*": tape.mul, "/": tape.div, "%": tape.modulo}[op]
        return rounded(operation(a, b))
    x, y = _aligned(a, b)
    data = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": scalars.floor_divide, "%": scalars.floor_modulo}[op](
        x, y)
    return integer_tensor(scalars.wrap(data, a.type), a.type)


def _aligned(a, b):
    count = max(a.data.ndim, b.data.ndim)
    return tape.expand(a, count).data, tape.expand(b, count).data


def _power(a, b, line):
    if scalars.is_integer(a.type) and scalars.is_integer(b.type):
        if b.data.size != 1:
            error(line, "an integer's exponent is a constant")
        exponent = int(b.data.reshape(()))
        if exponent < 0:
            error(line, "an integer's exponent is a constant from 0 on")
        return integer_tensor(scalars.integer_power(a.data, exponent, a.type), a.type)
    if b.type in ("int", "index") and b.data.size == 1:
        b = retype(b, a.type)
    a, b = unify(a, b, line)
    return rounded(tape.power(a, b))


def compare(op, a, b, line):
    if not (scalars.is_integer(a.type) and scalars.is_integer(b.type)):
        a, b = unify(a, b, line)
    x, y = _aligned(a, b)
    function = {"==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
                ">=": np.greater_equal}[op]
    return bool_tensor(function(x, y))


def negate(a):
    if scalars.is_float(a.type):
        return tape.neg(a)
    return integer_tensor(scalars.wrap(-a.data, a.type), a.type)


def choose(condition, a, b, line):
    a, b = unify(a, b, line)
    return tape.choose(condition, a, b)


def extreme(kind, a, b, line):
    """min and max of two: NaN wins, the gradient goes to the first of equals."""
    a, b = unify(a, b, line)
    x, y = _aligned(a, b)
    first = x >= y if kind == "max" else x <= y
    if scalars.is_float(a.type):
        first = np.isnan(x) | (first & ~np.isnan(y))
    return tape.choose(np.asarray(first), a, b)


def clamp(x, low, high, line):
    """x on [low, high], where its derivative is 1."""
    x, low = unify(x, low, line)
    x, high = unify(x, high, line)
    x, low = unify(x, low, line)
    u, v = _aligned(x, low)
    below = np.asarray(u < v)
    result = tape.choose(below, low, x)
    u, v = _aligned(result, high)
    above = np.asarray(u > v)
    return tape.choose(above, high, tape.choose(below, low, tape.where_number(x)))


def function(name, args, line):
    """A function of elements, but for `select`, `rand` and `stop`, whose arguments are not all values."""
    a = args[0]
    if name in CONVERSIONS:
        return convert(a, name)
    if name in ("min", "max"):
        return extreme(name, a, args[1], line)
    if name == "clamp":
        return clamp(a, args[1], args[2], line)
    if scalars.is_integer(a.type) and (a.type not in scalars.LITERALS or a.type == "int"):
        if name == "abs":
            return integer_tensor(np.abs(a.data) if a.type == "int" else scalars.wrap(np.abs(a.data), a.type), a.type)
        if name == "sign":
            return integer_tensor(np.sign(a.data), a.type)
        if name == "relu":
            return integer_tensor(np.maximum(a.data, 0), a.type)
    if a.type == "int":
        a = retype(a, "float")
    if not scalars.is_float(a.type):
        error(line, f"'{name}' needs a float, this is {a.type}")
    if name == "relu":
        return tape.relu(a)
    if name == "abs":
        return tape.absolute(a)
    if name == "sign":
        return tape.stepwise(np.sign(a.data), a)
    if name in STEPS:
        return tape.stepwise(STEPS[name](a.data), a)
    return rounded(UNARY[name](a))
