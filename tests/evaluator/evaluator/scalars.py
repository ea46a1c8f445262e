"""The types of elements: how their values are kept in numpy, how they wrap, round and convert.

Floats are kept as float64, whatever their type; integers as int64 that are wrapped after each operation; bools as
bool. Some types exist beside those of the language: `index` (sizes and indices), `int` and `float` (literals, which
take the type of the other side), and `f16 sum`, `bf16 sum` (numbers within a sum of such a type, not yet rounded).
"""

import numpy as np

from . import duals

FLOATS = ("f64", "f32", "f16", "bf16", "float", "f16 sum", "bf16 sum")
INTEGERS = {"i64": (64, True), "i32": (32, True), "i8": (8, True), "u8": (8, False), "index": (64, True),
            "int": (64, True)}
EXACT = "exact"  # how integers count within subscripts and bounds: as i64
WIDE = {"i8": "i32", "u8": "i32", "f16": "f16 sum", "bf16": "bf16 sum"}  # in what a sum of them gathers
WIDENED = {"i8": "i32", "u8": "i32", "f16": "f32", "bf16": "f32"}  # what wide() gives
SUMMED = {"f16 sum": "f16", "bf16 sum": "bf16"}  # to what such a sum is rounded in the end
LITERALS = ("int", "float")


def is_float(kind):
    return kind in FLOATS


def is_integer(kind):
    return kind in INTEGERS


def dtype(kind):
    """How numpy keeps elements of this type."""
    return np.float64 if is_float(kind) else np.bool_ if kind == "bool" else np.int64


def wrap(data, kind):
    """Integers modulo the width of their type."""
    bits, signed = INTEGERS[kind]
    if bits == 64:
        return data
    low = data & ((1 << bits) - 1)
    return np.where(low >> (bits - 1), low - (1 << bits), low) if signed else low


def round_to(data, kind):
    """Floats rounded to the numbers of a type; to nearest, ties to even. Derivatives are not rounded."""
    if isinstance(data, duals.Dual):
        return duals.with_values(data, lambda x: round_to(x, kind))
    if kind == "f32":
        return data.astype(np.float32).astype(np.float64)
    if kind == "f16":
        return data.astype(np.float16).astype(np.float64)
    if kind == "bf16":
        bits = np.ascontiguousarray(data, dtype=np.float32).view(np.uint32).astype(np.uint64)
        bits = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        rounded = bits.astype(np.uint32).view(np.float32).astype(np.float64).reshape(np.shape(data))
        return np.where(np.isnan(data), data, rounded)
    return data


def saturate(data, kind):
    """Floats to integers: truncated, at most the type's ends, NaN to 0."""
    bits, signed = INTEGERS[kind]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    whole = np.trunc(np.where(np.isnan(data), 0.0, data))
    inside = np.clip(whole, float(low), float(high))
    result = np.where(inside >= float(high), 0, inside).astype(np.int64)
    return np.where(inside >= float(high), high, result)


def convert(data, source, target):
    """Elements of one type as another's."""
    data = data if is_float(target) else duals.primal(data)
    if target == "bool":
        return data != 0
    if is_float(target):
        data = data.astype(np.float64)
        return data if source == target or target == "f64" else round_to(data, target)
    if is_float(source):
        return saturate(data, target)
    return wrap(data.astype(np.int64), target)


def floor_divide(a, b):
    """Floored division of integers; division by zero gives 0."""
    safe = np.where(b == 0, 1, b)
    return np.where(b == 0, 0, a // safe)


def floor_modulo(a, b):
    safe = np.where(b == 0, 1, b)
    return np.where(b == 0, 0, a % safe)


def float_modulo(a, b):
    """The exact remainder with the sign of the divisor: 5.5 % inf is 5.5, -5.5 % inf is inf."""
    rest = np.fmod(a, b)
    other = (rest != 0) & (np.signbit(rest) != np.signbit(b))
    return np.where(other, rest + b, rest)


def integer_power(a, exponent, kind):
    """By squaring, wrapped after each product."""
    result, base = np.ones_like(a), a
    while exponent:
        if exponent & 1:
            result = wrap(result * base, kind)
        base = wrap(base * base, kind)
        exponent >>= 1
    return result
