"""The functions of models/std in numpy and float64, from the papers' formulas and not from the library.

Weights lie as models/std says. Arrays are float64 whatever the type of the model: what a model of bf16 is given are
numbers of bf16, and its results are held against the exact ones.
"""

import numpy as np

INF = np.inf


def sigmoid(x):
    return 1/(1 + np.exp(-x))


def silu(x):
    return x*sigmoid(x)


def softplus(x):
    return np.logaddexp(0, x)


def erf(x):
    return np.vectorize(__import__("math").erf)(x)


def gelu(x):
    return 0.5*x*(1 + erf(x/np.sqrt(2)))


def elu(x):
    return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))


def logsumexp(x, axis=-1):
    top = x.max(axis=axis, keepdims=True)
    return (np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top).squeeze(axis)


def linear(x, w, b):
    return x@w + b


# ---- images


def padded(x, pad, value=0.0):
    return np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=value)


def conv2d(x, f, stride=1, pad=0, dilation=1, groups=1, bias=None):
    x = padded(x, pad)
    n, _, h, w = x.shape
    k, c, r, s = f.shape
    p, q = (h - dilation*(r - 1) - 1)//stride + 1, (w - dilation*(s - 1) - 1)//stride + 1
    y = np.zeros((n, k, p, q))
    for o in range(k):
        first = (o//(k//groups))*c
        for i in range(r):
            for j in range(s):
                part = x[:, first:first + c, dilation*i:dilation*i + stride*(p - 1) + 1:stride,
                         dilation*j:dilation*j + stride*(q - 1) + 1:stride]
                y[:, o] += np.einsum("nchw,c->nhw", part, f[o, :, i, j])
    return y if bias is None else y + bias[None, :, None, None]


def pool(x, kind, size, stride, pad):
    x = padded(x, pad, -INF if kind == "max" else 0.0)
    p, q = (x.shape[2] - size)//stride + 1, (x.shape[3] - size)//stride + 1
    y = np.zeros(x.shape[:2] + (p, q))
    for i in range(p):
        for j in range(q):
            window = x[:, :, i*stride:i*stride + size, j*stride:j*stride + size]
            y[:, :, i, j] = window.max(axis=(2, 3)) if kind == "max" else window.mean(axis=(2, 3))
    return y


# ---- norms, softmax, losses


def layer_norm(x, g, b, eps=1e-5):
    m = x.mean(-1, keepdims=True)
    return g*(x - m)/np.sqrt(((x - m)**2).mean(-1, keepdims=True) + eps) + b


def rms_norm(x, g, eps=1e-5):
    return g*x/np.sqrt((x**2).mean(-1, keepdims=True) + eps)


def batch_norm(x, g, b, mean, variance, eps=1e-5):
    def at(a):
        return a[None, :, None, None]
    return at(g)*(x - at(mean))/np.sqrt(at(variance) + eps) + at(b)


def softmax(x):
    return np.exp(x - logsumexp(x)[..., None])


def cross_entropy(l, y, smoothing=0.0):
    log_p = l - logsumexp(l)[..., None]
    taken = np.take_along_axis(log_p, y[..., None], -1)[..., 0]
    return -((1 - smoothing)*taken + smoothing*log_p.mean(-1)).mean()


def huber(x, y, delta):
    e = np.abs(x - y)
    return np.where(e < delta, 0.5*e**2, delta*(e - 0.5*delta)).mean()


def group_norm(x, g, b, groups, eps=1e-5):
    parts = x.reshape(x.shape[0], groups, -1)
    m = parts.mean(-1, keepdims=True)
    y = ((parts - m)/np.sqrt(((parts - m)**2).mean(-1, keepdims=True) + eps)).reshape(x.shape)
    return g[None, :, None, None]*y + b[None, :, None, None]


def kl_divergence(p, q):
    with np.errstate(all="ignore"):
        return np.where(p > 0, p*(np.log(p) - np.log(q)), 0).sum(-1).mean()


def focal_loss(l, y, gamma=2.0, alpha=0.25):
    p = sigmoid(l)
    of_one, of_zero = alpha*(1 - p)**gamma*-np.log(p), (1 - alpha)*p**gamma*-np.log(1 - p)
    return np.where(y > 0.5, of_one, of_zero).mean()


def triplet_loss(a, p, n, margin):
    return np.maximum(0, ((a - p)**2).sum(-1) - ((a - n)**2).sum(-1) + margin).mean()


def dice_loss(p, y, eps=1e-6):
    p, y = p.reshape(len(p), -1), y.reshape(len(y), -1)
    return (1 - (2*(p*y).sum(-1) + eps)/((p**2).sum(-1) + (y**2).sum(-1) + eps)).mean()


# ---- windows in any number of dimensions


def windows(x, size, stride, pad, dilation, value):
    """[batch, channel, places.., offsets..]"""
    n = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(pad, pad)]*n, constant_values=value)
    reach = tuple(dilation*(s - 1) + 1 for s in size)
    w = np.lib.stride_tricks.sliding_window_view(x, reach, axis=tuple(range(2, x.ndim)))
    places = (slice(None), slice(None)) + (slice(None, None, stride),)*n
    return w[places + (slice(None, None, dilation),)*n]


def convolution(x, f, stride=1, pad=0, dilation=1):
    w = windows(x, f.shape[2:], stride, pad, dilation, 0.0)
    n = x.ndim - 2
    inner = tuple(range(2 + n, 2 + 2*n))
    return np.moveaxis(np.tensordot(w, f, axes=((1,) + inner, (1,) + tuple(range(2, 2 + n)))), -1, 1)


def pooling(x, kind, size, stride, pad):
    n = x.ndim - 2
    w = windows(x, (size,)*n, stride, pad, 1, -INF if kind == "max" else 0.0)
    inner = tuple(range(-n, 0))
    return w.max(inner) if kind == "max" else w.mean(inner)


def conv_transpose2d(x, f, stride, pad):
    n, _, h, w = x.shape
    _, k, r, s = f.shape
    y = np.zeros((n, k, stride*(h - 1) + r, stride*(w - 1) + s))
    for i in range(h):
        for j in range(w):
            y[:, :, stride*i:stride*i + r, stride*j:stride*j + s] += np.einsum("nc,ckrs->nkrs", x[:, :, i, j], f)
    return y[:, :, pad:y.shape[2] - pad, pad:y.shape[3] - pad]


def upsample_linear(x, scale):
    def weights(n):
        at = np.clip((np.arange(n*scale) + 0.5)/scale - 0.5, 0, n - 1)
        low = np.floor(at).astype(int)
        w = np.zeros((n*scale, n))
        w[np.arange(n*scale), low] += 1 - (at - low)
        w[np.arange(n*scale), np.minimum(low + 1, n - 1)] += at - low
        return w
    return np.einsum("nchw,ph,qw->ncpq", x, weights(x.shape[2]), weights(x.shape[3]))


def upsample_cubic(x, scale):
    def kernel(d, a=-0.75):
        d = np.abs(d)
        inner, outer = (a + 2)*d**3 - (a + 3)*d**2 + 1, a*(d**3 - 5*d**2 + 8*d - 4)
        return np.where(d <= 1, inner, np.where(d < 2, outer, 0))

    def weights(n):
        at = (np.arange(n*scale) + 0.5)/scale - 0.5
        low = np.floor(at).astype(int)
        w = np.zeros((n*scale, n))
        for k in range(-1, 3):
            np.add.at(w, (np.arange(n*scale), np.clip(low + k, 0, n - 1)), kernel(at - low - k))
        return w
    return np.einsum("nchw,ph,qw->ncpq", x, weights(x.shape[2]), weights(x.shape[3]))


def bordered(x, pad, mode):
    return np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], mode=mode)


# ---- boxes


def box_overlap(a, b):
    def area(x):
        return (x[..., 2] - x[..., 0])*(x[..., 3] - x[..., 1])
    low, high = np.maximum(a[:, None, :2], b[None, :, :2]), np.minimum(a[:, None, 2:], b[None, :, 2:])
    both = np.maximum(high - low, 0).prod(-1)
    return both/(area(a)[:, None] + area(b)[None] - both)


def nms(boxes, scores, threshold):
    order, overlap, kept = np.argsort(-scores, kind="stable"), box_overlap(boxes, boxes), []
    for k in order:
        if all(overlap[j, k] <= threshold for j in kept):
            kept.append(k)
    return np.isin(np.arange(len(scores)), kept), order


def bilinear(image, y, x):
    """image [channel, height, width], at a place; outermost pixels reach one pixel further."""
    h, w = image.shape[1:]
    if y < -1 or y > h or x < -1 or x > w:
        return np.zeros(len(image))
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    i, j = int(y), int(x)
    down, right = min(i + 1, h - 1), min(j + 1, w - 1)
    upper = image[:, i, j]*(j + 1 - x) + image[:, i, right]*(x - j)
    lower = image[:, down, j]*(j + 1 - x) + image[:, down, right]*(x - j)
    return upper*(i + 1 - y) + lower*(y - i)


def roi_align(x, boxes, image, height, width, scale, sampling, aligned=True):
    result = np.zeros((len(boxes), x.shape[1], height, width))
    for r, box in enumerate(boxes):
        left, top, right, bottom = box*scale - (0.5 if aligned else 0)
        h, w = (bottom - top, right - left) if aligned else (max(bottom - top, 1), max(right - left, 1))
        for p, q, i, j in np.ndindex(height, width, sampling, sampling):
            at = top + h/height*(p + (i + 0.5)/sampling), left + w/width*(q + (j + 0.5)/sampling)
            result[r, :, p, q] += bilinear(x[image[r]], *at)/sampling**2
    return result


# ---- parts of a distribution


def top_p(l, p):
    share, keep = softmax(l), np.zeros(l.shape, bool)
    for row, mask in zip(share, keep):
        order = np.argsort(-row, kind="stable")
        mask[order[np.concatenate([[0], np.cumsum(row[order])[:-1]]) < p]] = True
    return keep


def histogram(x, bins, lo, hi, weights=None):
    edges = lo + (hi - lo)*np.arange(bins + 1)/bins
    inside = (edges[:-1] <= x[..., None]) & (x[..., None] < edges[1:])
    return inside.sum(-2) if weights is None else (inside*weights[..., None]).sum(-2)


# ---- attention


def dot_attention(q, k, v, causal=False):
    t, s = q.shape[1], k.shape[1]
    score = np.einsum("bihd,bjhd->bhij", q, k)/np.sqrt(q.shape[3])
    if causal:
        score = np.where(np.arange(s)[None, :] <= np.arange(t)[:, None] + s - t, score, -INF)
    return np.einsum("bhij,bjhe->bihe", softmax(score), v)


def attention(x, w, causal=False):
    q, k, v = (np.einsum("btd,dhk->bthk", x, w["W" + n]) for n in "qkv")
    return np.einsum("bthk,hkd->btd", dot_attention(q, k, v, causal), w["Wo"]) + w["bo"]


def linear_attention(q, k, v, decay=1.0):
    b, t, h, _ = q.shape
    y = np.zeros(v.shape)
    f, g = elu(q) + 1, elu(k) + 1
    for i in range(t):
        weight = np.einsum("bhd,bshd->bsh", f[:, i], g[:, :i + 1])*decay**(i - np.arange(i + 1))[None, :, None]
        y[:, i] = np.einsum("bsh,bshe->bhe", weight, v[:, :i + 1])/weight.sum(1)[..., None]
    return y


# ---- recurrent networks


def lstm_cell(x, h, c, w):
    z = np.einsum("ni,gij->ngj", x, w["W"]) + np.einsum("nk,gkj->ngj", h, w["U"]) + w["b"]
    c = sigmoid(z[:, 1])*c + sigmoid(z[:, 0])*np.tanh(z[:, 3])
    return sigmoid(z[:, 2])*np.tanh(c), c


def gru_cell(x, h, w):
    p = np.einsum("ni,gij->ngj", x, w["W"]) + w["bw"]
    q = np.einsum("nk,gkj->ngj", h, w["U"]) + w["bu"]
    u, r = sigmoid(p[:, 0] + q[:, 0]), sigmoid(p[:, 1] + q[:, 1])
    return u*h + (1 - u)*np.tanh(p[:, 2] + r*q[:, 2])


def step(kind, x, h, c, w):
    """One step of PyTorch's cells: weights are [gates*hidden, in]."""
    p, q = x@w["W"].T + w["bw"], h@w["U"].T + w["bu"]
    if kind == "lstm":
        i, f, g, o = np.split(p + q, 4, -1)
        c = sigmoid(f)*c + sigmoid(i)*np.tanh(g)
        h = sigmoid(o)*np.tanh(c)
        return (h@w["R"].T if "R" in w else h), c
    if kind == "gru":
        (pr, pz, pn), (qr, qz, qn) = np.split(p, 3, -1), np.split(q, 3, -1)
        z = sigmoid(pz + qz)
        return (1 - z)*np.tanh(pn + sigmoid(pr + qr)*qn) + z*h, c
    return np.tanh(p + q), c


def layer(kind, x, h, c, w, lengths=None, reverse=False):
    """x [batch, time, in]; (y, h, c) after the first `lengths` steps."""
    b, t, _ = x.shape
    lengths = np.full(b, t) if lengths is None else lengths
    y = np.zeros((b, t, h.shape[1]))
    for i in (reversed(range(t)) if reverse else range(t)):
        h2, c2 = step(kind, x[:, i], h, c, w)
        live = (i < lengths)[:, None]
        h, c = np.where(live, h2, h), np.where(live, c2, c)
        y[:, i] = np.where(live, h2, 0)
    return y, h, c


def layers(kind, x, h0, c0, weights, lengths=None):
    """`weights`: a list of layers, each a list of the weights of its directions."""
    hs, cs = [], []
    for directions in weights:
        ys = []
        for d, w in enumerate(directions):
            k = len(hs)
            y, h, c = layer(kind, x, h0[k], c0[k], w, lengths, d == 1)
            ys.append(y)
            hs.append(h)
            cs.append(c)
        x = np.concatenate(ys, -1)
    return x, np.array(hs), np.array(cs)


def selective_scan(u, d, a, bs, cs, direct):
    b, t, e = u.shape
    h, y = np.zeros((b, e, a.shape[1])), np.zeros(u.shape)
    for i in range(t):
        h = np.exp(d[:, i, :, None]*a)*h + (d[:, i]*u[:, i])[..., None]*bs[:, i, None, :]
        y[:, i] = (h*cs[:, i, None, :]).sum(-1) + direct*u[:, i]
    return y


def mamba(x, w, state):
    e, width = w["F"].shape
    rank = w["Wt"].shape[1]
    uz = x@w["Wi"].T
    u, z = uz[..., :e], uz[..., e:]
    before = np.pad(u, [(0, 0), (width - 1, 0), (0, 0)])
    c = silu(sum(before[:, k:k + u.shape[1]]*w["F"][:, k] for k in range(width)) + w["b"])
    p = c@w["Wx"].T
    d = softplus(p[..., :rank]@w["Wt"].T + w["bt"])
    s = selective_scan(c, d, -np.exp(w["Al"]), p[..., rank:rank + state], p[..., rank + state:], w["D"])
    return (s*silu(z))@w["Wo"].T


# ---- symmetric matrices, rates


def symmetric(a):
    return (a + np.swapaxes(a, -1, -2))/2


def eigenvectors(a):
    """As columns, of each the element of the largest size positive."""
    v = np.linalg.eigh(a)[1]
    largest = np.take_along_axis(v, np.abs(v).argmax(-2)[..., None, :], -2)
    return v*np.sign(largest)


def inverse_root(a, p):
    e, v = np.linalg.eigh(a)
    return np.einsum("...ik,...k,...jk->...ij", v, e**(-1/p), v)


STEPS = np.arange(24)


def half_wave(x, a, b):
    """From a at 0 to b at 1, flat at both."""
    return b + (a - b)*(1 + np.cos(np.pi*np.clip(x, 0, 1)))/2


# ---- sequences of labels


def ctc(l, y, blank=0):
    """-log of the probability of the labels y, by all paths of one example."""
    t, c = l.shape
    total = -INF

    def collapsed(path):
        return [k for i, k in enumerate(path) if k != blank and (i == 0 or path[i - 1] != k)]
    for path in np.ndindex(*[c]*t):
        if collapsed(path) == list(y):
            total = np.logaddexp(total, sum(l[i, k] for i, k in enumerate(path)))
    return -total


def crf_score(x, y, a, first, last):
    n = len(y)
    return first[y[0]] + x[range(n), y].sum() + a[y[:-1], y[1:]].sum() + last[y[-1]]


def crf(x, y, a, first, last):
    t, k = x.shape
    scores = np.array([crf_score(x, list(p), a, first, last) for p in np.ndindex(*[k]*t)])
    return logsumexp(scores) - crf_score(x, list(y), a, first, last)


def viterbi(x, a, first, last):
    t, k = x.shape
    paths = list(np.ndindex(*[k]*t))
    scores = [crf_score(x, list(p), a, first, last) for p in paths]
    best = int(np.argmax(scores))
    return scores[best], paths[best]


def soft_dtw(x, y, gamma):
    c = ((x[:, None] - y[None])**2).sum(-1)
    n, m = c.shape
    r = np.full((n + 1, m + 1), INF)
    r[0, 0] = 0
    for i in range(n):
        for j in range(m):
            r[i + 1, j + 1] = c[i, j] - gamma*logsumexp(-np.array([r[i, j], r[i, j + 1], r[i + 1, j]])/gamma)
    return r[n, m]
