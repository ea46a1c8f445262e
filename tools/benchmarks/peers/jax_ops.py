"""The operators of tests/oracle/networks.py, in JAX."""
import math

import jax
import jax.numpy as jnp
from jax import lax, nn

relu, sigmoid, elu, softmax = nn.relu, nn.sigmoid, nn.elu, nn.softmax
tanh, sqrt, stack, cat, einsum = jnp.tanh, jnp.sqrt, jnp.stack, jnp.concatenate, jnp.einsum
zeros = jnp.zeros


def gelu(x):
    return nn.gelu(x, approximate=False)


def one_hot(y, n, dtype):
    return nn.one_hot(y, n, dtype=dtype)


def cross_entropy(x, y):
    z = jnp.take_along_axis(x, y[:, None], 1)[:, 0]
    return (nn.logsumexp(x, -1) - z).mean()


def mse(x, y):
    return ((x - y)**2).mean()


def attention(q, k, v):
    s = einsum("bhid,bhjd->bhij", q, k) / math.sqrt(q.shape[-1])
    return einsum("bhij,bhjd->bhid", softmax(s, -1), v)


def channel_shuffle(x, groups):
    n, c, h, w = x.shape
    return x.reshape(n, groups, c // groups, h, w).swapaxes(1, 2).reshape(x.shape)


def conv2d(x, f, b=None, stride=1, pad=0, groups=1):
    y = lax.conv_general_dilated(x, f, (stride, stride), [(pad, pad)] * 2,
                                 feature_group_count=groups)
    return y if b is None else y + b[:, None, None]


def pool(x, empty, f, size, stride, pad):
    pads = [(0, 0)] * 2 + [(pad, pad)] * 2
    return lax.reduce_window(x, empty, f, (1, 1, size, size), (1, 1, stride, stride), pads)


def max_pool(x, size, stride, pad):
    return pool(x, -jnp.inf, lax.max, size, stride, pad)


def avg_pool(x, size, stride, pad):
    return pool(x, 0.0, lax.add, size, stride, pad) / size**2


def layer_norm(x, g, b, eps):
    m = x.mean(-1, keepdims=True)
    return g * (x - m) * lax.rsqrt(((x - m)**2).mean(-1, keepdims=True) + eps) + b


def batch_norm(x, g, b, mu, va, eps, rate, training):
    """The new running means and variances are returned."""
    axes = (0, 2, 3)
    m = x.mean(axes)
    v = ((x - m[:, None, None])**2).mean(axes)
    m1, v1 = (m, v) if training else (mu, va)
    c = lambda t: t[:, None, None]
    y = c(g) * (x - c(m1)) * lax.rsqrt(c(v1) + eps) + c(b)
    return y, (mu + rate * (m - mu), va + rate * (v - va))
