"""Ten operators that frameworks lack, with the same in JAX: for tests and benchmarks.

    Row(name, text, statics, make, reference)

make(rng, large) gives the arguments, as arrays of numpy; reference takes the same. Integers are
arguments without gradients.
"""

from collections import namedtuple

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

Row = namedtuple("Row", "name text statics make reference")


def draw(rng, *shape, scale=1.0):
    return (scale*rng.standard_normal(shape)).astype("float32")


# ---------------------------------------------------------------- capsules, involution, bilinear

CAPSULES = """V[b, n, y < H, x < W, i, j] = sum[m, r, s, k] F[n, m, r, s, k, j] *
    (P[b, m, y + r - 1, x + s - 1, i, k] else 0)"""


def make_capsules(rng, large):
    b, m, n, h = (4, 8, 8, 14) if large else (2, 2, 3, 4)
    return draw(rng, n, m, 3, 3, 4, 4, scale=0.1), draw(rng, b, m, h, h, 4, 4)


def capsules(f, p):
    h, w = p.shape[2:4]
    padded = jnp.pad(p, ((0, 0), (0, 0), (1, 1), (1, 1), (0, 0), (0, 0)))
    return sum(jnp.einsum("nmkj,bmyxik->bnyxij", f[:, :, r, s],
                          padded[:, :, r:r + h, s:s + w]) for r in range(3) for s in range(3))


INVOLUTION = """y[b, c, p, q] = sum[r, s] K[b, c/4, r, s, p, q] *
    (x[b, c, p + r - 1, q + s - 1] else 0)"""


def make_involution(rng, large):
    b, c, h = (8, 32, 28) if large else (2, 8, 5)
    return draw(rng, b, c//4, 3, 3, h, h), draw(rng, b, c, h, h)


def involution(k, x):
    h, w = x.shape[2:]
    padded = jnp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    k = jnp.repeat(k, 4, axis=1)
    return sum(k[:, :, r, s]*padded[:, :, r:r + h, s:s + w] for r in range(3) for s in range(3))


BILINEAR = "y[b, o] = sum[i, j] u[b, i]*W[o, i, j]*v[b, j] + c[o]"


def make_bilinear(rng, large):
    b, o, i, j = (64, 64, 64, 64) if large else (3, 2, 4, 5)
    return draw(rng, b, i), draw(rng, o, i, j, scale=0.1), draw(rng, b, j), draw(rng, o)


def bilinear(u, w, v, c):
    return jnp.einsum("bi,oij,bj->bo", u, w, v) + c


# ---------------------------------------------------------------- deformable, windows, rotations

DEFORMABLE = """py[b, p, q, r < 3, s < 3] = f32(p + r - 1) + off[b, 2*(3*r + s), p, q]
px[b, p, q, r < 3, s < 3] = f32(q + s - 1) + off[b, 2*(3*r + s) + 1, p, q]
y0[b, p, q, r, s] = i32(floor(clamp(py[b, p, q, r, s], -2, 1000)))
x0[b, p, q, r, s] = i32(floor(clamp(px[b, p, q, r, s], -2, 1000)))
tap[b, c, p, q, r, s] = sum[i < 2, j < 2] max(0,
        1 - abs(py[b, p, q, r, s] - f32(y0[b, p, q, r, s] + i))) *
    max(0, 1 - abs(px[b, p, q, r, s] - f32(x0[b, p, q, r, s] + j))) *
    (X[b, c, y0[b, p, q, r, s] + i, x0[b, p, q, r, s] + j] else 0)
Z[b, m, p, q] = sum[c, r, s] F[m, c, r, s] * tap[b, c, p, q, r, s]"""


def make_deformable(rng, large):
    b, c, m, h = (2, 16, 16, 14) if large else (1, 2, 2, 4)
    return (draw(rng, b, 18, h, h, scale=0.4), draw(rng, b, c, h, h),
            draw(rng, m, c, 3, 3, scale=0.1))


def deformable(off, x, f):
    x = jnp.asarray(x)
    b, c, h, w = x.shape
    at = jnp.arange(3)
    off = off.reshape(b, 3, 3, 2, h, w)
    y = jnp.arange(h)[:, None] + at[:, None, None, None] - 1 + off[:, :, :, 0]
    z = jnp.arange(w) + at[:, None, None] - 1 + off[:, :, :, 1]
    y0, z0 = jnp.floor(y).astype(int), jnp.floor(z).astype(int)
    tap = 0
    for i in range(2):
        for j in range(2):
            yi, zj = y0 + i, z0 + j
            inside = (yi >= 0) & (yi < h) & (zj >= 0) & (zj < w)
            weight = jnp.maximum(0, 1 - abs(y - yi))*jnp.maximum(0, 1 - abs(z - zj))*inside
            rows = jnp.arange(b)[:, None, None, None, None]
            got = x[rows, :, jnp.clip(yi, 0, h - 1), jnp.clip(zj, 0, w - 1)]
            tap = tap + weight[..., None]*got
    return jnp.einsum("brspqc,mcrs->bmpq", tap, f)


WINDOWS = """at[y < H] = (y + 2) % H
s[b, u < H/4, v < H/4, i < 16, j < 16] = sum[c]
    Q[b, at[4*u + i/4], at[4*v + i%4], c]*K[b, at[4*u + j/4], at[4*v + j%4], c]/4
m[b, u, v, i] = max[j] s[b, u, v, i, j]
e[b, u, v, i, j] = exp(s[b, u, v, i, j] - m[b, u, v, i])
O[b, u, v, i, c] = (sum[j] e[b, u, v, i, j]*V[b, at[4*u + j/4], at[4*v + j%4], c]) /
    (sum[j] e[b, u, v, i, j])"""


def make_windows(rng, large):
    shape = (4, 28, 28, 16) if large else (1, 8, 8, 3)
    return tuple(draw(rng, *shape) for _ in range(3))


def windows(q, k, v):
    b, h, _, c = q.shape

    def cut(x):
        x = jnp.roll(x, (-2, -2), (1, 2)).reshape(b, h//4, 4, h//4, 4, c)
        return x.transpose(0, 1, 3, 2, 4, 5).reshape(b, h//4, h//4, 16, c)

    s = jnp.einsum("buvic,buvjc->buvij", cut(q), cut(k))/4
    return jnp.einsum("buvij,buvjc->buvic", jax.nn.softmax(s, -1), cut(v))


ROTATIONS = """R[g < 4, o, c, h < 4, r < 3, s < 3] = select(g == 0, F[o, c, h, r, s],
    select(g == 1, F[o, c, (h + 3) % 4, s, 2 - r],
    select(g == 2, F[o, c, (h + 2) % 4, 2 - r, 2 - s], F[o, c, (h + 1) % 4, 2 - s, r])))
y[b, o, g, p < S - 2, q < S - 2] = sum[c, h, r, s] R[g, o, c, h, r, s]*x[b, c, h, p + r, q + s]"""


def make_rotations(rng, large):
    b, c, o, h = (4, 8, 8, 16) if large else (1, 2, 2, 5)
    return draw(rng, o, c, 4, 3, 3, scale=0.1), draw(rng, b, c, 4, h, h)


def rotations(f, x):
    turned = [f, jnp.roll(f, 1, 2).transpose(0, 1, 2, 4, 3)[..., ::-1, :],
              jnp.roll(f, 2, 2)[..., ::-1, ::-1], jnp.roll(f, 3, 2)[..., ::-1, :]
              .transpose(0, 1, 2, 4, 3)]
    b, c, _, h, w = x.shape
    flat = x.reshape(b, 4*c, h, w)
    made = [lax.conv_general_dilated(flat, t.reshape(f.shape[0], 4*c, 3, 3), (1, 1), "VALID")
            for t in turned]
    return jnp.stack(made, 2)


# ---------------------------------------------------------------- costs, trees, centres, scans

COSTS = "C[b, d < D, y, x] = mean[c] L[b, c, y, x]*(R[b, c, y, x - d] else 0)"


def make_costs(rng, large):
    shape = (2, 16, 32, 64) if large else (1, 3, 4, 6)
    return draw(rng, *shape), draw(rng, *shape)


def costs(left, right):
    width = left.shape[3]
    made = [(left*jnp.pad(right, ((0, 0), (0, 0), (0, 0), (d, 0)))[..., :width]).mean(1)
            for d in range(4)]
    return jnp.stack(made, 1)


TREES = """p[b, t, n] = sigmoid(sum[f] X[b, f]*W[t, n, f] + a[t, n])
q[b, t, l < 8] = select(l/4 == 0, p[b, t, 0], 1 - p[b, t, 0]) *
    select(l/2 % 2 == 0, p[b, t, 1 + l/4], 1 - p[b, t, 1 + l/4]) *
    select(l % 2 == 0, p[b, t, 3 + l/2], 1 - p[b, t, 3 + l/2])
y[b, o] = sum[t, l] q[b, t, l]*V[t, l, o]"""


def make_trees(rng, large):
    b, f, t, o = (256, 32, 16, 8) if large else (3, 4, 2, 2)
    return (draw(rng, b, f), draw(rng, t, 7, f), draw(rng, t, 7), draw(rng, t, 8, o))


def trees(x, w, a, v):
    p = jax.nn.sigmoid(jnp.einsum("bf,tnf->btn", x, w) + a)
    leaf = np.arange(8)
    side = lambda bit, node: jnp.where(bit == 0, p[..., node], 1 - p[..., node])
    q = side(leaf//4, 0*leaf)*side(leaf//2 % 2, 1 + leaf//4)*side(leaf % 2, 3 + leaf//2)
    return jnp.einsum("btl,tlo->bo", q, v)


CENTRES = "y[b, o] = sum[m] exp(-g[m]*(sum[d] (x[b, d] - c[m, d])^2))*V[m, o]"


def make_centres(rng, large):
    b, m, d, o = (256, 64, 16, 8) if large else (3, 4, 2, 2)
    return (np.abs(draw(rng, m, scale=0.1)), draw(rng, b, d), draw(rng, m, d), draw(rng, m, o))


def centres(g, x, c, v):
    away = ((x[:, None] - c)**2).sum(-1)
    return jnp.exp(-g*away) @ v


SCAN = """h[b, t, d, n] = exp(dt[b, t, d]*A[d, n])*(h[b, t - 1, d, n] else 0) +
    dt[b, t, d]*B[b, t, n]*x[b, t, d]
y[b, t, d] = sum[n] C[b, t, n]*h[b, t, d, n] + D[d]*x[b, t, d]"""


def make_scan(rng, large):
    b, t, d, n = (4, 128, 64, 8) if large else (1, 5, 3, 2)
    return (np.abs(draw(rng, b, t, d, scale=0.1)), -np.abs(draw(rng, d, n)), draw(rng, b, t, n),
            draw(rng, b, t, d), draw(rng, b, t, n), draw(rng, d))


def scan(dt, a, b, x, c, d):
    def step(h, at):
        dt_t, b_t, x_t, c_t = at
        h = jnp.exp(dt_t[..., None]*a)*h + (dt_t*x_t)[..., None]*b_t[:, None, :]
        return h, (h*c_t[:, None, :]).sum(-1) + d*x_t

    first = jnp.zeros((x.shape[0], *a.shape), x.dtype)
    _, y = lax.scan(step, first, tuple(v.swapaxes(0, 1) for v in (dt, b, x, c)))
    return y.swapaxes(0, 1)


def side(k, axis):
    """A static argument: an extent of the k-th argument."""
    return lambda args: args[k].shape[axis]


ROWS = (
    Row("capsule convolution", CAPSULES, {"H": side(1, 2), "W": side(1, 3)}, make_capsules,
        capsules),
    Row("involution", INVOLUTION, {}, make_involution, involution),
    Row("bilinear", BILINEAR, {}, make_bilinear, bilinear),
    Row("deformable convolution", DEFORMABLE, {}, make_deformable, deformable),
    Row("shifted windows", WINDOWS, {"H": side(0, 1)}, make_windows, windows),
    Row("p4 convolution", ROTATIONS, {"S": side(1, 3)}, make_rotations, rotations),
    Row("cost volume", COSTS, {"D": lambda args: 4}, make_costs, costs),
    Row("soft trees", TREES, {}, make_trees, trees),
    Row("radial basis functions", CENTRES, {}, make_centres, centres),
    Row("selective scan", SCAN, {}, make_scan, scan),
)


def statics_of(row, args):
    return {name: of(args) for name, of in row.statics.items()}
