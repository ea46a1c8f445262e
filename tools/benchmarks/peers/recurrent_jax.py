"""JAX's side of rows/recurrent.py, jitted whole. Variants

    scan, unrolled      lax.scan, as it is and with rounds unrolled
    associative         lax.associative_scan
    product             a CRF's sums as products of matrices of exponentials
    pad, shift          a field's neighbours are slices of one that is padded, or padded slices
    pairs               the latter, with two rounds of the loop at once
    cholesky, slogdet   what a log-determinant is made of

A training step's tensors are donated.
"""
import os

from peers import peer

os.environ.setdefault("JAX_PLATFORMS", "cpu")
try:
    import jax
except ImportError as e:
    peer.missing(e)
import jax.numpy as jnp
from peers import jax_ops
import numpy as np
from peers import given
from jax import lax, nn
from peers.cells import CELLS, logits

SPEC = peer.spec()
UNROLLED = dict(unrolled=8, pairs=2)  # rounds at once


def scan(f, first, xs):
    return lax.scan(f, first, xs, unroll=UNROLLED.get(SPEC["variant"], 1))


# ---- a training step


def cell_loss(p, x):
    before, step, sizes = CELLS[SPEC["what"]](jax_ops, p)

    def round_(state, z):
        return step(z, *state), None

    first = tuple(jnp.zeros((x["X"].shape[1], n), jnp.float32) for n in sizes)
    state, _ = scan(round_, first, before(x["X"]))
    return jax_ops.cross_entropy(logits(p, *state), x["Y"])


def training_step():
    p, x = ({k: jnp.array(v) for k, v in tensors.items()} for tensors in given.cell(SPEC))
    lr = SPEC["lr"]

    def step(p, x):
        value, g = jax.value_and_grad(cell_loss)(p, x)
        return value, {k: p[k] - lr * g[k] for k in p}

    compiled = jax.jit(step, donate_argnums=0)

    def run():
        nonlocal p
        value, p = compiled(p, x)
        return float(value)

    return run


# ---- functions of inputs


def small(x):

    def layer(xs, v):
        u = 0.25 * v

        def round_(h, z):
            h = jnp.tanh(z + h @ u)
            return h, h

        return scan(round_, x["h0"], xs)[1]

    if SPEC["entry"] == "forward":
        return layer, (x["X"], x["V"])
    value = jax.value_and_grad(lambda *a: (layer(*a)**2).mean(), (0, 1))
    return value, (x["X"], x["V"])


def selective(x):

    def by_rounds(x, e, A, b, c):

        def round_(h, z):
            x, e, b, c = z
            h = jnp.exp(e[:, None] * A) * h + (e * x)[:, None] * b
            return h, (h * c).sum(1)

        return scan(round_, jnp.zeros_like(A), (x, e, b, c))[1]

    def by_halves(x, e, A, b, c):

        def join(first, second):
            return first[0] * second[0], second[0] * first[1] + second[1]

        pairs = jnp.exp(e[..., None] * A), (e * x)[..., None] * b[:, None]
        h = lax.associative_scan(join, pairs)[1]
        return (h * c[:, None]).sum(2)

    def layer(x, d, a, b, c):
        f = by_halves if SPEC["variant"] == "associative" else by_rounds
        return f(x, 0.1 * nn.softplus(d), -jnp.exp(a), b, c)

    args = [x[k] for k in "xdabc"]
    if SPEC["entry"] == "forward":
        return layer, args

    def both(seed, *args):
        y, back = jax.vjp(layer, *args)
        return y, *back(seed)

    return both, [x["dy"], *args]


def crf(x):
    y = x["Y"].T

    def minus_likelihood(e, a, first, last):
        e = e.swapaxes(0, 1)
        exp_a = jnp.exp(a)

        def sums(f, z):
            return z + nn.logsumexp(f[:, :, None] + a, 1), None

        def products(f, z):
            most = lax.stop_gradient(f.max(1, keepdims=True))
            return z + most + jnp.log(jnp.exp(f - most) @ exp_a), None

        f, _ = scan(products if SPEC["variant"] == "product" else sums, first + e[0], e[1:])
        score = jnp.take_along_axis(e, y[..., None], 2).sum() + a[y[:-1], y[1:]].sum()
        score += first[y[0]].sum() + last[y[-1]].sum()
        return (nn.logsumexp(f + last, 1).sum() - score) / e.shape[1]

    given = [x[name] for name in ("E", "A", "first", "last")]
    return jax.value_and_grad(minus_likelihood, (0, 1, 2, 3)), given


def soft_dtw(x):
    """Rounds are diagonals."""
    (b, n, _), m = x["x"].shape, x["y"].shape[1]

    def by_diagonals(costs):
        wide = jnp.pad(costs, ((0, 0), (0, 0), (0, n)), constant_values=given.FAR)
        flat = wide.reshape(b, -1)[:, :n * (n + m - 1)]
        return flat.reshape(b, n, -1).transpose(2, 0, 1)

    def softmin(*r):
        least = lax.stop_gradient(jnp.minimum(r[0], jnp.minimum(r[1], r[2])))
        return least - jnp.log(sum(jnp.exp(least - v) for v in r))

    def value(x, y):
        costs = (x**2).sum(2)[:, :, None] + (y**2).sum(2)[:, None] - 2 * x @ y.swapaxes(1, 2)
        costs = by_diagonals(costs)

        def round_(state, d):
            corner, last = state
            above = jnp.pad(last[:, :-1], ((0, 0), (1, 0)), constant_values=given.FAR)
            return (above, d + softmin(corner, above, last)), None

        nothing = jnp.full((b, n), given.FAR)
        first = nothing.at[:, 0].set(costs[0, :, 0])
        (_, last), _ = scan(round_, (nothing, first), costs[1:])
        return last[:, n - 1].mean()

    return jax.value_and_grad(value, (0, 1)), (x["x"], x["y"])


def wave(x):
    start = x["start"]

    def neighbours(u):
        if SPEC["variant"] == "pad":
            z = jnp.pad(u, 1)
            return z[:-2, 1:-1] + z[2:, 1:-1] + z[1:-1, :-2] + z[1:-1, 2:]
        above, below = jnp.pad(u[:-1], ((1, 0), (0, 0))), jnp.pad(u[1:], ((0, 1), (0, 0)))
        left, right = jnp.pad(u[:, :-1], ((0, 0), (1, 0))), jnp.pad(u[:, 1:], ((0, 0), (0, 1)))
        return above + below + left + right

    def last(v, start):
        k = 0.25 + 0.2 * v

        def round_(state, _):
            u, before = state
            return (2 * u - before + k * (neighbours(u) - 4 * u), u), None

        return scan(round_, (start, start), jnp.zeros(500))[0][0]

    if SPEC["entry"] == "forward":
        return last, (x["v"], start)
    distance = lambda v, start, target: ((last(v, start) - target)**2).mean()
    return jax.value_and_grad(distance), (x["v"], start, x["target"])


def logdet(x):

    def by_factor(s):
        return 2 * jnp.log(jnp.diag(jnp.linalg.cholesky(s))).sum()

    def by_lu(s):
        return jnp.linalg.slogdet(s)[1]

    f = by_lu if SPEC["variant"] == "slogdet" else by_factor
    return jax.value_and_grad(f), (given.symmetric(x["A"]),)


def function():
    f, args = globals()[SPEC["what"]](given.inputs(SPEC))
    compiled, args = jax.jit(f), [jnp.array(v) for v in args]

    def run():
        return jax.block_until_ready(compiled(*args))

    return run


def mean_sizes(result):
    return [float(np.abs(np.asarray(v, np.float64)).mean()) for v in jax.tree.leaves(result)]


def main():
    if SPEC["what"] in CELLS:
        run = training_step()
        losses, seconds = peer.timed(run, 2)
        about = {"losses": losses}
    else:
        run = function()
        (first,), seconds = peer.timed(run, 1)
        about = {"outputs": mean_sizes(first)}
    peer.serve(run, {**about, "first_s": seconds, "version": "jax " + jax.__version__})


main()
