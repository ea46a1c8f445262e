"""numpy's functions of tensors.

Each adds a definition to the trace. Arguments are tensors, arrays, sizes and Python's numbers; a
number takes the type of the tensor beside it. Shapes broadcast by numpy's rules.
"""
# ruff: noqa: F401
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
