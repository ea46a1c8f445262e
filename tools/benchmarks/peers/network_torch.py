"""PyTorch's side of a comparison, in one of the variants

    eager           as it is written
    compile         the loss through torch.compile
    channels_last   eager, images and filters with channels last
    joined          eager, convolutions of one image made one by hand

and on a GPU

    eager           as it is written, convolutions by the quickest of cuDNN's ways
    compile         the loss through torch.compile, launched as CUDA graphs
    cublas, cudnn   a product; a convolution or a gradient of it, with channels first or last,
                    whichever is quicker
    attention       scaled_dot_product_attention by the quickest of its ways

A network's step is forward, backward and the update by torch.optim.SGD in its fused form, its
inference ("entry": "forward") forward alone, not in training; an operation's is forward and
backward. On a GPU nothing waits for the device before the last call.
"""
import time

from peers import peer

try:
    import torch
except ImportError as e:
    peer.missing(e)
import torch.nn.functional as F
import torch_ops
from networks import NETWORKS, Net, sizes_of

TYPES = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16, "I32": torch.int32,
         "I64": torch.int64}


DEVICE = peer.spec().get("device", "cpu")
if DEVICE == "cuda" and not torch.cuda.is_available():
    peer.missing("PyTorch finds no CUDA device")


def load(path, variant):
    """Tensors of a file; of 4 dimensions with channels last, where the variant wants that."""
    found = {}
    for name, (dtype, shape, data) in peer.tensors(path).items():
        if dtype in TYPES:
            t = torch.frombuffer(bytearray(data), dtype=TYPES[dtype]).reshape(shape)
            if variant == "channels_last" and t.dim() == 4:
                t = t.to(memory_format=torch.channels_last)
            found[name] = (t.long() if dtype == "I32" else t).to(DEVICE)
    return found


class Loaded(Net):
    """A net over tensors of our side. Tensors that neo stacks are separate here."""

    def __init__(self, sizes, given, inputs, variant):
        super().__init__(torch_ops, sizes)
        self.given, self.inputs, self.variant = given, inputs, variant
        self.params, self.states = {}, {}

    def input(self, name, shape, *_):
        return self.inputs.get(name)  # None: of a loss that is not computed

    def ints(self, name, shape, bound):
        return self.inputs.get(name)

    def own(self, name):
        t = self.given[name][self.round[0]] if self.round else self.given[name]
        if self.variant == "channels_last" and t.dim() == 4:
            return t.contiguous(memory_format=torch.channels_last)
        return t.clone()

    def key(self, name):
        return f"{name}.{self.round[0]}" if self.round else name

    def param(self, name, shape, *_):
        key = self.key(name)
        if key not in self.params:
            self.params[key] = self.own(name).requires_grad_(True)
        return self.params[key]

    def parts(self, name, shape, fan):
        keys = [f"{name}.{k}" for k in range(shape[-1])]
        for k, key in enumerate(keys):
            if key not in self.params:
                self.params[key] = self.given[name][..., k].clone().requires_grad_(True)
        return [self.params[key] for key in keys]

    def convs(self, x, filters, biases=None, stride=1, pad=0):
        if self.variant != "joined":
            return super().convs(x, filters, biases, stride, pad)
        y = F.conv2d(x, torch.cat(filters), torch.cat(biases) if biases else None, stride, pad)
        return y.chunk(len(filters), 1)

    def state(self, name, shape, value):
        key = self.key(name)
        if key not in self.states:
            self.states[key] = self.own(name)
        return self.states[key]


def loaded(spec):
    """A network, its net over tensors of our side, and what else it is trained with."""
    f, _, mu, decay = NETWORKS[spec["what"]]
    sizes = {**sizes_of(spec["what"], spec["defines"]), "B": spec["batch"]}
    variant, folder = spec["variant"], spec["folder"]
    net = Loaded(sizes, load(folder + "/params.safetensors", None),
                 load(folder + "/inputs.safetensors", variant), variant)
    return f, net, mu, decay


def inference(spec):
    """The first of what the network returns, which its entry `forward` does; the loss is not computed."""
    f, net, _, _ = loaded(spec)
    net.training = False
    net.ops = WithoutLoss()

    def forward():
        return [next(v for k, v in f(net).items() if k != "loss")]

    with torch.no_grad():
        forward()  # makes its tensors
    if spec["variant"] == "compile":
        forward = torch.compile(forward, fullgraph=True,
                                mode="max-autotune" if DEVICE == "cuda" else None)

    def run():
        with torch.no_grad():
            return forward()

    return run, mean_sizes(run)


class WithoutLoss:
    """torch_ops, but for losses: entries without them do not get their inputs."""

    mse = cross_entropy = staticmethod(lambda *_: None)

    def __getattr__(self, name):
        return getattr(torch_ops, name)


def network(spec):
    """A training step; returns the loss before it."""
    f, net, mu, decay = loaded(spec)
    variant = spec["variant"]
    with torch.no_grad():
        f(net)  # makes its tensors
    rule = torch.optim.SGD(net.params.values(), lr=spec["lr"], momentum=mu, weight_decay=decay,
                           fused=True)

    def loss():
        return f(net)["loss"]

    if variant == "compile":
        mode = "max-autotune" if DEVICE == "cuda" else None
        loss = torch.compile(loss, fullgraph=True, mode=mode)

    def step():
        rule.zero_grad(set_to_none=True)
        value = loss()
        value.backward()
        rule.step()
        return value.item() if DEVICE == "cpu" else value.detach().clone()

    return step


# ---- operations of memory.expr: forward, and the gradients for a given one


def softmax(x):
    return torch.softmax(x, -1)


def layer_norm(x, g, b):
    return F.layer_norm(x, x.shape[-1:], g, b, 1e-5)


def batch_norm(x, g, b):
    return F.batch_norm(x, None, None, g, b, True, 0.1, 1e-5)


def gelu(x):
    return F.gelu(x)


def cross_entropy(x, y):
    return F.cross_entropy(x, y)


def operation(spec):
    """Runs forward and backward; the answer is the mean size of all results."""
    name, given = spec["what"], load(spec["folder"] + "/inputs.safetensors", None)
    f = globals()[name]
    f = torch.compile(f, fullgraph=True) if spec["variant"] == "compile" else f
    args = [given[k] for k in spec["args"]]
    seed = given.get(spec["seed"], torch.ones((), device=DEVICE))
    wrt = [t.requires_grad_(True) for t in args if t.is_floating_point()]

    def run():
        y = f(*args)
        return [y, *torch.autograd.grad(y, wrt, seed)]

    return run, lambda: [t.abs().mean(dtype=torch.float64).item() for t in run()]


# ---- products and convolutions on a GPU


def mean_sizes(run):
    return lambda: [t.abs().mean(dtype=torch.float64).item() for t in run()]


def gemm(spec):
    kind = spec["kind"]
    torch.backends.cuda.matmul.allow_tf32 = kind == "tf32"
    given = load(spec["folder"] + "/inputs.safetensors", None)
    a, b = given["A"], given.get("B")
    if b is None:
        b = load(spec["folder"] + "/params.safetensors", None)["B"]
    if kind == "bf16":
        a, b = a.bfloat16(), b.bfloat16()
    out = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=DEVICE)

    def run():
        torch.matmul(a, b, out=out)
        return [out]

    return run, mean_sizes(run)


def seconds_of(run):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(10):
        run()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def conv(spec):
    given = load(spec["folder"] + "/inputs.safetensors", None)
    x, d = given.get("X"), given.get("D")
    f = load(spec["folder"] + "/params.safetensors", None)["F"]
    entry, stride, pad = spec["entry"], [spec["stride"]] * 2, [spec["pad"]] * 2

    def way(layout):
        tensors = [t if t is None else t.contiguous(memory_format=layout) for t in (x, f, d)]

        def run():
            xl, fl, dl = tensors
            if entry == "forward":
                return [F.conv2d(xl, fl, None, stride, pad)]
            like = xl if xl is not None else torch.empty(spec["shape"], device=DEVICE)
            mask = [entry == "data", entry == "weights", False]
            dx, df, _ = torch.ops.aten.convolution_backward(
                dl, like, fl, None, stride, pad, [1, 1], False, [0, 0], 1, mask)
            return [dx if entry == "data" else df]

        return run

    ways = [way(torch.contiguous_format), way(torch.channels_last)]
    run = min(ways, key=seconds_of) if DEVICE == "cuda" else ways[0]
    return run, mean_sizes(run)


# ---- attention on a GPU


def attention(spec):
    """Inputs lie as [B, T, H, K]: heads are an axis of the view that torch gets."""
    given = load(spec["folder"] + "/inputs.safetensors", None)
    q, k, v = (given[name].transpose(1, 2) for name in ("Q", "KEY", "V"))
    seed = given["D"].transpose(1, 2) if "D" in given else None

    def forward():
        return F.scaled_dot_product_attention(q, k, v, is_causal=bool(spec["causal"]))

    def both():
        y = forward()
        return [y, *torch.autograd.grad(y, (q, k, v), seed)]

    if spec["entry"] == "both":
        q, k, v = (t.requires_grad_(True) for t in (q, k, v))
        run = both
    else:
        run = lambda: [forward()]
    ways = [way for way in map(within, backends()) if works(way, run)]
    chosen = min(ways, key=lambda way: seconds_of(lambda: way(run))) if ways else lambda f: f()
    return lambda: chosen(run), mean_sizes(lambda: chosen(run))


def backends():
    from torch.nn.attention import SDPBackend
    names = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION")
    return [getattr(SDPBackend, name) for name in names if hasattr(SDPBackend, name)]


def within(backend):
    from torch.nn.attention import sdpa_kernel

    def way(f):
        with sdpa_kernel(backend):
            return f()

    return way


def works(way, run):
    try:
        way(run)
    except RuntimeError:
        return False
    return DEVICE == "cuda"


def main():
    spec = peer.spec()
    torch.set_num_threads(spec["threads"])
    torch.set_num_interop_threads(1)
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.allow_tf32 = False  # convolutions in f32, as ours
    if spec["what"] in NETWORKS and spec.get("entry") != "forward":
        run = network(spec)
        losses, seconds = peer.timed(run, 2)
        about = {"losses": [float(v) for v in losses]}
    else:
        make = {"gemm": gemm, "conv": conv, "attention": attention}.get(spec["what"], operation)
        run, sizes = (inference if spec["what"] in NETWORKS else make)(spec)
        _, seconds = peer.timed(run, 1)
        about = {"outputs": sizes()}
    peer.serve(run, {**about, "first_s": seconds, "version": "torch " + torch.__version__},
               torch.cuda.synchronize if DEVICE == "cuda" else lambda: None)


main()
