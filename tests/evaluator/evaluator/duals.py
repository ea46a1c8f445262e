"""Dual numbers in place of numpy's arrays: values and their tangents, for derivatives in forward mode.

The evaluator computes on arrays; on Duals it computes the same, and beside each value its derivative along a direction
in which inputs are moved. Every function of numpy that it uses has here its rule, from calculus, so nothing of the tape's
rules is used: not even for sigmoid, whose slope the tape writes in its own way. Value and tangent may be Duals of a lower
level, which gives second derivatives: the tangent of a tangent.

A function that has no rule raises an error, so that no tangent is lost in silence. Decisions (comparisons, winners,
integers) look at `primal`. A tangent of exactly 0 stays 0 through an infinite slope, as what does not move does.
"""

import math

import numpy as np

_ERF = np.frompyfunc(math.erf, 1, 1)
_ERFC = np.frompyfunc(math.erfc, 1, 1)


class Dual(np.lib.mixins.NDArrayOperatorsMixin):
    """value + tangent*e, where e*e = 0; there is one e for each level."""
    __slots__ = ("level", "value", "tangent")

    def __init__(self, level, value, tangent):
        self.level, self.value, self.tangent = level, value, tangent

    @property
    def shape(self):
        return self.value.shape

    @property
    def ndim(self):
        return self.value.ndim

    @property
    def size(self):
        return self.value.size

    @property
    def dtype(self):
        return self.value.dtype

    def _both(self, function):
        """A linear function of the value, which is the tangent's too."""
        return Dual(self.level, function(self.value), function(self.tangent))

    def __getitem__(self, index):
        return self._both(lambda x: x[index])

    def reshape(self, *shape):
        return self._both(lambda x: x.reshape(*shape))

    def sum(self, axis=None):
        return self._both(lambda x: array(x.sum(axis=axis)))

    def astype(self, dtype):
        if dtype != np.float64:
            raise TypeError("a dual number as another type")
        return self

    def __array__(self, *_, **__):
        raise TypeError("a dual number where an array is needed")

    def __array_ufunc__(self, ufunc, method, *arguments, **options):
        if method != "__call__" or options:
            return NotImplemented
        if ufunc in _STEPS:
            return ufunc(*map(primal, arguments))
        return _applied(ufunc, arguments) if ufunc in _SLOPES else NotImplemented

    def __array_function__(self, function, types, arguments, options):
        rule = _FUNCTIONS.get(function)
        return rule(*arguments, **options) if rule else NotImplemented


def array(x):
    return x if isinstance(x, Dual) else np.asarray(x)


def primal(x):
    """The values alone."""
    while isinstance(x, Dual):
        x = x.value
    return x


def derivative(x, *levels):
    """The derivative along the directions of these levels, and no others; zeros where nothing moves."""
    left = set(levels)
    while isinstance(x, Dual):
        wanted = x.level in left
        left.discard(x.level)
        x = x.tangent if wanted else x.value
    return np.zeros(np.shape(x)) if left else x


def with_values(x, function):
    """x with other values in place of its own, as rounding gives them: its tangents are kept."""
    return Dual(x.level, with_values(x.value, function), x.tangent) if isinstance(x, Dual) else function(x)


def _top(arguments):
    return max((x.level for x in arguments if isinstance(x, Dual)), default=None)


def _split(x, level):
    """(value, tangent or None) at a level."""
    return (x.value, x.tangent) if isinstance(x, Dual) and x.level == level else (x, None)


def _scaled(slope, t):
    """slope*t, where what does not move has no tangent, whatever its slope."""
    still = _still(t)
    product = slope*t
    return np.where(still, 0.0, product) if still.any() else product


def _still(t):
    return _still(t.value) & _still(t.tangent) if isinstance(t, Dual) else np.equal(t, 0)


def _applied(ufunc, arguments):
    level = _top(arguments)
    parts = [_split(x, level) for x in arguments]
    values = [v for v, _ in parts]
    value = array(ufunc(*values))
    total = None
    for slope, (_, t) in zip(_SLOPES[ufunc], parts):
        if t is not None:
            part = _scaled(slope(*values), t)
            total = part if total is None else total + part
    return Dual(level, value, np.broadcast_to(array(total), np.shape(value)))


# ---- slopes, along each argument


def _power_base(a, b):
    return np.where(primal(b) == 0, 0.0, b*np.power(a, b - 1))


def _power_exponent(a, b):
    return np.where(primal(a) == 0, 0.0, np.power(a, b)*np.log(np.where(primal(a) == 0, 1.0, a)))


_SLOPES = {
    np.add: (lambda a, b: 1.0, lambda a, b: 1.0),
    np.subtract: (lambda a, b: 1.0, lambda a, b: -1.0),
    np.multiply: (lambda a, b: b, lambda a, b: a),
    np.divide: (lambda a, b: 1.0/b, lambda a, b: -(a/b)/b),
    np.fmod: (lambda a, b: 1.0, lambda a, b: -np.trunc(primal(a)/primal(b))),
    np.power: (_power_base, _power_exponent),
    np.negative: (lambda a: -1.0,),
    np.absolute: (lambda a: np.sign(primal(a)),),
    np.exp: (np.exp,),
    np.expm1: (np.exp,),
    np.log: (lambda a: 1.0/a,),
    np.log1p: (lambda a: 1.0/(1.0 + a),),
    np.sqrt: (lambda a: 0.5/np.sqrt(a),),
    np.sin: (np.cos,),
    np.cos: (lambda a: -np.sin(a),),
    np.tan: (lambda a: 1.0/(np.cos(a)*np.cos(a)),),
    np.tanh: (lambda a: _squared(1.0/np.cosh(a)),),
    np.sinh: (np.cosh,),
    np.cosh: (np.sinh,),
}
FUNCTIONS = tuple(_SLOPES)
_STEPS = {np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal, np.isnan, np.isinf, np.isfinite,
          np.signbit, np.floor, np.ceil, np.rint, np.trunc, np.sign}


def _squared(x):
    return x*x


def _lifted(function, slope):
    """A function that numpy lacks, for arrays and Duals."""
    def lifted(x):
        if not isinstance(x, Dual):
            return function(x)
        return Dual(x.level, lifted(x.value), _scaled(slope(x.value), x.tangent))
    return lifted


def _sigmoid(x):
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1/(1 + small), small/(1 + small))


def _softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _bell(x):
    """The slope of sigmoid, which is even."""
    return np.power(2.0*np.cosh(0.5*x), -2.0)


sigmoid = _lifted(_sigmoid, _bell)
softplus = _lifted(_softplus, sigmoid)
erf = _lifted(lambda x: np.asarray(_ERF(x), np.float64), lambda x: 2/math.sqrt(math.pi)*np.exp(-(x*x)))
erfc = _lifted(lambda x: np.asarray(_ERFC(x), np.float64), lambda x: -2/math.sqrt(math.pi)*np.exp(-(x*x)))


# ---- functions of whole arrays


def _linear(function, arguments):
    """A function that is linear in its arguments taken together: (its result, its result for the tangents)."""
    level = _top(arguments)
    parts = [_split(x, level) for x in arguments]
    return Dual(level, function(*[v for v, _ in parts]),
                function(*[np.zeros(np.shape(v)) if t is None else t for v, t in parts]))


def _where(condition, a, b):
    condition = primal(condition)
    result = _linear(lambda x, y: np.where(condition, x, y), (a, b))
    return result


def _concatenate(parts, axis=0):
    return _linear(lambda *x: np.concatenate(x, axis), tuple(parts))


def _broadcast_to(a, shape):
    return a._both(lambda x: np.broadcast_to(x, shape))


def _bincount(places, weights=None, minlength=0):
    return weights._both(lambda x: np.bincount(places, weights=x, minlength=minlength))


def _einsum(*words, optimize=False):
    """Factors, each with its axes, and the result's axes: a product has a tangent for each of its factors."""
    factors, axes, out = words[:-1:2], words[1::2], words[-1]

    def product(some):
        return array(np.einsum(*[x for pair in zip(some, axes) for x in pair], out, optimize=optimize))
    level = _top(factors)
    parts = [_split(x, level) for x in factors]
    values = [v for v, _ in parts]
    total = sum(product(values[:k] + [t] + values[k + 1:]) for k, (_, t) in enumerate(parts) if t is not None)
    return Dual(level, product(values), total)


_FUNCTIONS = {
    np.where: _where,
    np.concatenate: _concatenate,
    np.broadcast_to: _broadcast_to,
    np.bincount: _bincount,
    np.einsum: _einsum,
    np.shape: lambda a: a.shape,
    np.ndim: lambda a: a.ndim,
    np.size: lambda a: a.size,
    np.zeros_like: lambda a: np.zeros(a.shape),
}
