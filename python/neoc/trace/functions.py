"""numpy's functions of tensors.

Each adds a definition to the trace. Arguments are tensors, arrays, sizes and Python's numbers; a
number takes the type of the tensor beside it. Shapes broadcast by numpy's rules.
"""
from .broadcast import (
    aligned, astype, broadcast, can_be_operand, convert, converted, is_scalar, literal,
    operands_of, pointwise)
from .elements import (
    abs, absolute, add, around, ceil, cos, cosh, divide, elu, erf, exp, exp2, expm1, fabs,
    float_power, floor, floor_divide, gelu, hypot, log, log10, log1p, log2, mod, multiply,
    negative, positive, power, reciprocal, relu, remainder, rint, round, rsqrt, sigmoid, sign,
    silu, sin, sinh, softplus, sqrt, square, subtract, tan, tanh, true_divide)
from .choices import (
    bitwise_and, bitwise_or, bitwise_xor, clip, equal, fix, fmod, greater, greater_equal, invert,
    isfinite, isinf, isnan, less, less_equal, logaddexp, logical_and, logical_not, logical_or,
    logical_xor, maximum, minimum, nan_to_num, not_equal, trunc, where)
from .reductions import (
    all, amax, amin, any, argmax, argmin, average, axes_of, count_nonzero, cumprod, cumsum, diff,
    logsumexp, max, mean, min, prod, ptp, reduced, std, sum, var)
from .shapes import (
    atleast_1d, atleast_2d, broadcast_arrays, broadcast_to, expand_dims, matrix_transpose,
    moveaxis, permute_dims, ravel, regrouped, reshape, squeeze, swapaxes, transpose)
from .arranged import (
    argsort, chosen, concat, concatenate, diag, diagonal, flip, hstack, pad, repeat_elements,
    roll, sort, split, stack, take, take_along_axis, tile, trace, tril, triu, unstack, vstack)
from .products import (
    dot, einsum, guarded, inner, kron, matmul, outer, stop, tensordot, vdot)
from .make import lift

__all__ = [
    "abs", "absolute", "add", "aligned", "all", "amax", "amin", "any", "argmax", "argmin",
    "argsort", "around", "astype", "atleast_1d", "atleast_2d", "average", "axes_of",
    "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast", "broadcast_arrays", "broadcast_to",
    "can_be_operand", "ceil", "chosen", "clip", "concat", "concatenate", "convert", "converted",
    "cos", "cosh", "count_nonzero", "cumprod", "cumsum", "diag", "diagonal", "diff", "divide",
    "dot", "einsum", "elu", "equal", "erf", "exp", "exp2", "expand_dims", "expm1", "fabs", "fix",
    "flip", "float_power", "floor", "floor_divide", "fmod", "gelu", "greater", "greater_equal",
    "guarded", "hstack", "hypot", "inner", "invert", "is_scalar", "isfinite", "isinf", "isnan",
    "kron", "less", "less_equal", "lift", "literal", "log", "log10", "log1p", "log2", "logaddexp",
    "logical_and", "logical_not", "logical_or", "logical_xor", "logsumexp", "matmul",
    "matrix_transpose", "max", "maximum", "mean", "min", "minimum", "mod", "moveaxis", "multiply",
    "nan_to_num", "negative", "not_equal", "operands_of", "outer", "pad", "permute_dims",
    "pointwise", "positive", "power", "prod", "ptp", "ravel", "reciprocal", "reduced",
    "regrouped", "relu", "remainder", "repeat_elements", "reshape", "rint", "roll", "round",
    "rsqrt", "sigmoid", "sign", "silu", "sin", "sinh", "softplus", "sort", "split", "sqrt",
    "square", "squeeze", "stack", "std", "stop", "subtract", "sum", "swapaxes", "take",
    "take_along_axis", "tan", "tanh", "tensordot", "tile", "trace", "transpose", "tril", "triu",
    "true_divide", "trunc", "unstack", "var", "vdot", "vstack", "where"]
