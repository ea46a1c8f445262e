"""The cells of models/zoo/cells.expr over a sequence, for any library (`ops`: jax_ops, torch_ops).

A cell is what is made before the rounds, for all of them at once, and a round.
"""


def gates(z, n):
    """Parts of equal size of the last dimension."""
    size = z.shape[-1] // n
    return [z[..., k * size:(k + 1) * size] for k in range(n)]


def milstm(ops, g):
    a, b1, b2, b = g["k"]
    size = g["U"].shape[0]

    def before(x):
        return x @ g["W"]

    def step(p, h, c):
        q = h @ g["U"]
        z = a * p * q + b1 * p + b2 * q + b
        f, i, o = gates(ops.sigmoid(z[..., :3 * size]), 3)
        c = f * c + i * ops.tanh(z[..., 3 * size:])
        return o * ops.tanh(c), c

    return before, step, (size, size)


def scrnn(ops, g):
    sizes = g["R"].shape[0], g["C"].shape[1]

    def before(x):
        return ops.cat([x @ g["A"], 0.5 * (x @ g["C"])], -1)

    def step(p, h, s):
        s = p[..., sizes[0]:] + 0.5 * s
        return ops.sigmoid(p[..., :sizes[0]] + s @ g["P"] + h @ g["R"]), s

    return before, step, sizes


def sublstm(ops, g):
    size = g["R"].shape[0]

    def before(x):
        return x @ g["W"] + (g["bw"] + g["br"])

    def step(p, h, c):
        i, f, z, o = gates(ops.sigmoid(p + h @ g["R"]), 4)
        c = f * c + z - i
        return ops.sigmoid(c) - o, c

    return before, step, (size, size)


def lltm(ops, g):
    size = g["U"].shape[0]

    def before(x):
        return x @ g["W"] + g["b"]

    def step(p, h, c):
        i, o, z = gates(p + h @ g["U"], 3)
        c = c + ops.elu(z) * ops.sigmoid(i)
        return ops.tanh(c) * ops.sigmoid(o), c

    return before, step, (size, size)


CELLS = dict(milstm=milstm, scrnn=scrnn, sublstm=sublstm, lltm=lltm)


def logits(g, h, c):
    if "L.W" in g:
        return h @ g["L.W"] + g["L.b"]
    return h @ g["U"] + c @ g["V"]
