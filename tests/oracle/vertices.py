"""The networks of models/zoo over graphs, in PyTorch: vertex by vertex, each as the paper has it, with
children before their parents. See networks.py."""
import torch
import torch.nn.functional as F

from networks import f32, network

LR = f32(0.001)


def graph(net, name, places):
    """Children of each vertex, as lists with -1 for none."""
    n = net.size(name + ".vertices")
    return net.ranged(name + ".child", (n, places), lambda v, k: (-1, v)).tolist()


def rows(table, index):
    """Zero where there is none."""
    found = table[index.clamp(min=0)]
    return torch.where((index >= 0)[..., None], found, 0.0)


def looked_up(net, name, shape, table, size, count="WORDS"):
    n = net.size(count)
    index = net.ranged(name, shape, lambda *_: (-1, n))
    return rows(net.param(table, (n, size)), index)


def of(states, child, k, size):
    """The k-th child's state, which is 0 where there is none."""
    return states[child[k]] if child[k] >= 0 else torch.zeros(size, dtype=torch.float64)


def gates(z, count):
    return z.reshape(count, -1).unbind(0)


def classified(net, h, label, count, name="L"):
    L = net.linear(name, h, count)
    return dict(L=L, loss=F.cross_entropy(L, label))


def labelled(net, h):
    return classified(net, h, net.ints("label", (len(h),), net.CLASSES), net.CLASSES)


def product(x, w):
    """[from] times [from, gate, to]: gates beside each other."""
    return x @ w.reshape(len(x), -1)


# ---- trees


@network(lr=LR, adam=("T",))
def tree_lstm(net):
    child, D = graph(net, "G", 2), net.D
    x = looked_up(net, "word", (len(child),), "T", net.E)
    W, U = net.weight("h.W", (net.E, 3, D), net.E), net.weight("h.U", (2, D, 5, D), 2 * D)
    b, hs, cs = net.param("h.b", (4, D)), [], []
    for v, own in enumerate(child):
        if max(own) < 0:
            i, o, u = gates(product(x[v], W) + b[:3].reshape(-1), 3)
            c = i.sigmoid() * u.tanh()
        else:
            h = [of(hs, own, k, D) for k in range(2)]
            z = product(h[0], U[0]) + product(h[1], U[1])
            i, o, u, f, g = gates(z + b[[0, 1, 2, 3, 3]].reshape(-1), 5)
            c = i.sigmoid() * u.tanh()
            c = c + f.sigmoid() * of(cs, own, 0, D) + g.sigmoid() * of(cs, own, 1, D)
        cs.append(c)
        hs.append(o.sigmoid() * c.tanh())
    return labelled(net, torch.stack(hs))


@network(lr=LR, adam=("T",))
def tree_lstm_sum(net):
    child, D = graph(net, "G", net.CHILDREN), net.D
    x = looked_up(net, "word", (len(child),), "T", net.E)
    word = net.ranged("word", (len(child),), lambda _: (-1, net.WORDS))
    W, U = net.weight("h.W", (net.E, 3, D), net.E), net.weight("h.U", (D, 3, D), D)
    Wf, Uf = net.weight("h.Wf", (net.E, D), net.E), net.weight("h.Uf", (D, D), D)
    b, bf, hs, cs = net.param("h.b", (3, D)), net.param("h.bf", (D,)), [], []
    for v, own in enumerate(child):
        p = b.reshape(-1) + (product(x[v], W) if word[v] >= 0 else 0)
        q = bf + (x[v] @ Wf if word[v] >= 0 else 0)
        below = [k for k in own if k >= 0]
        s = sum((hs[k] for k in below), torch.zeros(D, dtype=x.dtype))
        i, o, u = gates(p + product(s, U), 3)
        c = i.sigmoid() * u.tanh()
        for k in below:
            c = c + (q + hs[k] @ Uf).sigmoid() * cs[k]
        cs.append(c)
        hs.append(o.sigmoid() * c.tanh())
    return labelled(net, torch.stack(hs))


@network(lr=LR, adam=("T",))
def tree_gru(net):
    child, D = graph(net, "G", 2), net.D
    x = looked_up(net, "word", (len(child),), "T", net.E)
    W, R = net.weight("h.W", (net.E, 3, D), net.E), net.weight("h.R", (D, D), D)
    U, b, hs = net.weight("h.U", (2, D, 2, D), 2 * D), net.param("h.b", (3, D)), []
    for v, own in enumerate(child):
        pr, pz, pn = gates(product(x[v], W) + b.reshape(-1), 3)
        h = [of(hs, own, k, D) for k in range(2)]
        z = (pz + sum(h[k] @ U[k, :, 0] for k in range(2))).sigmoid()
        reset = [(pr + h[k] @ R).sigmoid() * h[k] for k in range(2)]
        new = (pn + sum(reset[k] @ U[k, :, 1] for k in range(2))).tanh()
        hs.append(z * (h[0] + h[1]) + (1 - z) * new)
    return labelled(net, torch.stack(hs))


def lists(net, name):
    """The edges of each vertex: their numbers, and the children."""
    begin = net.ints(name + ".begin", (net.size(name + ".vertices") + 1,), 1).tolist()
    child = net.ints(name + ".child", (net.size(name + ".edges"),), 1).tolist()
    return [[(e, child[e]) for e in range(a, b)] for a, b in zip(begin, begin[1:])]


@network(lr=LR, adam=("T",))
def dependency_lstm(net):
    below, D, E, K = lists(net, "G"), net.D, net.E, net.TYPES
    x = net.param("T", (net.WORDS, E))[net.ints("word", (len(below),), net.WORDS)]
    arc = net.ints("arc", (net.size("G.edges"),), K)
    W, U, Uf = (net.weight("h." + k, shape, shape[0])
                for k, shape in (("W", (E, 4, D)), ("U", (D, 3, D)), ("Uf", (D, D))))
    b, F, R, bias = (net.param("h." + k, shape)
                     for k, shape in (("b", (4, D)), ("F", (K, D)), ("R", (K, D)), ("bias", (K,))))
    own, key, hs, cs = net.weight("h.own", (E,), E), net.weight("h.below", (D,), D), [], []
    for v, edges in enumerate(below):
        p, c, m = product(x[v], W).reshape(4, D) + b, 0, torch.zeros(D, dtype=x.dtype)
        if edges:
            h, kind = torch.stack([hs[k] for _, k in edges]), arc[[e for e, _ in edges]]
            a = (x[v] @ own + bias[kind] + h @ key).tanh().softmax(0)
            f = (p[3] + F[kind] + h @ Uf).sigmoid()
            c = (f * torch.stack([cs[k] for _, k in edges])).sum(0)
            m = (a[:, None] * R[kind] * h).sum(0)
        i, o, u = p[:3] + product(m, U).reshape(3, D)
        cs.append(i.sigmoid() * u.tanh() + c)
        hs.append(o.sigmoid() * cs[-1].tanh())
    return labelled(net, torch.stack(hs))


@network(lr=LR, adam=("T", "Diag", "Left", "Right"))
def mv_rnn(net):
    child, D, R = graph(net, "G", 2), net.D, net.R
    n = len(child)
    x, d, left, right = (looked_up(net, "word", (n,), k, size)
                         for k, size in (("T", D), ("Diag", D), ("Left", D * R), ("Right", D * R)))
    W, M = net.weight("h.W", (2, D, D), 2 * D), net.weight("h.M", (2, D, D), 2 * D)
    b, hs, ms = net.param("h.b", (D,)), [], []
    for v, own in enumerate(child):
        if max(own) < 0:
            p, P = x[v], torch.diag(d[v]) + left[v].reshape(D, R) @ right[v].reshape(R, D)
        else:
            a, A = ([of(s, own, k, size) for k in range(2)] for s, size in ((hs, D), (ms, (D, D))))
            p = ((A[1] @ a[0]) @ W[0] + (A[0] @ a[1]) @ W[1] + b).tanh()
            P = M[0] @ A[0] + M[1] @ A[1]
        hs.append(p)
        ms.append(P)
    return labelled(net, torch.stack(hs))


@network(lr=f32(0.01))
def tree_fc(net):
    child, D = graph(net, "G", 2), net.D
    rows_of, trees = net.size("LEAVES"), net.size("TREES")
    x = rows(net.input("X", (rows_of, D)),
             net.ranged("leaf", (len(child),), lambda v: (-1, rows_of)))
    root = net.ints("root", (trees,), len(child))
    W, b, hs = net.weight("H.W", (2, D, D), 2 * D), net.param("H.b", (D,)), []
    for v, own in enumerate(child):
        if max(own) < 0:
            hs.append(x[v])
        else:
            hs.append((of(hs, own, 0, D) @ W[0] + of(hs, own, 1, D) @ W[1] + b).relu())
    return classified(net, torch.stack(hs)[root], net.ints("label", (trees,), net.CLASSES),
                      net.CLASSES)


# ---- others


@network(lr=LR, adam=("T",))
def chain_lstm(net):
    child, D = graph(net, "G", 1), net.D
    x = net.param("T", (net.WORDS, net.E))[net.ints("word", (len(child),), net.WORDS)]
    W, U = net.weight("h.W", (net.E, 4, D), net.E), net.weight("h.U", (D, 4, D), D)
    b, hs, cs = net.param("h.b", (4, D)), [], []
    for v, own in enumerate(child):
        z = product(x[v], W) + product(of(hs, own, 0, D), U) + b.reshape(-1)
        i, f, g, o = gates(z, 4)
        cs.append(f.sigmoid() * of(cs, own, 0, D) + i.sigmoid() * g.tanh())
        hs.append(o.sigmoid() * cs[-1].tanh())
    h = torch.stack(hs)
    loss = classified(net, h, net.ints("after", (len(child),), net.WORDS), net.WORDS)["loss"]
    return dict(h=h, loss=loss)


def merged(net, own, hs, cs, x, y, z):
    """The memory of a character, from the words that end there."""
    W, U, P, Q, bw, bl = (net.own[k] for k in ("V", "R", "P", "Q", "bw", "bl"))
    new, D = z[3].tanh(), net.D
    parts, shares = [new], [z[0].sigmoid().exp()]
    for k in range(1, sum(c >= 0 for c in own)):
        i, f, g = gates(product(y[k - 1], W) + product(of(hs, own, k, D), U) + bw.reshape(-1), 3)
        w = f.sigmoid() * of(cs, own, k, D) + i.sigmoid() * g.tanh()
        parts.append(w)
        shares.append((x @ P + w @ Q + bl).sigmoid().exp())
    shares = torch.stack(shares)
    return (shares * torch.stack(parts)).sum(0) / shares.sum(0)


@network(lr=LR, adam=("C", "T"))
def lattice_lstm(net):
    child, D, E, K = graph(net, "G", 1 + net.ARCS), net.D, net.E, net.ARCS
    n = len(child)
    x = looked_up(net, "char", (n,), "C", E, "CHARS")
    y = looked_up(net, "word", (n, K), "T", E)
    W, U = net.weight("h.W", (E, 4, D), E), net.weight("h.U", (D, 4, D), D)
    b, hs, cs = net.param("h.b", (4, D)), [], []
    net.own = {k: net.weight("h." + k, shape, E)
               for k, shape in (("V", (E, 3, D)), ("R", (D, 3, D)), ("P", (E, D)), ("Q", (D, D)))}
    net.own |= {k: net.param("h." + k, shape) for k, shape in (("bw", (3, D)), ("bl", (D,)))}
    for v, own in enumerate(child):
        z = gates(product(x[v], W) + product(of(hs, own, 0, D), U) + b.reshape(-1), 4)
        if sum(c >= 0 for c in own) > 1:
            c = merged(net, own, hs, cs, x[v], y[v], z)
        else:
            c = z[2].sigmoid() * of(cs, own, 0, D) + z[0].sigmoid() * z[3].tanh()
        cs.append(c)
        hs.append(z[1].sigmoid() * c.tanh())
    return classified(net, torch.stack(hs), net.ints("tag", (n,), net.TAGS), net.TAGS)


@network(lr=LR, adam=())
def ggnn(net):
    V, M, D = net.V, net.M, net.D
    kind, graph_of = net.ints("kind", (V,), net.KINDS), net.ints("graph_of", (V,), net.B)
    edges = [net.ints(k, (M,), n).tolist() for k, n in (("from", V), ("to", V), ("type", net.TYPES))]
    A, W = net.weight("A", (net.TYPES, D, D), D), net.weight("W", (D, 3, D), D)
    U, R, b = net.weight("U", (D, 2, D), D), net.weight("R", (D, D), D), net.param("b", (3, D))
    h = h0 = net.param("h0.T", (net.KINDS, D))[kind]
    for _ in range(net.ROUNDS):
        heard = [torch.zeros(D, dtype=h.dtype) for _ in range(V)]
        for begin, end, k in zip(*edges):
            heard[end] = heard[end] + h[begin] @ A[k]
        p = torch.stack(heard) @ W.reshape(D, -1) + b.reshape(-1)
        r, z = (p[:, :2 * D] + h @ U.reshape(D, -1)).sigmoid().chunk(2, 1)
        h = (1 - z) * h + z * (p[:, 2 * D:] + (r * h) @ R).tanh()
    both = torch.cat([h, h0], 1)
    i, o = (net.linear(k, both, D) for k in "io")
    s = torch.stack([(i.sigmoid() * o.tanh())[graph_of == n].sum(0) for n in range(net.B)]).tanh()
    y = net.linear("y", s, 1)
    return dict(y=y, loss=F.mse_loss(y[:, 0], net.input("Y", (net.B,))))
