"""The table: models whose text has TYPE for the type of what is given, and what their outputs are.

`exact` names outputs that are rounded once: they lie within half a unit of the last place of what they are. The others
are made of results of the library that are rounded themselves.
"""

import numpy as np

import formulas as f


class Case:
    def __init__(self, name, text, expected, exact=(), sizes=None, draw=None, types=None,
                 has_gradient=True, kinds=("f64", "f32", "f16", "bf16")):
        self.name, self.text, self.expected = name, text, expected
        self.exact, self.sizes, self.kinds = exact, sizes or {}, kinds
        self.has_gradient = has_gradient  # wherever what is given may be
        self.types = types or {}  # of parameters that have not the type of what is given
        self.draw = draw or {}  # of an input: a function of (generator, shape)


def of(v, prefix):
    """The parameters of a call, by their names in it."""
    return {n[len(prefix) + 1:]: a for n, a in v.items() if n.startswith(prefix + ".")}


def large(rng, shape):
    return 100 + 4*rng.standard_normal(shape)


def positive(rng, shape):
    """Symmetric, positive definite matrices."""
    a = rng.standard_normal(shape)
    return a@np.swapaxes(a, -1, -2) + shape[-1]*np.eye(shape[-1])


def distinct(rng, shape):
    """Multiples of 1/8, no two of them equal in a row."""
    n = shape[-1]
    return np.array([rng.permutation(n) for _ in range(int(np.prod(shape[:-1])))]).reshape(shape)/8 - n/16


# ---- layers, norms, losses

DENSE = Case("dense", """import nn
dim 0 <= B <= 8
input x[B, 5] : TYPE
input i[B, 2] : i32 < 7
linear = nn.linear(x, out = 3)
wide_linear = nn.linear(x, out = 33)
embedding = nn.embedding(i, size = 4, std = TYPE(0.5))
plain = nn.embedding(i, size = 2)
dropout = nn.dropout(x, p = 0.3)
softmax = nn.softmax(x)
log_softmax = nn.log_softmax(x)
layer_norm = nn.layer_norm(x)
rms_norm = nn.rms_norm(x)
output linear, wide_linear, embedding, plain, dropout, softmax, log_softmax, layer_norm, rms_norm
""", lambda v: {
    "linear": f.linear(v["x"], v["linear.W"], v["linear.b"]),
    "wide_linear": f.linear(v["x"], v["wide_linear.W"], v["wide_linear.b"]),
    "embedding": v["embedding.T"][v["i"]],
    "plain": v["plain.T"][v["i"]],
    "dropout": v["x"],
    "softmax": f.softmax(v["x"]),
    "log_softmax": v["x"] - f.logsumexp(v["x"])[:, None],
    "layer_norm": f.layer_norm(v["x"], v["layer_norm.g"], v["layer_norm.b"]),
    "rms_norm": f.rms_norm(v["x"], v["rms_norm.g"]),
}, exact=("linear", "wide_linear", "embedding", "dropout", "softmax", "log_softmax", "layer_norm", "rms_norm"),
    sizes={"B": (0, 1, 8)}, types={"plain.T": "f32"})

LARGE = Case("softmax of large numbers, norms of a large mean", """import nn
input x[3, 40] : TYPE
softmax = nn.softmax(x)
log_softmax = nn.log_softmax(x)
layer_norm = nn.layer_norm(x)
input y[3] : i32 < 40
loss = nn.cross_entropy(x, y)
output softmax, log_softmax, layer_norm, loss
""", lambda v: {
    "softmax": f.softmax(v["x"]),
    "log_softmax": v["x"] - f.logsumexp(v["x"])[:, None],
    "layer_norm": f.layer_norm(v["x"], v["layer_norm.g"], v["layer_norm.b"]),
    "loss": f.cross_entropy(v["x"], v["y"]),
}, exact=("softmax", "log_softmax", "layer_norm", "loss"), draw={"x": large})

LOSSES = Case("losses", """import nn
input x[4, 3] : TYPE
input z[4, 3] : TYPE
input y[4] : i32 < 3
cross_entropy = nn.cross_entropy(x, y)
smooth = nn.cross_entropy(x, y, smoothing = 0.1)
binary = nn.binary_cross_entropy(x, z)
mse = nn.mse(x, z)
huber = nn.huber(x, z, delta = 0.7)
output cross_entropy, smooth, binary, mse, huber
""", lambda v: {
    "cross_entropy": f.cross_entropy(v["x"], v["y"]),
    "smooth": f.cross_entropy(v["x"], v["y"], 0.1),
    "binary": (f.softplus(v["x"]) - v["x"]*v["z"]).mean(),
    "mse": ((v["x"] - v["z"])**2).mean(),
    "huber": f.huber(v["x"], v["z"], 0.7),
}, exact=("cross_entropy", "smooth", "binary", "mse", "huber"))

IMAGES = Case("images", """import nn
input x[2, 4, 6, 5] : TYPE
input k[3, 4, 3, 2] : TYPE
conv2d = nn.conv2d(x, k, stride = 2, pad = 1)
plain = nn.conv2d_layer(x, out = 6, pad = 1, groups = 2)
bare = nn.conv2d_layer(x, out = 2, size = 2, dilation = 2, bias = false)
batch_norm = nn.batch_norm(x)
shuffle = nn.channel_shuffle(x, groups = 2)
concat = nn.concat(plain, x)
max_pool = nn.max_pool2d(x, size = 3, stride = 2, pad = 1)
avg_pool = nn.avg_pool2d(x, size = 2, pad = 1)
average = nn.global_avg_pool(x)
output conv2d, plain, bare, batch_norm, shuffle, concat, max_pool, avg_pool, average
""", lambda v: {
    "conv2d": f.conv2d(v["x"], v["k"], stride=2, pad=1),
    "plain": f.conv2d(v["x"], v["plain.F"], pad=1, groups=2, bias=v["plain.b"]),
    "bare": f.conv2d(v["x"], v["bare.F"], dilation=2),
    "batch_norm": f.batch_norm(v["x"], *(v[f"batch_norm.{n}"] for n in ("g", "b", "mu", "va"))),
    "shuffle": v["x"].reshape(2, 2, 2, 6, 5).transpose(0, 2, 1, 3, 4).reshape(2, 4, 6, 5),
    "concat": np.concatenate(
        [f.conv2d(v["x"], v["plain.F"], pad=1, groups=2, bias=v["plain.b"]), v["x"]], 1),
    "max_pool": f.pool(v["x"], "max", 3, 2, 1),
    "avg_pool": f.pool(v["x"], "mean", 2, 2, 1),
    "average": v["x"].mean((2, 3)),
}, exact=("conv2d", "plain", "bare", "batch_norm", "shuffle", "concat", "max_pool", "avg_pool",
          "average"))

ORDER = Case("order", """import nn
input x[3, 9] : TYPE
rank = nn.rank(x)
sorted, place = nn.sort(x, descending = true)
top, at = nn.top(x, k = 4)
cumsum = nn.cumsum(x)
cumprod = nn.cumprod(x)
log = nn.logcumsumexp(x)
most, first = nn.cummax(x)
least, last = nn.cummin(x)
output rank, sorted, place, top, at, cumsum, cumprod, log, most, first, least, last
""", lambda v: {
    "rank": np.argsort(np.argsort(v["x"])),
    "sorted": -np.sort(-v["x"]), "place": np.argsort(-v["x"]),
    "top": -np.sort(-v["x"])[:, :4], "at": np.argsort(-v["x"])[:, :4],
    "cumsum": np.cumsum(v["x"], -1),
    "cumprod": np.cumprod(v["x"], -1),
    "log": np.logaddexp.accumulate(v["x"], -1),
    "most": np.maximum.accumulate(v["x"], -1),
    "first": [[int(np.argmax(r[:k + 1])) for k in range(9)] for r in v["x"]],
    "least": np.minimum.accumulate(v["x"], -1),
    "last": [[int(np.argmin(r[:k + 1])) for k in range(9)] for r in v["x"]],
}, exact=("sorted", "top", "cumsum", "cumprod", "log", "most", "least"), draw={"x": distinct})

# ---- attention

def block(v):
    w = of(v, "block")
    x = v["x"]
    u = x + f.attention(f.layer_norm(x, w["n1.g"], w["n1.b"]), of(w, "a"), True)
    h = f.gelu(f.linear(f.layer_norm(u, w["n2.g"], w["n2.b"]), w["h.W"], w["h.b"]))
    return u + f.linear(h, w["o.W"], w["o.b"])


ATTENTION = Case("attention", """import nn
input q[2, 3, 2, 4] : TYPE
input k[2, 5, 2, 4] : TYPE
input v[2, 5, 2, 3] : TYPE
input x[2, 4, 6] : TYPE
dot = nn.dot_attention(q, k, v)
causal = nn.dot_attention(q, k, v, causal = true)
self = nn.attention(x, heads = 2)
block = nn.block(x, heads = 2, hidden = 8)
linear = nn.linear_attention(k, k, v, decay = 0.9)
output dot, causal, self, block, linear
""", lambda v: {
    "dot": f.dot_attention(v["q"], v["k"], v["v"]),
    "causal": f.dot_attention(v["q"], v["k"], v["v"], True),
    "self": f.attention(v["x"], of(v, "self")),
    "block": block(v),
    "linear": f.linear_attention(v["k"], v["k"], v["v"], 0.9),
}, exact=("dot", "causal", "linear"))

# ---- recurrent networks

CELLS = Case("cells", """import nn
input x[2, 3] : TYPE
input h[2, 4] : TYPE
input c[2, 4] : TYPE
rnn = nn.rnn_cell(x, h)
lstm, lstm_c = nn.lstm_cell(x, h, c)
gru = nn.gru_cell(x, h)
output rnn, lstm, lstm_c, gru
""", lambda v: {
    "rnn": np.tanh(v["x"]@v["rnn.W"] + v["h"]@v["rnn.U"] + v["rnn.b"]),
    "lstm": f.lstm_cell(v["x"], v["h"], v["c"], of(v, "lstm"))[0],
    "lstm_c": f.lstm_cell(v["x"], v["h"], v["c"], of(v, "lstm"))[1],
    "gru": f.gru_cell(v["x"], v["h"], of(v, "gru")),
}, exact=("rnn", "lstm", "lstm_c", "gru"))


def stacked(v, name, directions, layers):
    """The weights of a recurrent layer of the library, a list of layers of directions."""
    first = [of(v, f"{name}.first.{d}") for d in directions]
    rest = [of(v, f"{name}.y.rest.{d}") for d in directions]
    return [first] + [[{n: a[k] for n, a in w.items()} for w in rest] for k in range(layers - 1)]


def recurrent(v):
    zero = np.zeros((4, 2, 3))
    y, h, c = f.layers("lstm", v["x"], zero, zero, stacked(v, "lstm.y", "fb", 2))
    g, gh, _ = f.layers("gru", v["x"], v["h0"], v["h0"], stacked(v, "gru.y", "f", 1), v["len"])
    r, rh, _ = f.layers("rnn", v["x"], np.zeros((1, 2, 3)), np.zeros((1, 2, 3)), stacked(v, "rnn.y", "f", 1))
    p, ph, pc = f.layers("lstm", v["x"], np.zeros((1, 2, 2)), np.zeros((1, 2, 3)), stacked(v, "proj.y", "f", 1))
    return {"lstm": y, "lstm_h": h, "lstm_c": c, "gru": g, "gru_h": gh, "rnn": r, "rnn_h": rh,
            "proj": p, "proj_h": ph, "proj_c": pc}


RECURRENT = Case("recurrent layers", """import nn
input x[2, 6, 3] : TYPE
input h0[1, 2, 3] : TYPE
input len[2] : i32 < 7
lstm, lstm_h, lstm_c = nn.lstm(x, hidden = 3, layers = 2, bidirectional = true)
gru, gru_h = nn.gru_from(x, len, h0)
rnn, rnn_h = nn.rnn(x, hidden = 3)
proj, proj_h, proj_c = nn.lstm(x, hidden = 3, proj = 2)
output lstm, lstm_h, lstm_c, gru, gru_h, rnn, rnn_h, proj, proj_h, proj_c
""", recurrent)

STATES = Case("state spaces", """import nn
input u[2, 7, 3] : TYPE
input d[2, 7, 3] : TYPE
input A[3, 2] : TYPE
input Bs[2, 7, 2] : TYPE
input Cs[2, 7, 2] : TYPE
input D[3] : TYPE
ssm = nn.selective_scan(u, d, A, Bs, Cs, D)
mamba = nn.mamba(u, state = 2, width = 3)
output ssm, mamba
""", lambda v: {
    "ssm": f.selective_scan(v["u"], v["d"], v["A"], v["Bs"], v["Cs"], v["D"]),
    "mamba": f.mamba(v["u"], of(v, "mamba"), 2),
}, exact=("ssm",), draw={"d": lambda rng, shape: np.abs(rng.standard_normal(shape)),
                          "A": lambda rng, shape: -np.abs(rng.standard_normal(shape))})

# ---- sequences of labels

LABELS = Case("sequences of labels", """import nn
input l[2, 4, 3] : TYPE
input y[2, 2] : 1 <= i32 < 3
input tag[2, 4] : i32 < 3
input A[3, 3] : TYPE
input first[3] : TYPE
input last[3] : TYPE
len[n < 2] : i64 = 4
labels[n < 2] = i32(1 + n)
label[n < 2, s < 2] : i32 < 3 = clamp(y[n, s], 0, 2)
ctc = nn.ctc_loss(l, label, len, labels, reduction = 0)
crf = nn.crf(l, tag, len, A, first, last, reduction = 0)
mean = nn.crf(l, tag, len, A, first, last)
score, path = nn.viterbi(l, len, A, first, last)
dtw = nn.soft_dtw(l, l2, gamma = 0.5)
l2[n < 2, i < 3, j] = l[1 - n, i, j]
output ctc, crf, mean, score, path, dtw
""".replace("dtw = nn.soft_dtw(l, l2, gamma = 0.5)\nl2[n < 2, i < 3, j] = l[1 - n, i, j]",
            "l2[n < 2, i < 3, j] = l[1 - n, i, j]\ndtw = nn.soft_dtw(l, l2, gamma = 0.5)"), lambda v: {
    "ctc": [f.ctc(v["l"][n], v["y"][n, :1 + n]) for n in range(2)],
    "crf": [f.crf(v["l"][n], v["tag"][n], v["A"], v["first"], v["last"]) for n in range(2)],
    "mean": np.mean([f.crf(v["l"][n], v["tag"][n], v["A"], v["first"], v["last"]) for n in range(2)]),
    "score": [f.viterbi(v["l"][n], v["A"], v["first"], v["last"])[0] for n in range(2)],
    "path": [f.viterbi(v["l"][n], v["A"], v["first"], v["last"])[1] for n in range(2)],
    "dtw": [f.soft_dtw(v["l"][n], v["l"][1 - n, :3], 0.5) for n in range(2)],
}, exact=("ctc", "crf", "mean", "score", "dtw"))

# ---- matrices

MATRICES = Case("matrices", """import linalg
input S[2, 4, 4] : TYPE
input A[2, 4, 4] : TYPE
input M[2, 5, 3] : TYPE
input B[2, 4, 2] : TYPE
input b[4] : TYPE
S0[i, j] = S[0, i, j]
L = linalg.cholesky(S)
chol_solve = linalg.cholesky_solve(L, B)
chol_det = linalg.cholesky_log_det(L)
F, order, pivot = linalg.lu(A)
lu_solve = linalg.lu_solve(F, order, B)
solve = linalg.solve(A, B)
inverse = linalg.inverse(A)
sign, det = linalg.log_det(A)
Q, R = linalg.qr(M)
cg, rounds = linalg.conjugate_gradients(S0, b)
lower = linalg.solve_lower(S, B)
upper = linalg.solve_upper(S, B)
lower_t = linalg.solve_lower_transposed(S, B)
upper_t = linalg.solve_upper_transposed(S, B)
output L, chol_solve, chol_det, lu_solve, solve, inverse, sign, det, Q, R, cg, lower, upper, lower_t, upper_t
""", lambda v: {
    "L": np.linalg.cholesky(v["S"]),
    "chol_solve": np.linalg.solve(v["S"], v["B"]),
    "chol_det": np.linalg.slogdet(v["S"])[1],
    "lu_solve": np.linalg.solve(v["A"], v["B"]),
    "solve": np.linalg.solve(v["A"], v["B"]),
    "inverse": np.linalg.inv(v["A"]),
    "sign": np.linalg.slogdet(v["A"])[0],
    "det": np.linalg.slogdet(v["A"])[1],
    "Q": np.array([np.linalg.qr(m)[0] for m in v["M"]]),
    "R": np.array([np.linalg.qr(m)[1] for m in v["M"]]),
    "cg": np.linalg.solve(v["S"][0], v["b"]),
    "lower": np.linalg.solve(np.tril(v["S"]), v["B"]),
    "upper": np.linalg.solve(np.triu(v["S"]), v["B"]),
    "lower_t": np.linalg.solve(np.tril(v["S"]).transpose(0, 2, 1), v["B"]),
    "upper_t": np.linalg.solve(np.triu(v["S"]).transpose(0, 2, 1), v["B"]),
}, exact=("L", "solve", "inverse", "sign", "det", "Q", "R", "lower", "upper", "lower_t", "upper_t"),
    has_gradient=False, draw={"S": positive, "A": lambda rng, shape: rng.standard_normal(shape) + 3*np.eye(4)[::-1]})

EIGEN = Case("eigenvalues", """import linalg
input A[2, 5, 5] : TYPE
input S[2, 4, 4] : TYPE
input o[1, 1] : TYPE
e, V = linalg.symmetric_eigen(A)
value, vector = linalg.symmetric_eigen(o)
root = linalg.inverse_root(S, p = 4)
same = linalg.inverse_root(o, eps = 9)
output e, V, value, vector, root, same
""", lambda v: {
    "e": np.linalg.eigvalsh(f.symmetric(v["A"])),
    "V": f.eigenvectors(f.symmetric(v["A"])),
    "value": v["o"][0], "vector": np.ones((1, 1)),
    "root": f.inverse_root(v["S"], 4),
    "same": (np.maximum(v["o"], 0) + 9)**-0.5,
}, exact=("e", "V", "value", "vector", "root", "same"), has_gradient=False, draw={"S": positive})

EIGEN_GRADIENTS = Case("gradients of eigenvalues", """import linalg
input A[2, 4, 4] : TYPE
input d[3, 3] : TYPE
e, V = linalg.symmetric_eigen(A)
mixed[b, i] = sum[j] e[b, j]*V[b, i, j]^3
S[b, i, j] = sum[k] A[b, i, k]*A[b, j, k]
root = linalg.inverse_root(S, p = 4, eps = 0.5)
equal[i, j] = select(i == j, 2, 0) + d[i, j] - stop(d[i, j])
of_equal = linalg.inverse_root(equal, p = 3)
shifted[i, j] = of_equal[i, j] + f64(i + 2*j)
output mixed, root, shifted
""", lambda v: {
    "mixed": np.einsum("bj,bij->bi", np.linalg.eigvalsh(f.symmetric(v["A"])),
                       f.eigenvectors(f.symmetric(v["A"]))**3),
    "root": f.inverse_root(v["A"]@v["A"].transpose(0, 2, 1) + 0.5*np.eye(4), 4),
    "shifted": 2**(-1/3)*np.eye(3) + np.arange(3)[:, None] + 2*np.arange(3),
}, kinds=("f64",))

# ---- norms of one example, windows of one and three dimensions, borders, further losses


def probabilities(rng, shape):
    """Rows that sum to one; their first element is 0."""
    e = np.exp(rng.standard_normal(shape))
    e[..., 0] = 0
    return e/e.sum(-1, keepdims=True)


def positive_rows(rng, shape):
    e = np.exp(rng.standard_normal(shape))
    return e/e.sum(-1, keepdims=True)


def bits(rng, shape):
    return rng.integers(0, 2, shape).astype(float)


NORMS = Case("norms of one example", """import nn
input x[2, 4, 3, 5] : TYPE
input z[1, 2, 1, 1] : TYPE
group = nn.group_norm(x, groups = 2)
one = nn.group_norm(x, groups = 1)
instance = nn.instance_norm(x)
single = nn.instance_norm(z)
output group, one, instance, single
""", lambda v: {
    "group": f.group_norm(v["x"], v["group.g"], v["group.b"], 2),
    "one": f.group_norm(v["x"], v["one.g"], v["one.b"], 1),
    "instance": f.group_norm(v["x"], v["instance.g"], v["instance.b"], 4),
    "single": f.group_norm(v["z"], v["single.g"], v["single.b"], 2),
}, exact=("group", "one", "instance", "single"))

WINDOWS = Case("windows of one and three dimensions", """import nn
input x[2, 3, 9] : TYPE
input f[4, 3, 3] : TYPE
input v[1, 2, 4, 3, 5] : TYPE
input g[2, 2, 2, 1, 3] : TYPE
input u[2, 3, 4, 3] : TYPE
input t[3, 2, 3, 2] : TYPE
conv1 = nn.conv1d(x, f, stride = 2, pad = 2, dilation = 2)
conv3 = nn.conv3d(v, g, pad = 1)
up = nn.conv_transpose2d(u, t, stride = 2, pad = 1)
same = nn.conv_transpose2d(u, t)
apart = nn.conv_transpose2d(u, t, stride = 4)
max1 = nn.max_pool1d(x, size = 3, stride = 2, pad = 1)
mean1 = nn.avg_pool1d(x, size = 4, stride = 3, pad = 1)
max3 = nn.max_pool3d(v, size = 3, stride = 2, pad = 1)
mean3 = nn.avg_pool3d(v, size = 2, stride = 1)
output conv1, conv3, up, same, apart, max1, mean1, max3, mean3
""", lambda v: {
    "conv1": f.convolution(v["x"], v["f"], 2, 2, 2),
    "conv3": f.convolution(v["v"], v["g"], 1, 1),
    "up": f.conv_transpose2d(v["u"], v["t"], 2, 1),
    "same": f.conv_transpose2d(v["u"], v["t"], 1, 0),
    "apart": f.conv_transpose2d(v["u"], v["t"], 4, 0),
    "max1": f.pooling(v["x"], "max", 3, 2, 1),
    "mean1": f.pooling(v["x"], "mean", 4, 3, 1),
    "max3": f.pooling(v["v"], "max", 3, 2, 1),
    "mean3": f.pooling(v["v"], "mean", 2, 1, 0),
}, exact=("conv1", "conv3", "up", "same", "apart", "max1", "mean1", "max3", "mean3"))

BORDERS = Case("resampling, borders, elements", """import nn
input x[2, 2, 4, 3] : TYPE
input i[2, 5] : i32 < 4
input a[2, 6] : TYPE
nearest = nn.upsample_nearest(x, scale = 3)
linear = nn.upsample_linear(x, scale = 2)
third = nn.upsample_linear(x, scale = 3)
cubic = nn.upsample_cubic(x, scale = 2)
fifth = nn.upsample_cubic(x, scale = 5)
replicate = nn.pad_replicate(x, pad = 2)
reflect = nn.pad_reflect(x, pad = 2)
circular = nn.pad_circular(x, pad = 4)
leaky[n, j] = nn.leaky_relu(a[n, j], slope = 0.25)
hot = nn.one_hot(i)
mask[n < 2, j < 6] = j % 2 == 0
filled = nn.masked_fill(a, mask, value = -3)
output nearest, linear, third, cubic, fifth, replicate, reflect, circular, leaky, hot, filled
""", lambda v: {
    "nearest": v["x"].repeat(3, 2).repeat(3, 3),
    "linear": f.upsample_linear(v["x"], 2),
    "third": f.upsample_linear(v["x"], 3),
    "cubic": f.upsample_cubic(v["x"], 2),
    "fifth": f.upsample_cubic(v["x"], 5),
    "replicate": f.bordered(v["x"], 2, "edge"),
    "reflect": f.bordered(v["x"], 2, "reflect"),
    "circular": f.bordered(v["x"], 4, "wrap"),
    "leaky": np.where(v["a"] > 0, v["a"], 0.25*v["a"]),
    "hot": np.eye(4)[v["i"]],
    "filled": np.where(np.arange(6) % 2 == 0, -3.0, v["a"]),
}, exact=("nearest", "replicate", "reflect", "circular", "leaky", "filled"))

FURTHER = Case("further losses", """import nn
input q[3, 5] : TYPE
input d[3, 5] : TYPE
input l[3, 4] : TYPE
input y[3, 4] : TYPE
input a[3, 2] : TYPE
input b[3, 2] : TYPE
input c[3, 2] : TYPE
r = nn.softmax(l)
s = nn.softmax(y)
kl = nn.kl_divergence(r, s)
focal = nn.focal_loss(l, y)
sharp = nn.focal_loss(l, y, gamma = 0.5, alpha = 0.6)
triplet = nn.triplet_loss(a, b, c, margin = 0.5)
dice = nn.dice_loss(q, d)
nothing = nn.dice_loss(y, y)
output kl, focal, sharp, triplet, dice, nothing
""", lambda v: {
    "kl": f.kl_divergence(f.softmax(v["l"]), f.softmax(v["y"])),
    "focal": f.focal_loss(v["l"], v["y"]),
    "sharp": f.focal_loss(v["l"], v["y"], 0.5, 0.6),
    "triplet": f.triplet_loss(v["a"], v["b"], v["c"], 0.5),
    "dice": f.dice_loss(v["q"], v["d"]),
    "nothing": f.dice_loss(v["y"], v["y"]),
}, draw={"q": positive_rows, "d": positive_rows, "y": bits})

DIVERGENCE = Case("divergence of what may be 0", """import nn
input p[3, 5] : TYPE
input q[3, 5] : TYPE
kl = nn.kl_divergence(p, q)
output kl
""", lambda v: {"kl": f.kl_divergence(v["p"], v["q"])}, exact=("kl",), has_gradient=False,
    draw={"p": probabilities, "q": positive_rows})

# ---- boxes in images, parts of a distribution


def boxes(rng, shape):
    """Boxes in an image of 6 by 8 pixels, partly beyond the borders; the last one is outside."""
    corner, size = rng.random((shape[0], 2))*5, rng.random((shape[0], 2))*7
    corner[-1] += 20
    return np.concatenate([corner - 1, corner + size], 1)


BOXES = Case("boxes", """import vision
input x[2, 3, 4, 5] : TYPE
input b[7, 4] : TYPE
input scores[7] : TYPE
input image[7] : i32 < 2
overlap = vision.box_overlap(b, b)
align = vision.roi_align(x, b, image, height = 2, width = 3)
coarse = vision.roi_align(x, b, image, height = 3, width = 1, scale = 0.5, sampling = 3, aligned = false)
keep, order = vision.nms(b, scores, threshold = 0.3)
kept, _ = vision.nms(b, scores, threshold = 0)
all, _ = vision.nms(b, scores, threshold = 1)
output overlap, align, coarse, keep, order, kept, all
""", lambda v: {
    "overlap": f.box_overlap(v["b"], v["b"]),
    "align": f.roi_align(v["x"], v["b"], v["image"], 2, 3, 1.0, 2),
    "coarse": f.roi_align(v["x"], v["b"], v["image"], 3, 1, 0.5, 3, False),
    "keep": f.nms(v["b"], v["scores"], 0.3)[0], "order": f.nms(v["b"], v["scores"], 0.3)[1],
    "kept": f.nms(v["b"], v["scores"], 0)[0], "all": np.ones(7, bool),
}, exact=("overlap", "align", "coarse"), draw={"b": boxes, "scores": distinct})

PARTS = Case("parts of a distribution", """import nn
input l[2, 3, 9] : TYPE
input x[3, 40] : TYPE
input w[3, 40] : TYPE
most, keep = nn.top_p(l, p = 0.7)
one, first = nn.top_p(l, p = 0)
every, all = nn.top_p(l, p = 2)
kept[..] = select(keep[..], most[..], 0)
n = nn.histogram(x, bins = 7, lo = -1, hi = 1.5)
eighths = nn.histogram(x, bins = 20, lo = -1.25, hi = 1.25)
sums = nn.weighted_histogram(x, w, bins = 20, lo = -1.25, hi = 1.25)
output keep, first, all, kept, every, n, eighths, sums
""", lambda v: {
    "keep": f.top_p(v["l"].reshape(6, 9), 0.7).reshape(2, 3, 9),
    "first": v["l"] == v["l"].max(-1, keepdims=True),
    "all": np.ones((2, 3, 9), bool),
    "kept": np.where(f.top_p(v["l"].reshape(6, 9), 0.7).reshape(2, 3, 9), v["l"], 0),
    "every": v["l"],
    "n": f.histogram(v["x"], 7, -1, 1.5),
    "eighths": f.histogram(v["x"], 20, -1.25, 1.25),
    "sums": f.histogram(v["x"], 20, -1.25, 1.25, v["w"]),
}, exact=("kept", "sums"), draw={"x": distinct, "l": distinct})

WIDE_PARTS = Case("parts of a range that is wider than the largest number", """import nn
input x[3, 40] : f32
input w[3, 40] : f32
n = nn.histogram(x, bins = 3, lo = -3e38, hi = 3e38)
upper = nn.histogram(x, bins = 3, lo = 0, hi = 3e38)
sums = nn.weighted_histogram(x, w, bins = 5, lo = -3e38, hi = 3e38)
output n, upper, sums
""", lambda v: {
    "n": f.histogram(v["x"], 3, -3e38, 3e38),
    "upper": f.histogram(v["x"], 3, 0, 3e38),
    "sums": f.histogram(v["x"], 5, -3e38, 3e38, v["w"]),
}, has_gradient=False, kinds=("f32",), draw={"x": lambda rng, shape: 1.3e38*distinct(rng, shape)})

NARROW_PARTS = Case("parts that are narrower than a rounding", """import nn
input x[3, 40] : f64
n = nn.histogram(x, bins = 49, lo = 1e15, hi = 1e15 + 2)
one = nn.histogram(x, bins = 1, lo = 1e15, hi = 1e15 + 2)
output n, one
""", lambda v: {
    "n": f.histogram(v["x"], 49, 1e15, 1e15 + 2),
    "one": f.histogram(v["x"], 1, 1e15, 1e15 + 2),
}, has_gradient=False, kinds=("f64",), draw={"x": lambda rng, shape: 1e15 + distinct(rng, shape)})

SCHEDULES = Case("schedules", """import schedule
t[i < 24] : i64 = i
warm[i] = schedule.warmup(t[i], lr = 0.5, steps = 4)
stairs[i] = schedule.step_decay(t[i], lr = 0.5, every = 3)
falling[i] = schedule.exponential(t[i], lr = 0.5, factor = 0.9)
square[i] = schedule.polynomial(t[i], lr = 0.5, last = 0.1, steps = 20, power = 2)
line[i] = schedule.polynomial(t[i], lr = 1, steps = 20)
cosine[i] = schedule.cosine(t[i], lr = 0.5, last = 0.01, steps = 20)
warm_cosine[i] = schedule.cosine_warmup(t[i], lr = 0.5, last = 0.01, steps = 20, warmup = 3)
cold_cosine[i] = schedule.cosine_warmup(t[i], lr = 0.5, steps = 20, warmup = 0)
late_cosine[i] = schedule.cosine_warmup(t[i], lr = 0.5, last = 0.01, steps = 20, warmup = 19)
cycle[i] = schedule.one_cycle(t[i], lr = 0.5, steps = 20)
at_once[i] = schedule.one_cycle(t[i], lr = 0.5, steps = 20, up = 0.05, first = 0.1, last = 0.02)
up_only[i] = schedule.one_cycle(t[i], lr = 0.5, steps = 20, up = 1)
output warm, stairs, falling, square, line, cosine, warm_cosine, cold_cosine, late_cosine, cycle, at_once, up_only
""", lambda v: {
    "warm": 0.5*np.minimum(1, (f.STEPS + 1)/4),
    "stairs": 0.5*0.1**(f.STEPS//3),
    "falling": 0.5*0.9**f.STEPS,
    "square": 0.1 + 0.4*np.maximum(0, 1 - f.STEPS/20)**2,
    "line": np.maximum(0, 1 - f.STEPS/20),
    "cosine": f.half_wave(f.STEPS/20, 0.5, 0.01),
    "warm_cosine": np.where(f.STEPS < 3, 0.5*(f.STEPS + 1)/3, f.half_wave((f.STEPS - 3)/17, 0.5, 0.01)),
    "late_cosine": np.where(f.STEPS < 20, 0.5*np.minimum(1, (f.STEPS + 1)/19), 0.01),
    "cold_cosine": f.half_wave(f.STEPS/20, 0.5, 0),
    "cycle": np.where(f.STEPS < 5, f.half_wave(f.STEPS/5, 0.02, 0.5), f.half_wave((f.STEPS - 5)/14, 0.5, 2e-6)),
    "at_once": f.half_wave(f.STEPS/19, 0.5, 0.02),
    "up_only": f.half_wave(f.STEPS/19, 0.02, 0.5),
}, has_gradient=False, kinds=("f64",))

CASES = [BOXES, PARTS, WIDE_PARTS, NARROW_PARTS, EIGEN, EIGEN_GRADIENTS, SCHEDULES, NORMS, WINDOWS, BORDERS, FURTHER, DIVERGENCE, DENSE, LARGE, LOSSES, IMAGES, ORDER, ATTENTION, CELLS, RECURRENT, STATES, LABELS, MATRICES]
