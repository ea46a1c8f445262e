"""Random chains of numpy's operations give what numpy gives, at sizes that change between calls.

A chain is drawn for one shape and written in terms of shapes (`x.shape[0] - 1`), so that most of it
means something at other sizes, too, among them 0 and 1. Where numpy refuses a chain at some size,
the traced function has to refuse it as well. A chain that fails is made shorter before it is told.
"""
import os
import unittest
import warnings

import numpy as np

import neoc

SIZES = ((3, 4, 5), (4, 6, 2), (1, 1, 1), (2, 5, 0), (6, 1, 3), (1, 7, 4), (0, 3, 2), (5, 2, 1))
REFUSED = (ValueError, IndexError, TypeError, ZeroDivisionError)
MOST = 2000  # elements of a value


def put(x, key, how, value):
    """x.at[key], and the same by numpy."""
    if not isinstance(x, np.ndarray):
        return getattr(x.at[key], how)(value)
    y = x.copy()
    if how == "set":
        y[key] = value
    else:
        ufunc = {"add": np.add, "multiply": np.multiply, "min": np.minimum, "max": np.maximum}[how]
        ufunc.at(y, key, value)
    return y


def on(axis, entry):
    """A key that has an entry for one axis."""
    return (slice(None),)*axis + (entry,)


class Chain:
    """A function of (a[m, n], b[n, k], v[n], i[k]), i integers; the results are all values."""

    def __init__(self, seed, smooth=False):
        self.r, self.seed, self.smooth = np.random.default_rng(seed), seed, smooth
        self.steps, self.names = [], []

    # ---- what is drawn
    def a_slice(self):
        ends = [None, None, 0, 1, 2, 3, -1, -2, -3, 7]
        start, stop = (ends[int(self.r.integers(len(ends)))] for _ in range(2))
        step = int(self.r.choice([1, 1, 2, 3, -1, -1, -2, -3]))
        return slice(start, stop, step)

    def number(self):
        """A number that is made of a shape: a function of an extent."""
        forms = [lambda n: 1/n, lambda n: n, lambda n: n//2, lambda n: n % 3, lambda n: n - 2,
                 lambda n: np.sqrt(n), lambda n: 2.0/(n + 1) - 0.25, lambda n: (n + 1)**-0.5,
                 lambda n: n*0.5 + n*n, lambda n: 1/(1 + 1/(n + 2)), lambda n: -n/(n + 1),
                 lambda n: np.log(n + 1)/3, lambda n: n**2/10, lambda n: 3/np.sqrt(n + 1.0)]
        return forms[int(self.r.integers(len(forms)))]

    def index(self):
        """An index array as a function of the values and of the extent that it is for."""
        forms = [lambda v, n: v[3], lambda v, n: v[3] % n, lambda v, n: np.clip(v[3] + 1, 0, n - 1),
                 lambda v, n: np.array([0, -1, 0]), lambda v, n: np.array([-1]),
                 lambda v, n: v[3][::-1], lambda v, n: v[3][:, None], lambda v, n: -1 - v[3] % n]
        return forms[int(self.r.integers(len(forms)))]

    def draw(self, v):
        """A step (a name, a function of the values so far), or None where it does not fit."""
        floats = [k for k, x in enumerate(v) if k != 3]
        late = floats if self.r.integers(3) else floats[-1:]
        k = late[int(self.r.integers(len(late)))]
        kinds = KINDS if not self.smooth else [f for f in KINDS if f not in KINKED]
        return kinds[int(self.r.integers(len(kinds)))](self, v, k, v[k].ndim)

    def build(self, arrays, count):
        """Draw steps that numpy can compute."""
        values = list(arrays)
        for _ in range(40*count):
            if len(self.steps) == count:
                break
            step = self.draw(values)
            try:
                y = None if step is None else np.asarray(step[1](values), dtype=np.float64)
            except (*REFUSED, DeprecationWarning):
                continue
            if y is None or y.size > MOST or y.ndim > 4 or not (abs(y) <= 1e4).all():
                continue
            self.names.append(step[0])
            self.steps.append(step[1])
            values.append(y)
        return self

    def __call__(self, *arrays):
        values = list(arrays)
        for step in self.steps:
            values.append(step(values))
        return values[len(arrays):]


# ---- kinds of steps: (chain, values, number of the operand, its rank) -> (name, function) or None
def sliced(c, v, k, rank):
    if not rank:
        return None
    s, axis = c.a_slice(), int(c.r.integers(rank))
    return f"v{k}[{axis}: {s}]", lambda v: v[k][on(axis, s)]


def sliced_everywhere(c, v, k, rank):
    if not rank:
        return None
    key = tuple(c.a_slice() for _ in range(rank))
    key = key[:int(c.r.integers(rank + 1))] + (None,) if c.r.integers(3) == 0 else key
    return f"v{k}[{key}]", lambda v: v[k][key]


def sliced_by_shape(c, v, k, rank):
    if not rank:
        return None
    form = int(c.r.integers(4))
    forms = [lambda n: slice(0, n//2), lambda n: slice(n//2, None), lambda n: slice(1, n - 1),
             lambda n: slice(None, n - 1, 2)]
    return f"v{k}[by shape {form}]", lambda v: v[k][forms[form](v[k].shape[0])]


def position(c, v, k, rank):
    if not rank:
        return None
    at, axis = int(c.r.choice([0, -1, 1])), int(c.r.integers(rank))
    return f"v{k}[{axis}: {at}]", lambda v: v[k][on(axis, at)]


def reshaped(c, v, k, rank):
    form = int(c.r.integers(5))
    forms = [lambda x: x.reshape(-1), lambda x: x.reshape(x.shape[0], -1),
             lambda x: x.reshape(x.shape[0]*x.shape[1], *x.shape[2:]),
             lambda x: x.reshape(-1, x.shape[-1]), lambda x: x.reshape(*x.shape[::-1])]
    return f"v{k}.reshape({form})", lambda v: forms[form](v[k])


def cut(c, v, k, rank):
    by = int(c.r.choice([2, 3]))
    return f"v{k}.reshape(-1, {by})", lambda v: v[k].reshape(-1, by)


def turned(c, v, k, rank):
    order = [int(a) for a in c.r.permutation(rank)]
    return f"v{k}.transpose({order})", lambda v: np.transpose(v[k], order)


def widened(c, v, k, rank):
    axis = int(c.r.integers(rank + 1))
    return f"expand_dims(v{k}, {axis})", lambda v: np.expand_dims(v[k], axis)


def joined(c, v, k, rank):
    if not rank:
        return None
    j, axis = int(c.r.integers(len(v))), int(c.r.integers(rank))
    j = k if j == 3 else j
    stack = bool(c.r.integers(4) == 0)
    f = np.stack if stack else np.concatenate
    return f"{f.__name__}(v{k}, v{j}, {axis})", lambda v: f([v[k], v[j]], axis)


def both(c, v, k, rank):
    j, sign = int(c.r.integers(len(v))), int(c.r.integers(4))
    j = k if j == 3 else j
    signs = [lambda x, y: x + y, lambda x, y: x*y, lambda x, y: x - 0.5*y,
             lambda x, y: x/(1 + y*y)]
    return f"v{k} {'+*-/'[sign]} v{j}", lambda v: signs[sign](v[k], v[j])


def chosen(c, v, k, rank):
    j = int(c.r.integers(len(v)))
    j = k if j == 3 else j
    return f"where(v{k} > 0, v{k}, v{j})", lambda v: np.where(v[k] > 0, v[k], v[j])


def elements(c, v, k, rank):
    f = [np.tanh, np.sin, lambda x: x*x*0.1, lambda x: -x, lambda x: np.exp(-x*x)][
        int(c.r.integers(5))]
    return f"f(v{k})", lambda v: f(v[k])


def updated(c, v, k, rank):
    if not rank:
        return None
    how, axis = str(c.r.choice(["set", "add", "multiply"])), int(c.r.integers(rank))
    entry = c.a_slice() if c.r.integers(2) else int(c.r.choice([0, -1]))
    value = float(c.r.integers(-2, 3))

    def step(v):
        return put(v[k], on(axis, entry), how, value)
    return f"v{k}.at[{axis}: {entry}].{how}({value})", step


def scattered(c, v, k, rank):
    if not rank:
        return None
    hows = ["set", "add"] if c.smooth else ["set", "add", "multiply", "min", "max"]
    how, axis, index = str(c.r.choice(hows)), int(c.r.integers(rank)), c.index()
    value = float(c.r.integers(-2, 3))
    if c.r.integers(2):
        return (f"v{k}.at[{axis}: index].{how}({value})",
                lambda v: put(v[k], on(axis, index(v, v[k].shape[axis])), how, value))
    return (f"v{k}.at[{axis}: index].{how}(f(v{k}[index]))",
            lambda v: put(v[k], on(axis, index(v, v[k].shape[axis])), how,
                          0.5 - v[k][on(axis, index(v, v[k].shape[axis]))]))


def gathered(c, v, k, rank):
    if not rank:
        return None
    axis, index = int(c.r.integers(rank)), c.index()
    return f"v{k}[{axis}: index]", lambda v: v[k][on(axis, index(v, v[k].shape[axis]))]


def gathered_twice(c, v, k, rank):
    if rank < 2:
        return None
    one, two = c.index(), c.index()
    return f"v{k}[index, index]", lambda v: v[k][one(v, v[k].shape[0]), two(v, v[k].shape[1])]


def best(c, v, k, rank):
    if not rank:
        return None
    axis = int(c.r.integers(rank))
    return f"best of v{k} along {axis}", lambda v: np.take_along_axis(
        v[k], np.expand_dims(v[k].argmax(axis), axis), axis)


def reduced(c, v, k, rank):
    if not rank:
        return None
    names = ["sum", "mean", "prod"] if c.smooth else ["sum", "mean", "prod", "max", "min"]
    name, keep = str(c.r.choice(names)), bool(c.r.integers(2))
    axes = tuple(sorted(int(a) for a in c.r.permutation(rank)[:int(c.r.integers(1, rank + 1))]))
    axis = axes if len(axes) > 1 else axes[0]
    return (f"v{k}.{name}({axis}, keepdims={keep})",
            lambda v: getattr(v[k], name)(axis=axis, keepdims=keep))


def scaled(c, v, k, rank):
    j = int(c.r.integers(3))
    f, sign = c.number(), int(c.r.integers(4))
    signs = [lambda x, s: x*s, lambda x, s: x + s, lambda x, s: s - x, lambda x, s: x/(s + 1)]
    return f"v{k} {'*+-/'[sign]} number of v{j}.shape", lambda v: signs[sign](
        v[k], f(v[j].shape[-1]))


def counted(c, v, k, rank):
    if not rank:
        return None
    return f"v{k} + arange/n", lambda v: v[k] + np.arange(v[k].shape[-1])/v[k].shape[-1]


def counted_by_neoc(c, v, k, rank):
    if not rank:
        return None

    def step(v):
        n = v[k].shape[0]
        count = np.arange(n) if isinstance(v[k], np.ndarray) else neoc.arange(n)
        return v[k].T*(count + 0.5)
    return f"v{k}.T*(arange + 0.5)", step


def spread(c, v, k, rank):
    return f"broadcast_to(v{k})", lambda v: np.broadcast_to(v[k], (2, *v[k].shape))


def running(c, v, k, rank):
    if not rank:
        return None
    axis = int(c.r.integers(rank))
    if c.r.integers(2):
        return f"v{k}.cumsum({axis})", lambda v: v[k].cumsum(axis)*0.3
    return f"diff(v{k}, {axis})", lambda v: np.diff(v[k], axis=axis)


def moved(c, v, k, rank):
    if not rank:
        return None
    axis, by = int(c.r.integers(rank)), int(c.r.integers(-3, 4))
    forms = [lambda x: np.roll(x, by, axis), lambda x: np.flip(x, axis),
             lambda x: np.repeat(x, 2, axis), lambda x: np.tile(x, 2),
             lambda x: np.pad(x, [(abs(by), 1)]*rank), lambda x: np.tril(x, by),
             lambda x: np.squeeze(x), lambda x: np.swapaxes(x, 0, -1)]
    form = int(c.r.integers(len(forms)))
    return f"moved {form} (v{k}, {axis}, {by})", lambda v: forms[form](v[k])


def multiplied(c, v, k, rank):
    j = int(c.r.integers(3))
    return f"v{k} @ v{j}", lambda v: v[k] @ v[j]*0.1


KINDS = [sliced, sliced, sliced, sliced_everywhere, sliced_by_shape, position, reshaped, cut,
         turned, widened, joined, both, both, chosen, elements, updated, updated, scattered, scattered,
         gathered, gathered, gathered_twice, best, reduced, reduced, scaled, scaled, counted,
         counted_by_neoc, spread, running, moved, multiplied]
KINKED = (chosen, best)


def arrays_of(sizes, seed):
    m, n, k = sizes
    r = np.random.default_rng(seed + 99)
    f = r.standard_normal
    return [f((m, n)), f((n, k)), f(n), r.integers(0, max(1, min(m, n)), k).astype(np.int32)]


def of_numpy(f, arrays):
    """Results by numpy, None where it refuses or divides by 0."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # positions beyond an empty axis
        try:
            return [np.asarray(y, dtype=np.float64) for y in f(*arrays)]
        except (*REFUSED, DeprecationWarning):
            return None


def difference(chain, f, sizes):
    """The mistake at these sizes, or an empty text."""
    arrays = arrays_of(sizes, chain.seed)
    wanted = of_numpy(chain, arrays)
    try:
        found = f(*arrays)
    except (*REFUSED, neoc.NeoError) as e:
        return "" if wanted is None else f"{type(e).__name__} {e}"
    if wanted is None:
        return "numpy refuses this"
    for k, (x, y) in enumerate(zip(found, wanted)):
        x = np.asarray(x)
        same = x.dtype == np.float64 and x.shape == y.shape
        if not same or not np.allclose(x, y, 1e-9, 1e-9, equal_nan=True):
            return f"result {k} ({chain.names[k]}): {x!r:.300} in place of {y!r:.300}"
    return ""


def shorter(chain, mode, sizes):
    """The same without the steps that are not needed to fail."""
    def fails(steps):
        c = Chain(chain.seed)
        c.names, c.steps = [chain.names[k] for k in steps], []
        places = {**{k: k for k in range(4)}, **{4 + s: 4 + k for k, s in enumerate(steps)}}

        def moved_step(step):
            def run(v):
                values = [None]*(4 + len(chain.steps))
                for old, new in places.items():
                    if new < len(v):
                        values[old] = v[new]
                return step(values)
            return run
        c.steps = [moved_step(chain.steps[k]) for k in steps]
        f = neoc.function(c, sizes=mode)
        try:
            return any([difference(c, f, s) for s in sizes]) and c
        except Exception:
            return None
    steps, best_one = list(range(len(chain.steps))), None
    for k in range(len(steps) - 1, -1, -1):
        less = [s for s in steps if s != k]
        found = less and fails(less)
        if found:
            steps, best_one = less, found
    return best_one


class Chains(unittest.TestCase):
    def setUp(self):
        quiet = warnings.catch_warnings()
        quiet.__enter__()
        warnings.simplefilter("error", DeprecationWarning)
        warnings.simplefilter("ignore", RuntimeWarning)  # of numpy: means of nothing, 1/0
        self.addCleanup(quiet.__exit__, None, None, None)

    def one(self, seed, mode, sizes):
        chain = Chain(seed).build(arrays_of(SIZES[0], seed), 6)
        f = neoc.function(chain, sizes=mode)
        for k, size in enumerate(sizes):
            wrong = difference(chain, f, size)
            if wrong:
                less = shorter(chain, mode, sizes[:k + 1]) or chain
                text = f.last.text if f.last else ""
                self.fail(f"sizes {sizes[:k + 1]}: {wrong}\nsteps {chain.names}\n"
                          f"needed {less.names}\n{text}")

    def each(self, mode, among):
        for seed in range(int(os.environ.get("NEO_TRACE_FIRST", "0")),
                          int(os.environ.get("NEO_TRACE_CHAINS", "20"))):
            with self.subTest(seed=seed):
                r = np.random.default_rng(seed)
                self.one(seed, mode, [SIZES[0]] + [SIZES[int(k)] for k in r.permutation(
                    len(SIZES))[:among]])

    def test_of_fixed_sizes(self):
        self.each("fixed", 1)

    def test_of_sizes_that_become_those_of_the_run(self):
        self.each("auto", 3)

    def test_of_sizes_of_the_run(self):
        self.each("dynamic", 3)

    def test_gradients(self):
        for seed in range(int(os.environ.get("NEO_TRACE_FIRST", "0")),
                          int(os.environ.get("NEO_TRACE_CHAINS", "20"))):
            with self.subTest(seed=seed):
                self.gradient(seed, ("fixed", "auto", "dynamic")[seed % 3])

    def gradient(self, seed, mode):
        chain = Chain(seed + 10**6, smooth=True).build(arrays_of(SIZES[0], seed), 5)

        def loss(a, b, v, i):
            total = 0.0
            for y in chain(a, b, v, i):
                total = total + np.sin(y*0.5 + 0.1).sum()
            return total
        g = neoc.function(neoc.grad(loss, (0, 1, 2)), sizes=mode)
        for size in (SIZES[0], SIZES[1 + seed % 7]):
            arrays = arrays_of(size, seed)
            if of_numpy(chain, arrays) is None:
                continue
            r = np.random.default_rng(seed)
            d = [r.standard_normal(x.shape) for x in arrays[:3]]
            ends = [float(loss(*[x + s*y for x, y in zip(arrays, d)], arrays[3]))
                    for s in (1e-6, -1e-6)]
            if not np.isfinite(ends).all():
                continue
            found = sum((x*y).sum() for x, y in zip(g(*arrays), d))
            np.testing.assert_allclose(found, (ends[0] - ends[1])/2e-6, rtol=1e-5, atol=1e-5,
                                       err_msg=f"{size} {chain.names}\n{g.last.text}")


if __name__ == "__main__":
    unittest.main()
