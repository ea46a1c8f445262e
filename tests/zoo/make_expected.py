#!/usr/bin/env python3
"""Writes tests/zoo/expected/*.txt: what PyTorch in f64 computes for models/zoo at small sizes.

Needs PyTorch (2.0 or later):  python3 tests/zoo/make_expected.py [CASE...]
To choose the seed of a case:  python3 tests/zoo/make_expected.py --seeds CASE...

A case is a function of a net, `@case(defines, sizes, rule)`: it asks the net for inputs, parameters
and states by the names that neo gives them, and returns the outputs of the entry `forward`, with
"loss", that of `test` and of training. The file says what to set, then, one tensor a line, the
outputs of `forward` and `test`, loss and gradients of `grad`, losses of ten training steps, and all
parameters and states after them; see test_zoo.c and tests/oracle/expected.h.
"""
import math
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, os.pardir, "oracle"))
sys.dont_write_bytecode = True
from oracle import bn, f32, gradients, line, momentum, sgd

import torch
import torch.nn.functional as F

STEPS = 10
SUMS = 3
MASK = 2**64 - 1
CASES = {}

# ---- values


def mix(a, b):
    """expected_hash of tests/oracle/expected.c"""
    z = ((a + 1) * 0x9e3779b97f4a7c15 + b * 0xd1342543de82ef95) & MASK
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & MASK
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & MASK
    return z ^ (z >> 31)


def hashes(seed, name, shape):
    for c in name.encode():
        seed = mix(seed, c)
    return [mix(k, seed) for k in range(math.prod(shape))]


def power(x):
    """The nearest power of 2, so that products with it are exact."""
    return 2.0**round(math.log2(x))


def summed(entry, name, t):
    """A line of values, or of their norm and signed sums where there are many."""
    t = torch.as_tensor(t).detach().reshape(-1)
    if t.numel() <= SUMS + 1:
        return line(entry, name, t)
    x = t.tolist()
    sums = [math.fsum(-v if mix(k, j) >> 63 else v for k, v in enumerate(x)) for j in range(SUMS)]
    values = [math.sqrt(math.fsum(v * v for v in x))] + sums
    return f"{entry} {name} {len(x)} ~ " + " ".join(f"{v:.12g}" for v in values)


# ---- the frame


class Net:
    """What a case runs in: its tensors, made when they are asked for the first time."""

    def __init__(self, seed, sizes, dtype=torch.float64):
        self.dtype, self.seed, self.training = dtype, seed, False
        self.lines, self.round = [], None
        self.params, self.states, self.inputs, self.pending = {}, {}, {}, {}
        for name, value in sizes.items():
            setattr(self, name, value)

    def make(self, name, shape, center, scale):
        if (center, scale) != (0, 1):
            self.lines.append(line("fill", name, torch.tensor([center, scale])))
        v = [center + scale * (h % 63 - 31) / 32 for h in hashes(self.seed, name, shape)]
        return torch.tensor(v, dtype=self.dtype).reshape(shape)

    def input(self, name, shape, center=0.0, scale=1.0):
        if name not in self.inputs:
            self.inputs[name] = self.make(name, shape, center, scale)
        return self.inputs[name]

    def ints(self, name, shape, bound):
        v = [h % bound for h in hashes(self.seed, name, shape)]
        return torch.tensor(v, dtype=torch.int64).reshape(shape)

    def rounds(self, count):
        """In each round of this, parameters and states are one of `count` that are stacked."""
        for k in range(count):
            self.round = k, count
            yield k
        self.round = None

    def stacked(self, shape):
        return (self.round[1], *shape) if self.round else shape

    def here(self, t):
        return t[self.round[0]] if self.round else t

    def param(self, name, shape, center=0.0, scale=1.0):
        if name not in self.params:
            t = self.make(name, self.stacked(shape), center, scale)
            self.params[name] = t.requires_grad_(True)
        return self.here(self.params[name])

    def weight(self, name, shape, fan):
        """Scaled so that sums over `fan` products keep the size of their input."""
        return self.param(name, shape, scale=power(1.6 / math.sqrt(fan)))

    def state(self, name, shape, value):
        if name not in self.states:
            self.states[name] = torch.full(self.stacked(shape), float(value), dtype=self.dtype)
        return self.here(self.states[name])

    def update(self, name, value):
        """Takes effect when the run ends, in training."""
        t = self.pending.setdefault(name, self.states[name].clone())
        self.here(t).copy_(value.detach())

    def run(self, f, training):
        self.training, self.pending = training, {}
        r = f(self)
        if training:
            self.states.update(self.pending)
        return r

    # The library's layers, by the names of their calls.

    def linear(self, name, x, out):
        fan = x.shape[-1]
        return x @ self.weight(name + ".W", (fan, out), fan) + self.param(name + ".b", (out,))

    def conv(self, name, x, out, size, stride=1, groups=1):
        """conv2d_layer without bias that keeps the size, but for the stride"""
        shape = (out, x.shape[1] // groups, size, size)
        f = self.weight(name + ".F", shape, math.prod(shape[1:]))
        return F.conv2d(x, f, stride=stride, padding=(size - 1) // 2, groups=groups)

    def batch_norm(self, name, x, gain=1.0, shift=0.0):
        p = {k: self.param(k, (x.shape[1],), center, 0.25 * gain)
             for k, center in ((name + ".g", gain), (name + ".b", shift))}
        st = {k: self.state(k, (x.shape[1],), value)
              for k, value in ((name + ".mu", 0), (name + ".va", 1))}
        y = bn(p, st, name, x, f32(1e-5), f32(0.1), self.training)
        if self.training:
            for k, value in st.items():
                self.update(k, value)
        return y

    def layer_norm(self, name, x, eps):
        d = x.shape[-1:]
        return F.layer_norm(x, d, self.param(name + ".g", d, 1, 0.25), self.param(name + ".b", d), eps)

    def classify(self, L):
        return dict(L=L, loss=F.cross_entropy(L, self.ints("Y", (L.shape[0],), L.shape[1])))


def case(rule, defines=None, sizes=None, seed=0, model=None, lr=None):
    """A function f(net) as a case of its name. `defines` are -D, `sizes` run-time sizes; both are
    attributes of the net. `model`, where it is not the function's name: the file in models/zoo.
    `lr`: that of the rule, where it is not the model's."""

    def register(f):
        CASES[f.__name__] = (f, rule, defines or {}, sizes or {}, seed, model or f.__name__, lr)
        return f

    return register


def expected(name):
    f, rule, defines, sizes, seed, model, lr = CASES[name]
    net = Net(seed, {**defines, **sizes})
    r = net.run(f, False)
    loss = r.pop("loss")
    values = [summed("forward", k, t) for k, t in r.items()] + [line("test", "loss", loss)]
    states = dict(net.states)
    loss = net.run(f, True)["loss"]
    values.append(line("grad", "loss", loss))
    values += [summed("grad", "grad:" + k, g) for k, g in gradients(loss, net.params).items()]
    net.states = states
    rule.begin(net.params)
    for _ in range(STEPS):
        loss = net.run(f, True)["loss"]
        values.append(line("step", "loss", loss))
        rule.step(gradients(loss, net.params))
    kept = list(net.params.items()) + list(rule.after()) + list(net.states.items())
    values += [summed("after", k, t) for k, t in kept]
    head = [f"model {model}", f"seed values {seed}"]
    head += [f"define {k} {v}" for k, v in defines.items()]
    head += [f"size {k} {v}" for k, v in sizes.items()]
    head += [line("set", "lr", lr)] if lr else []
    return head + net.lines + values


def gradients_in(dtype, case, seed):
    f, _, defines, sizes, *_ = case
    net = Net(seed, {**defines, **sizes}, dtype)
    return gradients(net.run(f, True)["loss"], net.params)


def print_seeds(name):
    """The seeds with which f32 is nearest to f64."""
    errors = []
    for seed in range(50):
        wide, narrow = (gradients_in(t, CASES[name], seed) for t in (torch.float64, torch.float32))
        off = [float((g - narrow[k]).norm()) / max(float(g.norm()), 1e-2) for k, g in wide.items()]
        errors.append((max(off), seed))
    for error, seed in sorted(errors)[:5]:
        print(f"{name}: seed {seed}, gradients in f32 are within {error:.2g}")


# ---- the models


@case(sgd(f32(0.1)), {"WIDTH": 7, "CLASSES": 5}, {"B": 4})
def mlp(net):
    x = net.input("X", (net.B, net.WIDTH))
    for name in ["h1", "h2", "h3"]:
        x = net.linear(name + ".h", x, net.WIDTH).relu()
    return net.classify(net.linear("L", x, net.CLASSES))


# ---- networks of images: where a function's result is a call's, that call is named `y`

LR = 2**-9  # at the models' rates, ten steps of nets that are so narrow multiply roundings by 1e8


def image(net):
    return net.input("X", (net.B, 3, net.IMAGE, net.IMAGE))


RESIDUAL = 2**-2  # what goes past a block is larger than what it adds, for the sake of conditions


def conv_norm(net, name, x, out, size=1, stride=1, groups=1, gain=1.0):
    x = net.conv(name + ".c", x, out, size, stride, groups)
    return net.batch_norm(name + ".y", x, gain)


def stem(net, out):
    """The begin of ResNets and ShuffleNets."""
    size = 3 if hasattr(net, "GROUPS") else 7
    h = conv_norm(net, "c", image(net), out, size, 2).relu()
    return F.max_pool2d(h, 3, 2, 1)


def head(net, x):
    return net.classify(net.linear("L", x.mean((2, 3)), net.CLASSES))


def shortcut(net, name, x, like, stride):
    same = x.shape[1] == like.shape[1] and stride == 1
    return x if same else conv_norm(net, name + ".s", x, like.shape[1], 1, stride)


@case(momentum(LR, f32(0.9), decay=f32(1e-4)), {
    "IMAGE": 48,
    "WIDTH": 2,
    "CLASSES": 7
}, {"B": 3}, seed=19, lr=LR)
def resnet18(net):

    def basic(name, x, out, stride):
        h = conv_norm(net, name + ".a", x, out, 3, stride).relu()
        h = conv_norm(net, name + ".b", h, out, 3, gain=RESIDUAL)
        return (h + shortcut(net, name, x, h, stride)).relu()

    x = stem(net, net.WIDTH)
    for k in range(4):
        x = basic(f"s{k + 1}.first", x, 2**k * net.WIDTH, 1 if k == 0 else 2)
        x = basic(f"s{k + 1}.y", x, 2**k * net.WIDTH, 1)
    return head(net, x)


@case(momentum(LR, f32(0.9), decay=f32(1e-4)), {
    "IMAGE": 48,
    "WIDTH": 2,
    "BLOCKS1": 2,
    "BLOCKS2": 2,
    "BLOCKS3": 3,
    "BLOCKS4": 2,
    "CLASSES": 7
}, {"B": 3}, seed=9, lr=LR)
def resnet50(net):

    def bottleneck(name, x, width, stride):
        h = conv_norm(net, name + ".a", x, width).relu()
        h = conv_norm(net, name + ".b", h, width, 3, stride).relu()
        h = conv_norm(net, name + ".c", h, 4 * width, gain=RESIDUAL)
        return (h + shortcut(net, name, x, h, stride)).relu()

    x = stem(net, net.WIDTH)
    for k in range(4):
        x = bottleneck(f"s{k + 1}.first", x, 2**k * net.WIDTH, 1 if k == 0 else 2)
        for _ in net.rounds(getattr(net, f"BLOCKS{k + 1}") - 1):
            x = bottleneck(f"s{k + 1}.y.bottleneck", x, 2**k * net.WIDTH, 1)
    return head(net, x)


@case(momentum(LR, f32(0.9)), {
    "IMAGE": 48,
    "WIDTH": 2,
    "ROUNDS": 2,
    "CLASSES": 7
}, {"B": 3}, seed=30, lr=LR)
def mobilenet(net):

    def conv(name, x, out, size, stride=1, groups=1):
        x = net.conv(name + ".c", x, out, size, stride, groups)
        return net.batch_norm(name + ".b", x, shift=0.5).relu()  # so that no channel is all 0

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


@case(momentum(LR, f32(0.9), decay=f32(4e-5)), {
    "IMAGE": 48,
    "WIDTH": 24,
    "FIRST": 6,
    "GROUPS": 3,
    "UNITS": 1,
    "CLASSES": 7
}, {"B": 3}, seed=35, lr=LR)
def shufflenet(net):

    def residual(name, x, out, hidden, stride, groups):
        h = conv_norm(net, name + ".a", x, hidden, 1, 1, groups).relu()
        h = F.channel_shuffle(h, net.GROUPS)
        h = conv_norm(net, name + ".d", h, hidden, 3, stride, hidden)
        return conv_norm(net, name + ".y", h, out, 1, 1, net.GROUPS, RESIDUAL)

    def unit(name, x):
        c = x.shape[1]
        return (x + residual(name + ".r", x, c, c // 4, 1, net.GROUPS)).relu()

    def reduce(name, x, out, groups):
        r = residual(name + ".r", x, out - x.shape[1], out // 4, 2, groups)
        return torch.cat([F.avg_pool2d(x, 3, 2, 1), r], 1).relu()

    x = stem(net, net.FIRST)
    for k, units in enumerate([net.UNITS, 2 * net.UNITS + 1, net.UNITS]):
        x = reduce(f"r{k + 2}", x, 2**k * net.WIDTH, 1 if k == 0 else net.GROUPS)
        for _ in net.rounds(units):
            x = unit(f"s{k + 2}.unit", x)
    return head(net, x)


@case(sgd(f32(0.1)), {
    "T": 5,
    "WIDTH": 8,
    "HEADS": 2,
    "HIDDEN": 12,
    "LAYERS": 3,
    "DROPOUT": 0
}, {"B": 2})
def bert(net):

    def heads(name, x):
        return net.linear(name, x, net.WIDTH).unflatten(2, (net.HEADS, -1)).transpose(1, 2)

    def attention(name, x):
        q, k, v = (heads(f"{name}.{part}", x) for part in ("query", "key", "value"))
        a = F.scaled_dot_product_attention(q, k, v)
        return net.linear(name + ".y", a.transpose(1, 2).flatten(2), net.WIDTH)

    def layer(name, x):
        u = net.layer_norm(name + ".u", x + attention(name + ".a", x), f32(1e-12))
        h = F.gelu(net.linear(name + ".f", u, net.HIDDEN))
        o = net.linear(name + ".o", h, net.WIDTH)
        return net.layer_norm(name + ".y", u + o, f32(1e-12))

    x = net.input("X", (net.B, net.T, net.WIDTH))
    for _ in net.rounds(net.LAYERS):
        x = layer("e.layer", x)
    return dict(e=x, loss=F.mse_loss(x, net.input("Y", x.shape)))


# ---- capsules


def capsules(net):
    """One convolution for each of the I x K x J products of elements."""
    a = net.input("A", (net.B, net.C, net.H, net.H, net.I, net.K))
    shape = (net.M, net.C, net.R, net.R, net.K, net.J)
    f = net.weight("F", shape, net.C * net.R**2 * net.K)

    def conv(i, j):
        return sum(
            F.conv2d(a[..., i, k], f[..., k, j], stride=net.stride, padding=net.pad)
            for k in range(net.K))

    o = torch.stack([torch.stack([conv(i, j) for j in range(net.J)], -1) for i in range(net.I)], -2)
    return dict(O=o, loss=F.mse_loss(o, net.input("Y", o.shape)))


@case(sgd(f32(0.002)), {"H": 9, "C": 3, "M": 4, "R": 3, "I": 2, "K": 3, "J": 2}, {"B": 3})
def capsule_conv(net):
    net.stride, net.pad = 2, 0
    return capsules(net)


@case(sgd(f32(0.002)), {
    "H": 6,
    "C": 3,
    "M": 4,
    "R": 3,
    "J": 5,
    "stride": 1,
    "pad": 1
}, {"B": 2}, model="capsule_conv")
def capsule_conv_padded(net):
    net.I, net.K = 1, 1
    return capsules(net)


def squash(s):
    n = (s * s).sum(-1, keepdim=True)
    return n / (1 + n) * s / torch.sqrt(n + f32(1e-7))


def features(net):
    x = net.input("X", (net.B, 1, net.H, net.H))
    h = net.weight("h.F", (net.C, 1, net.R, net.R), net.R**2)
    return F.conv2d(x, h, net.param("h.b", (net.C,))).relu()


def digits(net, u):
    """From primary capsules [B, M, P, P, D] to those of the digits, and the margin loss."""
    x = squash(u.reshape(net.B, -1, net.D))
    w = net.weight("v.W", (10, x.shape[1], net.D, net.E), net.D)
    u = torch.einsum("mnde,bnd->bnme", w, x)
    agreement = torch.zeros(net.B, x.shape[1], 10, dtype=torch.float64)
    for _ in range(3):
        v = squash((torch.softmax(agreement, 2)[..., None] * u).sum(1))
        agreement = agreement + torch.einsum("bnme,bme->bnm", u, v)
    n = torch.sqrt((v * v).sum(2) + f32(1e-7))
    t = F.one_hot(net.ints("Y", (net.B,), 10), 10)
    loss = t * F.relu(f32(0.9) - n)**2 + 0.5 * (1 - t) * F.relu(n - f32(0.1))**2
    return dict(v=v, loss=loss.sum(1).mean())


CAPSULES = {"H": 11, "C": 4, "M": 3, "D": 4, "R": 3, "E": 5}


@case(sgd(f32(0.002)), CAPSULES, {"B": 3})
def capsulenet(net):
    a = features(net)
    f = net.weight("u.conv.F", (net.D, net.M, net.C, net.R, net.R), net.C * net.R**2)
    b = net.param("u.conv.b", (net.D, net.M))
    u = [F.conv2d(a, f[k], b[k], stride=2) for k in range(net.D)]
    return digits(net, torch.stack(u, -1))


@case(sgd(f32(0.002)), CAPSULES, {"B": 3})
def capsulenet_conv(net):
    a = features(net)
    f = net.weight("F", (net.M, net.C, net.R, net.R, 1, net.D), net.C * net.R**2)
    b = net.param("b", (net.M, net.D))
    u = [F.conv2d(a, f[..., 0, k], b[:, k], stride=2) for k in range(net.D)]
    return digits(net, torch.stack(u, -1))


# ---- recurrent cells


def recurrent(net, cell, second="c", size=None, out=None):
    """One step of cell(x, h, c) from states that are given; or T steps from zeros."""
    shapes = (net.B, net.H), (net.B, size or net.H)
    if hasattr(net, "T"):
        x = net.input("X", (net.B, net.T, net.I)).unbind(1)
        h, c = (torch.zeros(s, dtype=torch.float64) for s in shapes)
        names = "h", second
    else:
        x = [net.input("X", (net.B, net.I))]
        h, c = net.input("h", shapes[0]), net.input(second, shapes[1])
        names = "h2", second + "2"
    for v in x:
        h, c = cell(v, h, c)
    L = out(h, c) if out else net.linear("L", h, 10)
    loss = F.cross_entropy(L, net.ints("Y", (net.B,), 10))
    return {"L": L, names[0]: h, names[1]: c, "loss": loss}


def both(f):
    """Two cases of a cell: NAME and NAME_unrolled."""
    sizes = {"I": 6, "H": 5, **({"K": 3} if f.__name__ == "scrnn" else {})}
    case(sgd(f32(0.002)), sizes, {"B": 4})(f)

    def unrolled(net):
        return f(net)

    unrolled.__name__ = f.__name__ + "_unrolled"
    case(sgd(f32(0.002)), {"T": 4, **sizes}, {"B": 3})(unrolled)


@both
def milstm(net):
    w = net.weight("W", (4, net.I, net.H), net.I)
    u = net.weight("U", (4, net.H, net.H), net.H)
    k = net.param("k", (4, 4, net.H))

    def cell(x, h, c):
        p, q = x @ w, h @ u  # [gate, B, H]
        a, b1, b2, b = k[:, :, None]
        z = a * p * q + b1 * p + b2 * q + b
        f, i, o = torch.sigmoid(z[:3])
        c = f * c + i * torch.tanh(z[3])
        return o * torch.tanh(c), c

    return recurrent(net, cell)


@both
def scrnn(net):
    A, C = (net.weight(n, (net.I, d), net.I) for n, d in (("A", net.H), ("C", net.K)))
    P, R = (net.weight(n, (d, net.H), net.H) for n, d in (("P", net.K), ("R", net.H)))

    def cell(x, h, s):
        s = 0.5 * (x @ C) + 0.5 * s
        return torch.sigmoid(s @ P + x @ A + h @ R), s

    def out(h, s):
        return h @ net.weight("U", (net.H, 10), net.H) + s @ net.weight("V", (net.K, 10), net.K)

    return recurrent(net, cell, "s", net.K, out)


@both
def sublstm(net):
    w = net.weight("W", (4, net.I, net.H), net.I)
    r = net.weight("R", (4, net.H, net.H), net.H)
    bw, br = (net.param(n, (4, net.H)) for n in ("bw", "br"))

    def cell(x, h, c):
        i, f, z, o = torch.sigmoid(x @ w + bw[:, None] + h @ r + br[:, None])
        c = f * c + z - i
        return torch.sigmoid(c) - o, c

    return recurrent(net, cell)


@both
def lltm(net):
    w = net.weight("W", (3, net.H + net.I, net.H), net.H + net.I)
    b = net.param("b", (3, net.H))

    def cell(x, h, c):
        i, o, g = torch.cat([h, x], 1) @ w + b[:, None]
        c = c + F.elu(g) * torch.sigmoid(i)
        return torch.tanh(c) * torch.sigmoid(o), c

    return recurrent(net, cell)


def main():
    os.makedirs(os.path.join(HERE, "expected"), exist_ok=True)
    if sys.argv[1:2] == ["--seeds"]:
        for name in sys.argv[2:]:
            print_seeds(name)
        return
    for name in sys.argv[1:] or CASES:
        with open(os.path.join(HERE, "expected", name + ".txt"), "w") as f:
            f.write("\n".join(expected(name)) + "\n")


main()
