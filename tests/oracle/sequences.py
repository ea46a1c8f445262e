"""The networks of models/zoo that are loops, in PyTorch. See networks.py."""
import torch
import torch.nn.functional as F

from networks import f32, network

LR = f32(0.002)


def first_max(a, b):
    """The gradient goes to the first of equals."""
    return torch.where(a >= b, a, b)


# ---- layers


def lstm_half(net, name, x, lens, h, c, down=False):
    """One direction of nn.lstm_from; h and c are [B, hidden]."""
    hidden, steps = h.shape[1], range(x.shape[1])
    w = net.weight(name + ".W", (4 * hidden, x.shape[2]), x.shape[2])
    u = net.weight(name + ".U", (4 * hidden, hidden), hidden)
    b = net.param(name + ".bw", (4 * hidden,)) + net.param(name + ".bu", (4 * hidden,))
    ys = [None] * x.shape[1]
    for t in reversed(steps) if down else steps:
        i, f, g, o = (x[:, t] @ w.T + h @ u.T + b).chunk(4, 1)
        live = (t < lens)[:, None]
        c = torch.where(live, f.sigmoid() * c + i.sigmoid() * g.tanh(), c)
        h = torch.where(live, o.sigmoid() * c.tanh(), h)
        ys[t] = torch.where(live, h, 0.0)
    return torch.stack(ys, 1), h, c


def lstm_both(net, name, x, lens, hidden):
    zero = torch.zeros(x.shape[0], hidden, dtype=x.dtype)
    f, hf, cf = lstm_half(net, name + ".first.f", x, lens, zero, zero)
    b, hb, cb = lstm_half(net, name + ".first.b", x, lens, zero, zero, True)
    return torch.cat([f, b], 2), torch.cat([hf, hb], 1), torch.cat([cf, cb], 1)


def rms_norm(net, name, x):
    g = net.param(name + ".g", x.shape[-1:], 1, 0.25)
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + f32(1e-5)) * g


def mamba_block(net, name, x, state, width=4, expand=2):
    D, T = x.shape[2], x.shape[1]
    E, rank = expand * D, (D + 15) // 16
    u, z = (x @ net.weight(name + ".Wi", (2 * E, D), D).T).chunk(2, 2)
    f, b = net.weight(name + ".F", (E, width), width), net.param(name + ".b", (E,))
    u = F.conv1d(u.transpose(1, 2), f[:, None], b, padding=width - 1, groups=E)[..., :T]
    u = F.silu(u.transpose(1, 2))
    p = u @ net.weight(name + ".Wx", (rank + 2 * state, E), E).T
    d, B, C = p.split([rank, state, state], 2)
    d = F.softplus(d @ net.weight(name + ".Wt", (E, rank), rank).T + net.param(name + ".bt", (E,)))
    A, skip = -net.param(name + ".Al", (E, state)).exp(), net.param(name + ".D", (E,))
    h, ys = torch.zeros(x.shape[0], E, state, dtype=x.dtype), []
    for t in range(T):
        h = torch.exp(d[:, t, :, None] * A) * h + (d[:, t] * u[:, t])[..., None] * B[:, t, None]
        ys.append((h * C[:, t, None]).sum(2) + skip * u[:, t])
    return (torch.stack(ys, 1) * F.silu(z)) @ net.weight(name + ".Wo", (D, E), E).T


def token_loss(L, y):
    return F.cross_entropy(L.reshape(-1, L.shape[-1]), y.reshape(-1))


# ---- networks


@network(lr=LR)
def mamba(net):
    x, y = (net.ints(k, (net.B, net.T), net.WORDS) for k in "XY")
    table = net.param("e.T", (net.WORDS, net.WIDTH))
    e = table[x]
    r = e + mamba_block(net, "m", rms_norm(net, "n", e), net.STATE)
    L = rms_norm(net, "f", r) @ table.T
    return dict(L=L, loss=token_loss(L, y))


def viterbi(x, lens, A, first, last):
    scores, path = [], torch.zeros(x.shape[:2])
    for n, steps in enumerate(lens.tolist()):
        v, back = first, []
        for t in range(steps):
            best, at = (v[:, None] + A).max(0) if t else (v, torch.arange(len(first)))
            back.append(at)
            v = best + x[n, t]
        best, k = (v + last).max(0)
        scores.append(best)
        for t in reversed(range(steps)):
            path[n, t] = k
            k = back[t][k]
    return torch.stack(scores), path


@network(lr=LR)
def tagger(net):
    x, lens = net.ints("X", (net.B, net.T), net.WORDS), net.ints("len", (net.B,), net.T + 1)
    y = net.ints("Y", (net.B, net.T), net.TAGS)
    A = net.param("A", (net.TAGS, net.TAGS))
    first, last = (net.param(k, (net.TAGS,)) for k in ("first", "last"))
    e = net.param("e.T", (net.WORDS, net.E))[x]
    h, _, _ = lstm_both(net, "h", e, lens, net.H)
    s = net.linear("s", h, net.TAGS)
    losses = []
    for n, steps in enumerate(lens.tolist()):
        a, tags = first, y[n, :steps].tolist()
        for t in range(steps):
            a = (torch.logsumexp(a[:, None] + A, 0) if t else a) + s[n, t]
        z = torch.logsumexp(a + last, 0)
        right = sum(s[n, t, k] for t, k in enumerate(tags))
        right = right + sum(A[i, j] for i, j in zip(tags, tags[1:]))
        losses.append(z - right - first[tags[0]] - last[tags[-1]] if steps else 0 * z)
    score, path = viterbi(s, lens, A, first, last)
    return dict(score=score, path=path, loss=torch.stack(losses).mean())


@network(lr=LR)
def seq2seq(net):
    B, H, E = net.B, net.H, net.E
    x, lens = net.ints("X", (B, net.S), net.WORDS), net.ints("len", (B,), net.S + 1)
    z, y = (net.ints(k, (B, net.T), net.WORDS) for k in "ZY")
    W, V, U = (net.weight(k, (4, n, H), n) for k, n in (("W", E), ("V", H), ("U", H)))
    b, C = net.param("b", (4, H)), net.weight("C", (2 * H, H), 2 * H)
    enc, h, c = lstm_both(net, "enc", net.param("e.T", (net.WORDS, E))[x], lens, H // 2)
    table = net.param("z.T", (net.WORDS, E))
    words, a, outs = table[z], torch.zeros(B, H, dtype=enc.dtype), []
    seen = torch.arange(net.S) < lens.clamp(min=1)[:, None]
    for t in range(net.T):
        i, f, g, o = words[:, t] @ W + b[:, None] + a @ V + h @ U
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        s = torch.einsum("nj,nij->ni", h, enc).masked_fill(~seen, -torch.inf)
        m = torch.einsum("ni,nij->nj", s.softmax(1), enc)
        a = torch.tanh(torch.cat([m, h], 1) @ C)
        outs.append(a)
    L = torch.stack(outs, 1) @ table.T
    return dict(L=L, loss=token_loss(L, y))


@network(lr=LR)
def wave(net):
    N, T = net.N, net.T
    x = net.ints("X", (net.B,), N)
    k = net.param("c", (N, N), 0.5, 0.125)**2
    a = (f32(0.02) * (torch.arange(T) - 25))**2
    pulse = (1 - 2 * a) * torch.exp(-a)
    shot = torch.zeros(net.B, N, N)
    shot[torch.arange(net.B), net.DEPTH, x] = 1
    stencil = torch.tensor([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]]).to(k.dtype)[None, None]
    u = v = torch.zeros(net.B, N, N, dtype=k.dtype)
    heard = []
    for t in range(T):
        u, v = 2 * u - v + k * F.conv2d(u[:, None], stencil, padding=1)[:, 0] + pulse[t] * shot, u
        heard.append(u[:, net.DEPTH])
    R = torch.stack(heard, 1)
    return dict(R=R, loss=F.mse_loss(R, net.input("Y", R.shape)))


@network(lr=LR)
def gotoh(net):
    x, y = net.ints("X", (net.B, net.N), net.K), net.ints("Y", (net.B, net.M), net.K)
    S = net.param("S", (net.K, net.K))
    open, extend = net.param("open", (), 2, 0.25), net.param("extend", (), 0.5, 0.125)
    none = torch.tensor(-1e9, dtype=S.dtype)
    scores = []
    for n in range(net.B):
        m = [torch.zeros(()), *[none] * net.M]
        g = [none] * (net.M + 1)
        h = [none, *(-open - j * extend for j in range(net.M))]
        for i in range(net.N):
            best = [first_max(m[j], first_max(g[j], h[j])) for j in range(net.M)]
            m2 = [none, *(best[j] + S[x[n, i], y[n, j]] for j in range(net.M))]
            g = [first_max(m[j] - open, g[j] - extend) for j in range(net.M + 1)]
            h = [none]
            for j in range(net.M):
                h.append(first_max(first_max(m2[j], g[j]) - open, h[j] - extend))
            m = m2
        scores.append(first_max(m[-1], first_max(g[-1], h[-1])))
    score = torch.stack(scores)
    return dict(score=score, loss=F.mse_loss(score, net.input("Z", (net.B,))))
