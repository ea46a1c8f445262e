"""Helpers of the scripts that make expected values: lines of a file, PyTorch's side of the shipped
library. Importing it without PyTorch ends the program with a message.
"""
import math
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit("this needs PyTorch, 2.0 or later")

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def f32(x):
    """Constants of a model are rounded to f32 before it is widened."""
    return float(torch.tensor(x, dtype=torch.float32))


def line(entry, name, t):
    t = torch.as_tensor(t).detach().reshape(-1)
    text = (f"{v:.10g}" if math.isfinite(v) else str(v) for v in t.tolist())
    return " ".join([entry, name, str(t.numel()), *text])


def gradients(loss, tensors):
    if not tensors:
        return {}
    g = torch.autograd.grad(loss, list(tensors.values()), allow_unused=True)
    return {k: torch.zeros_like(t) if gk is None else gk for (k, t), gk in zip(tensors.items(), g)}


# ---- optimizers: PyTorch's own where it has them, after clipping as the library does


def clipped(grads, clip):
    norm = math.sqrt(sum(float((g * g).sum()) for g in grads))
    return min(1.0, clip / norm) if clip else 1.0


class Torch:
    """One of torch.optim; `states` maps its names to ours."""

    def __init__(self, make, name, states, clip=None):
        self.make, self.name, self.states, self.clip = make, name, states, clip

    def begin(self, p):
        self.p, self.o = p, self.make(list(p.values()))

    def step(self, grads):
        s = clipped(grads.values(), self.clip)
        for k, w in self.p.items():
            w.grad = s * grads[k]
        self.o.step()

    def after(self):
        for k, w in self.p.items():
            for theirs, ours in self.states.items():
                yield f"{k}.{self.name}.{ours}", self.o.state[w][theirs]


class Lamb:
    """You et al., algorithm 2, with the bias corrections of Adam; weights' norm as it is."""

    def __init__(self, lr, beta1, beta2, eps, decay, clip=None):
        self.lr, self.b1, self.b2, self.eps = lr, beta1, beta2, eps
        self.decay, self.clip = decay, clip

    def begin(self, p):
        self.p, self.t = p, 0
        self.m = {k: torch.zeros_like(w) for k, w in p.items()}
        self.v = {k: torch.zeros_like(w) for k, w in p.items()}

    def step(self, grads):
        s = clipped(grads.values(), self.clip)
        self.t += 1
        for k, w in self.p.items():
            g = s * grads[k]
            self.m[k] = self.b1 * self.m[k] + (1 - self.b1) * g
            self.v[k] = self.b2 * self.v[k] + (1 - self.b2) * g * g
            mh, vh = self.m[k] / (1 - self.b1**self.t), self.v[k] / (1 - self.b2**self.t)
            r = mh / (vh.sqrt() + self.eps) + self.decay * w.detach()
            nw, nr = float(w.detach().norm()), float(r.norm())
            ratio = nw / nr if nw > 0 and nr > 0 else 1.0
            with torch.no_grad():
                w -= self.lr * ratio * r

    def after(self):
        for k in self.p:
            yield f"{k}.lamb.m", self.m[k]
            yield f"{k}.lamb.v", self.v[k]


class SparseAdam:
    """Adam on the rows of a table that have a gradient: as torch.optim.SparseAdam, but for where eps
    stands, which is Adam's."""

    def __init__(self, lr, beta1, beta2, eps):
        self.lr, self.b1, self.b2, self.eps = lr, beta1, beta2, eps

    def begin(self, p):
        self.p, self.t = p, 0
        self.m = {k: torch.zeros_like(w) for k, w in p.items()}
        self.v = {k: torch.zeros_like(w) for k, w in p.items()}

    def step(self, grads):
        self.t += 1
        c1, c2 = 1 - self.b1**self.t, 1 - self.b2**self.t
        for k, w in self.p.items():
            rows, m, v = (grads[k] != 0).any(1), self.m[k], self.v[k]
            g = grads[k][rows]
            m[rows] = self.b1 * m[rows] + (1 - self.b1) * g
            v[rows] = self.b2 * v[rows] + (1 - self.b2) * g * g
            with torch.no_grad():
                w[rows] -= self.lr * (m[rows] / c1) / ((v[rows] / c2).sqrt() + self.eps)

    def after(self):
        for k in self.p:
            yield f"{k}.adam_rows.m", self.m[k]
            yield f"{k}.adam_rows.v", self.v[k]


def sgd(lr, decay=0.0):
    return Torch(lambda p: torch.optim.SGD(p, lr=lr, weight_decay=decay), "sgd", {})


def momentum(lr, mu, clip=None, decay=0.0, nesterov=False):
    return Torch(
        lambda p: torch.optim.SGD(p, lr=lr, momentum=mu, weight_decay=decay, nesterov=nesterov),
        "nesterov" if nesterov else "momentum", {"momentum_buffer": "v"}, clip)


def adam(lr, clip=None):
    return Torch(lambda p: torch.optim.Adam(p, lr=lr, betas=(0.875, 0.96875), eps=2**-10), "adam", {
        "exp_avg": "m",
        "exp_avg_sq": "v"
    }, clip)


class Adam:
    """Kingma, Ba, algorithm 1, with the library's defaults; PyTorch's own cannot be given 1 - beta, which
    is rounded by itself. `name`: adam, or sparse_adam, which leaves rows without a gradient as they are."""

    def __init__(self, lr, name="adam"):
        self.lr, self.name, self.eps = lr, name, f32(1e-8)
        self.betas = [(f32(beta), f32(1 - beta)) for beta in (0.9, 0.999)]

    def begin(self, p):
        self.p, self.t = p, 0
        self.means = {k: [torch.zeros_like(w), torch.zeros_like(w)] for k, w in p.items()}

    def step(self, grads):
        self.t += 1
        for k, w in self.p.items():
            g = grads[k]
            rows = (g != 0).any(1) if self.name == "sparse_adam" else slice(None)
            hats = []
            for mean, (beta, rest), x in zip(self.means[k], self.betas, (g, g * g)):
                mean[rows] = beta * mean[rows] + rest * x[rows]
                hats.append(mean[rows] / (1 - beta**self.t))
            with torch.no_grad():
                w[rows] -= self.lr * hats[0] / (hats[1].sqrt() + self.eps)

    def after(self):
        for k, means in self.means.items():
            for name, mean in zip("mv", means):
                yield f"{k}.{self.name}.{name}", mean


def adam_rows(lr):
    return SparseAdam(lr, 0.875, 0.96875, 2**-10)


def adamw(lr, decay):
    return Torch(
        lambda p: torch.optim.AdamW(p, lr=lr, betas=(0.875, 0.96875), eps=2**-10, weight_decay=decay
                                   ), "adamw", {
                                       "exp_avg": "m",
                                       "exp_avg_sq": "v"
                                   })


def rmsprop(lr, rho, decay):
    return Torch(lambda p: torch.optim.RMSprop(p, lr=lr, alpha=rho, eps=2**-10, weight_decay=decay),
                 "rmsprop", {"square_avg": "v"})


def adagrad(lr):
    return Torch(lambda p: torch.optim.Adagrad(p, lr=lr, eps=2**-10), "adagrad", {"sum": "v"})


def lamb(lr, decay, clip=None):
    return Lamb(lr, 0.875, 0.96875, 2**-10, decay, clip)


# ---- layers


def bn(p, st, name, x, eps, rate, training):
    """As PyTorch's, but the running variance is that of the batch itself, not Bessel's estimate."""
    dims = [d for d in range(x.dim()) if d != 1]
    y = F.batch_norm(x, st[name + ".mu"].clone(), st[name + ".va"].clone(), p[name + ".g"],
                     p[name + ".b"], training, rate, eps)
    if training:
        st[name + ".mu"] = (1 - rate) * st[name + ".mu"] + rate * x.detach().mean(dims)
        st[name +
           ".va"] = (1 - rate) * st[name + ".va"] + rate * x.detach().var(dims, unbiased=False)
    return y
