"""PyTorch's side of rows/recurrent.py: loops in Python, as they are written (eager) or with each
round through torch.compile (compile); and the layers that PyTorch has."""
from peers import peer

try:
    import torch
except ImportError as e:
    peer.missing(e)
from peers import given
import torch.nn.functional as F
import torch_ops
from peers.cells import CELLS, logits

SPEC = peer.spec()


def compiled(step):
    return torch.compile(step, fullgraph=True) if SPEC["variant"] == "compile" else step


def tensors(arrays):
    return {k: torch.from_numpy(v) for k, v in arrays.items()}


# ---- training steps


def trained(params, loss):
    rule = torch.optim.SGD(params, lr=SPEC["lr"], fused=True)

    def step():
        rule.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        rule.step()
        return value.item()

    return step


def cell():
    p, x = map(tensors, given.cell(SPEC))
    p = {k: v.contiguous().requires_grad_(True) for k, v in p.items()}
    before, _, sizes = CELLS[SPEC["what"]](torch_ops, p)

    @compiled
    def step(g, z, h, c):
        return CELLS[SPEC["what"]](torch_ops, g)[1](z, h, c)

    def loss():
        h, c = (torch.zeros(x["X"].shape[1], n) for n in sizes)
        for z in before(x["X"]).unbind(0):
            h, c = step(p, z, h, c)
        return F.cross_entropy(logits(p, h, c), x["Y"].long())

    return trained(p.values(), loss)


def lstm():
    """Time first, as it is quickest."""
    p = given.load(SPEC["folder"] + "/params.safetensors")
    p = {name.split(".")[-1]: v for name, v in p.items()}
    x = torch.from_numpy(given.inputs(SPEC)["X"]).transpose(0, 1).contiguous()
    layer = torch.nn.LSTM(x.shape[-1], x.shape[-1])
    with torch.no_grad():
        for theirs, ours in (("weight_ih_l0", "W"), ("weight_hh_l0", "U"), ("bias_ih_l0", "bw"),
                             ("bias_hh_l0", "bu")):
            getattr(layer, theirs).copy_(torch.from_numpy(p[ours]))
    return trained(layer.parameters(), lambda: (layer(x)[0]**2).mean())


# ---- functions of inputs


def small(x):
    inputs, v = x["X"], x["V"]

    @compiled
    def step(z, h, u):
        return torch.tanh(z + h @ u)

    def layer():
        h, u, out = x["h0"], 0.25 * v, []
        for z in inputs.unbind(0):
            h = step(z, h, u)
            out.append(h)
        return torch.stack(out)

    if SPEC["entry"] == "forward":
        return layer, ()
    return lambda: (layer()**2).mean(), (inputs, v)


def selective(x):
    """Computes values that depend on no earlier iteration for all iterations at once."""
    args = [x[k] for k in "xdabc"]

    def layer():
        x, d, a, b, c = args
        e = 0.1 * F.softplus(d)
        keep = torch.exp(e[..., None] * -torch.exp(a))
        new = (e * x)[..., None] * b[:, None]
        h, out = torch.zeros_like(a), []
        for k, n, w in zip(keep.unbind(0), new.unbind(0), c.unbind(0)):
            h = k * h + n
            out.append(h @ w)
        return torch.stack(out)

    return layer, (() if SPEC["entry"] == "forward" else args)


def ctc(x):
    """Time first, as it is quickest; sums over the batch."""
    x["X"] = x["X"].transpose(0, 1).contiguous()
    steps, batch, _ = x["X"].shape
    labels = 1 + x["Y"]
    lengths = [torch.full((batch,), n) for n in (steps, labels.shape[1])]
    rule = torch.nn.CTCLoss(reduction="sum")
    return lambda: rule(x["X"].log_softmax(2), labels, *lengths), (x["X"],)


def crf(x):
    e, y = x["E"].transpose(0, 1).contiguous(), x["Y"].T.long()
    a, first, last = (x[name] for name in ("A", "first", "last"))

    @compiled
    def step(f, a, z):
        return z + torch.logsumexp(f[:, :, None] + a, 1)

    def minus_likelihood():
        f = first + e[0]
        for z in e[1:].unbind(0):
            f = step(f, a, z)
        score = e.gather(2, y[..., None]).sum() + a[y[:-1], y[1:]].sum()
        score = score + first[y[0]].sum() + last[y[-1]].sum()
        return (torch.logsumexp(f + last, 1).sum() - score) / e.shape[1]

    return minus_likelihood, (e, a, first, last)


def soft_dtw(x):
    """Rounds are diagonals."""
    (b, n, _), m = x["x"].shape, x["y"].shape[1]

    @compiled
    def step(corner, last, d):
        above = F.pad(last[:, :-1], (1, 0), value=given.FAR)
        return above, d - torch.logsumexp(-torch.stack([corner, above, last]), 0)

    def value():
        v, w = x["x"], x["y"]
        costs = (v**2).sum(2)[:, :, None] + (w**2).sum(2)[:, None] - 2 * v @ w.transpose(1, 2)
        wide = F.pad(costs, (0, n), value=given.FAR)
        costs = wide.reshape(b, -1)[:, :n * (n + m - 1)].reshape(b, n, -1).permute(2, 0, 1)
        corner = torch.full((b, n), given.FAR)
        last = F.pad(costs[0, :, :1], (0, n - 1), value=given.FAR)
        for d in costs[1:].unbind(0):
            corner, last = step(corner, last, d)
        return last[:, n - 1].mean()

    return value, (x["x"], x["y"])


def function():
    """A call computes the value and the gradients for `wrt`, if there are some."""
    x = tensors(given.inputs(SPEC))
    f, wrt = globals()[SPEC["what"]](x)
    for t in wrt:
        t.requires_grad_(True)

    def run():
        if not len(wrt):
            with torch.no_grad():
                return [f()]
        y = f()
        return [y, *torch.autograd.grad(y, wrt, x.get("dy") if y.dim() else None)]

    return run


def main():
    torch.set_num_threads(SPEC["threads"])
    torch.set_num_interop_threads(1)
    if SPEC["what"] == "lstm" or SPEC["what"] in CELLS:
        run = lstm() if SPEC["what"] == "lstm" else cell()
        losses, seconds = peer.timed(run, 2)
        about = {"losses": losses}
    else:
        run = function()
        (first,), seconds = peer.timed(run, 1)
        about = {"outputs": [t.abs().mean(dtype=torch.float64).item() for t in first]}
    peer.serve(run, {**about, "first_s": seconds, "version": "torch " + torch.__version__})


main()
