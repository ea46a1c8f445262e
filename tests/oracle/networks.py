"""The networks of models/zoo, written once for any library of arrays.

A network is a function of a net, `@network(lr, mu, decay)`: it asks the net for inputs, parameters
and states by the names that neo gives them, computes with `net.ops` (torch_ops.py says what that
has) and returns the outputs of the entry `forward`, with "loss", that of `test` and of training.
The model's sizes are attributes of the net: those of its file, where they are not set.
"""
import collections
import functools
import math
import operator
import os
import re
import struct

HERE = os.path.dirname(os.path.abspath(__file__))
ZOO = os.path.join(HERE, os.pardir, os.pardir, "models", "zoo")
NETWORKS = {}
ADAM = {}  # networks that Adam trains: their tables, of which only rows that a step read are changed

Network = collections.namedtuple("Network", "run lr mu decay")  # and how it is trained


def f32(x):
    """Constants of a model are rounded to f32."""
    return struct.unpack("f", struct.pack("f", x))[0]


def network(lr, mu=0.0, decay=0.0, adam=None):

    def register(f):
        NETWORKS[f.__name__] = Network(f, lr, mu, decay)
        if adam is not None:
            ADAM[f.__name__] = adam
        return f

    return register


def sizes_of(model, defines):
    """The constants of models/zoo/MODEL.expr, some of them replaced."""
    sizes = {}
    with open(os.path.join(ZOO, model + ".expr")) as f:
        for name, value in re.findall(r"^dim (\w+) = ([^#\n]*)", f.read(), re.M):
            sizes[name] = defines.get(name) or eval(value.replace("/", "//"), {}, sizes)
    return sizes


class Net:
    """The environment of a network. Derived classes make tensors: input, ints, param, state."""

    training = True

    def __init__(self, ops, sizes):
        self.ops = ops
        for name, value in sizes.items():
            setattr(self, name, value)

    def size(self, name):
        """The size of a name, which may be no identifier of Python."""
        return getattr(self, name)

    def rounds(self, count):
        """In each round of this, parameters and states are one of `count` that are stacked."""
        for k in range(count):
            self.round = k, count
            yield k
        self.round = None

    round = None

    def weight(self, name, shape, fan):
        """A parameter whose sums over `fan` products should keep the size of their input."""
        return self.param(name, shape)

    def parts(self, name, shape, fan):
        """The slices of a weight along its last dimension."""
        w = self.weight(name, shape, fan)
        return [w[..., k] for k in range(shape[-1])]

    def convs(self, x, filters, biases=None, stride=1, pad=0):
        """Convolutions of one image that are written one by one."""
        return [self.ops.conv2d(x, f, biases[k] if biases else None, stride, pad)
                for k, f in enumerate(filters)]

    # The library's layers, by the names of their calls.

    def linear(self, name, x, out):
        fan = x.shape[-1]
        return x @ self.weight(name + ".W", (fan, out), fan) + self.param(name + ".b", (out,))

    def conv(self, name, x, out, size, stride=1, groups=1, pad=None, bias=False):
        """conv2d_layer; its padding keeps the size, but for the stride."""
        shape = (out, x.shape[1] // groups, size, size)
        f = self.weight(name + ".F", shape, math.prod(shape[1:]))
        b = self.param(name + ".b", (out,)) if bias else None
        return self.ops.conv2d(x, f, b, stride, (size - 1) // 2 if pad is None else pad, groups)

    def batch_norm(self, name, x, gain=1.0, shift=0.0):
        c = (x.shape[1],)
        g, b = (self.param(name + k, c, center, 0.25 * gain)
                for k, center in ((".g", gain), (".b", shift)))
        mu, va = self.state(name + ".mu", c, 0), self.state(name + ".va", c, 1)
        y, new = self.ops.batch_norm(x, g, b, mu, va, f32(1e-5), f32(0.1), self.training)
        for k, value in zip((".mu", ".va"), new):
            self.update(name + k, value)
        return y

    def layer_norm(self, name, x, eps):
        d = x.shape[-1:]
        g, b = self.param(name + ".g", d, 1, 0.25), self.param(name + ".b", d)
        return self.ops.layer_norm(x, g, b, eps)

    def classify(self, L):
        return dict(L=L, loss=self.ops.cross_entropy(L, self.ints("Y", (L.shape[0],), L.shape[1])))


@network(lr=f32(0.1))
def mlp(net):
    x = net.input("X", (net.B, net.WIDTH))
    for name in ["h1", "h2", "h3"]:
        x = net.ops.relu(net.linear(name + ".h", x, net.WIDTH))
    return net.classify(net.linear("L", x, net.CLASSES))


# ---- networks of images: where a function's result is a call's, that call is named `y`


def image(net):
    return net.input("X", (net.B, 3, net.IMAGE, net.IMAGE))


RESIDUAL = 2**-2  # what goes past a block is larger than what it adds, for the sake of conditions


def conv_norm(net, name, x, out, size=1, stride=1, groups=1, gain=1.0):
    x = net.conv(name + ".c", x, out, size, stride, groups)
    return net.batch_norm(name + ".y", x, gain)


def stem(net, out):
    """The begin of ResNets and ShuffleNets."""
    size = 3 if hasattr(net, "GROUPS") else 7
    h = net.ops.relu(conv_norm(net, "c", image(net), out, size, 2))
    return net.ops.max_pool(h, 3, 2, 1)


def head(net, x):
    return net.classify(net.linear("L", x.mean((2, 3)), net.CLASSES))


def shortcut(net, name, x, like, stride):
    same = x.shape[1] == like.shape[1] and stride == 1
    return x if same else conv_norm(net, name + ".s", x, like.shape[1], 1, stride)


@network(lr=f32(0.1), mu=f32(0.9), decay=f32(1e-4))
def resnet18(net):
    relu = net.ops.relu

    def basic(name, x, out, stride):
        h = relu(conv_norm(net, name + ".a", x, out, 3, stride))
        h = conv_norm(net, name + ".b", h, out, 3, gain=RESIDUAL)
        return relu(h + shortcut(net, name, x, h, stride))

    x = stem(net, net.WIDTH)
    for k in range(4):
        x = basic(f"s{k + 1}.first", x, 2**k * net.WIDTH, 1 if k == 0 else 2)
        x = basic(f"s{k + 1}.y", x, 2**k * net.WIDTH, 1)
    return head(net, x)


@network(lr=f32(0.1), mu=f32(0.9), decay=f32(1e-4))
def resnet50(net):
    relu = net.ops.relu

    def bottleneck(name, x, width, stride):
        h = relu(conv_norm(net, name + ".a", x, width))
        h = relu(conv_norm(net, name + ".b", h, width, 3, stride))
        h = conv_norm(net, name + ".c", h, 4 * width, gain=RESIDUAL)
        return relu(h + shortcut(net, name, x, h, stride))

    x = stem(net, net.WIDTH)
    for k in range(4):
        x = bottleneck(f"s{k + 1}.first", x, 2**k * net.WIDTH, 1 if k == 0 else 2)
        for _ in net.rounds(getattr(net, f"BLOCKS{k + 1}") - 1):
            x = bottleneck(f"s{k + 1}.y.bottleneck", x, 2**k * net.WIDTH, 1)
    return head(net, x)


@network(lr=f32(0.045), mu=f32(0.9))
def mobilenet(net):

    def conv(name, x, out, size, stride=1, groups=1):
        x = net.conv(name + ".c", x, out, size, stride, groups)
        x = net.batch_norm(name + ".b", x, shift=0.5)  # so that no channel is all 0
        return net.ops.relu(x)

    def pair(name, x, out, stride=1):
        x = conv(name + ".d", x, x.shape[1], 3, stride, x.shape[1])
        return conv(name + ".y", x, out, 1)

    w = net.WIDTH
    x = conv("x0", image(net), w, 3, 2)
    steps = [(1, 2, 1), (2, 4, 2), (3, 4, 1), (4, 8, 2), (5, 8, 1), (6, 16, 2)]
    for k, out, stride in steps:
        x = pair(f"x{k}", x, out * w, stride)
    for _ in net.rounds(net.ROUNDS):
        x = pair("xs.pair", x, 16 * w)
    x = pair("x12", x, 32 * w, 2)
    return head(net, pair("x13", x, 32 * w))


@network(lr=f32(0.1), mu=f32(0.9), decay=f32(4e-5))
def shufflenet(net):
    relu = net.ops.relu

    def residual(name, x, out, hidden, stride, groups):
        h = relu(conv_norm(net, name + ".a", x, hidden, 1, 1, groups))
        h = net.ops.channel_shuffle(h, net.GROUPS)
        h = conv_norm(net, name + ".d", h, hidden, 3, stride, hidden)
        return conv_norm(net, name + ".y", h, out, 1, 1, net.GROUPS, RESIDUAL)

    def unit(name, x):
        c = x.shape[1]
        return relu(x + residual(name + ".r", x, c, c // 4, 1, net.GROUPS))

    def reduce(name, x, out, groups):
        r = residual(name + ".r", x, out - x.shape[1], out // 4, 2, groups)
        return relu(net.ops.cat([net.ops.avg_pool(x, 3, 2, 1), r], 1))

    x = stem(net, net.FIRST)
    for k, units in enumerate([net.UNITS, 2 * net.UNITS + 1, net.UNITS]):
        x = reduce(f"r{k + 2}", x, 2**k * net.WIDTH, 1 if k == 0 else net.GROUPS)
        for _ in net.rounds(units):
            x = unit(f"s{k + 2}.unit", x)
    return head(net, x)


@network(lr=f32(0.1))
def bert(net):
    """Without dropout."""

    def heads(name, x):
        x = net.linear(name, x, net.WIDTH)
        return x.reshape(*x.shape[:2], net.HEADS, -1).swapaxes(1, 2)

    def attention(name, x):
        q, k, v = (heads(f"{name}.{part}", x) for part in ("query", "key", "value"))
        a = net.ops.attention(q, k, v)
        return net.linear(name + ".y", a.swapaxes(1, 2).reshape(x.shape), net.WIDTH)

    def layer(name, x):
        u = net.layer_norm(name + ".u", x + attention(name + ".a", x), f32(1e-12))
        h = net.ops.gelu(net.linear(name + ".f", u, net.HIDDEN))
        o = net.linear(name + ".o", h, net.WIDTH)
        return net.layer_norm(name + ".y", u + o, f32(1e-12))

    x = net.input("X", (net.B, net.T, net.WIDTH))
    for _ in net.rounds(net.LAYERS):
        x = layer("e.layer", x)
    return dict(e=x, loss=net.ops.mse(x, net.input("Y", x.shape)))


# ---- capsules


@network(lr=f32(0.002))
def capsule_conv(net):
    """One convolution for each of the I x K x J products of elements."""
    a = net.input("A", (net.B, net.C, net.H, net.H, net.I, net.K))
    f = net.parts("F", (net.M, net.C, net.R, net.R, net.K, net.J), net.C * net.R**2 * net.K)

    def row(i):
        """Sums over k, for each j."""
        products = [net.convs(a[..., i, k], [part[..., k] for part in f], None, net.stride, net.pad)
                    for k in range(net.K)]
        return net.ops.stack([functools.reduce(operator.add, p) for p in zip(*products)], -1)

    o = net.ops.stack([row(i) for i in range(net.I)], -2)
    return dict(O=o, loss=net.ops.mse(o, net.input("Y", o.shape)))


def squash(net, s):
    n = (s * s).sum(-1, keepdims=True)
    return n / (1 + n) * s / net.ops.sqrt(n + f32(1e-7))


def features(net):
    x = net.input("X", (net.B, 1, net.H, net.H))
    return net.ops.relu(net.conv("h", x, net.C, net.R, pad=0, bias=True))


def digits(net, u):
    """From D convolutions to the capsules of the digits, and the margin loss."""
    ops = net.ops
    x = squash(net, ops.stack(u, -1).reshape(net.B, -1, net.D))
    w = net.weight("v.W", (10, x.shape[1], net.D, net.E), net.D)
    u = ops.einsum("mnde,bnd->bnme", w, x)
    agreement = ops.zeros((net.B, x.shape[1], 10), x.dtype)
    for _ in range(3):
        v = squash(net, (ops.softmax(agreement, 2)[..., None] * u).sum(1))
        agreement = agreement + ops.einsum("bnme,bme->bnm", u, v)
    n = ops.sqrt((v * v).sum(2) + f32(1e-7))
    t = ops.one_hot(net.ints("Y", (net.B,), 10), 10, x.dtype)
    loss = t * ops.relu(f32(0.9) - n)**2 + 0.5 * (1 - t) * ops.relu(n - f32(0.1))**2
    return dict(v=v, loss=loss.sum(1).mean())


@network(lr=f32(0.002))
def capsulenet(net):
    a, f, b = features(net), [], []
    for _ in net.rounds(net.D):
        f.append(net.weight("u.conv.F", (net.M, net.C, net.R, net.R), net.C * net.R**2))
        b.append(net.param("u.conv.b", (net.M,)))
    return digits(net, net.convs(a, f, b, 2))


@network(lr=f32(0.002))
def capsulenet_conv(net):
    a = features(net)
    f = net.parts("F", (net.M, net.C, net.R, net.R, 1, net.D), net.C * net.R**2)
    b = net.param("b", (net.M, net.D))
    f, b = [part[..., 0] for part in f], [b[:, k] for k in range(net.D)]
    return digits(net, net.convs(a, f, b, 2))


# ---- recurrent cells


def recurrent(net, cell, second="c", size=None, out=None):
    """One step of cell(x, h, c) from states that are given; or T steps from zeros."""
    shapes = (net.B, net.H), (net.B, size or net.H)
    if hasattr(net, "T"):
        x = net.input("X", (net.B, net.T, net.I))
        h, c = (net.ops.zeros(s, x.dtype) for s in shapes)
        x = [x[:, t] for t in range(net.T)]
        names = "h", second
    else:
        x = [net.input("X", (net.B, net.I))]
        h, c = net.input("h", shapes[0]), net.input(second, shapes[1])
        names = "h2", second + "2"
    for v in x:
        h, c = cell(v, h, c)
    L = out(h, c) if out else net.linear("L", h, 10)
    loss = net.ops.cross_entropy(L, net.ints("Y", (net.B,), 10))
    return {"L": L, names[0]: h, names[1]: c, "loss": loss}


def both(f):
    """Three networks of a cell: NAME, NAME_unrolled and, as a loop, NAME_scan."""
    network(lr=f32(0.002))(f)
    for form in ("_unrolled", "_scan"):

        def steps(net):
            return f(net)

        steps.__name__ = f.__name__ + form
        network(lr=f32(0.002))(steps)


@both
def milstm(net):
    sigmoid, tanh = net.ops.sigmoid, net.ops.tanh
    w = net.weight("W", (4, net.I, net.H), net.I)
    u = net.weight("U", (4, net.H, net.H), net.H)
    k = net.param("k", (4, 4, net.H))

    def cell(x, h, c):
        p, q = x @ w, h @ u  # [gate, B, H]
        a, b1, b2, b = k[:, :, None]
        z = a * p * q + b1 * p + b2 * q + b
        f, i, o = sigmoid(z[:3])
        c = f * c + i * tanh(z[3])
        return o * tanh(c), c

    return recurrent(net, cell)


@both
def scrnn(net):
    A, C = (net.weight(n, (net.I, d), net.I) for n, d in (("A", net.H), ("C", net.K)))
    P, R = (net.weight(n, (d, net.H), net.H) for n, d in (("P", net.K), ("R", net.H)))

    def cell(x, h, s):
        s = 0.5 * (x @ C) + 0.5 * s
        return net.ops.sigmoid(s @ P + x @ A + h @ R), s

    def out(h, s):
        return h @ net.weight("U", (net.H, 10), net.H) + s @ net.weight("V", (net.K, 10), net.K)

    return recurrent(net, cell, "s", net.K, out)


@both
def sublstm(net):
    w = net.weight("W", (4, net.I, net.H), net.I)
    r = net.weight("R", (4, net.H, net.H), net.H)
    bw, br = (net.param(n, (4, net.H)) for n in ("bw", "br"))

    def cell(x, h, c):
        i, f, z, o = net.ops.sigmoid(x @ w + bw[:, None] + h @ r + br[:, None])
        c = f * c + z - i
        return net.ops.sigmoid(c) - o, c

    return recurrent(net, cell)


@both
def lltm(net):
    ops = net.ops
    w = net.weight("W", (3, net.H + net.I, net.H), net.H + net.I)
    b = net.param("b", (3, net.H))

    def cell(x, h, c):
        i, o, g = ops.cat([h, x], 1) @ w + b[:, None]
        c = c + ops.elu(g) * ops.sigmoid(i)
        return ops.tanh(c) * ops.sigmoid(o), c

    return recurrent(net, cell)
