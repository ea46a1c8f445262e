"""What `tools/bench gpu` measures, in parts: rows that fit into a few minutes of a GPU each.

A row's `must` and `stretch` are least ratios, peer time over ours, for each peer or for the best of
them ("best"); of rows that memory bounds, least shares of the bandwidth that a copy reaches.
"""
import dataclasses
import glob
import os

from build import ROOT

PARTS = {1: "correctness", 2: "products", 3: "convolutions", 4: "capsules", 5: "cells",
         6: "memory bound", 7: "networks"}
ZOO, BENCHMARKS = "models/zoo/", "tools/benchmarks/"
EXPECTED = os.path.join(ROOT, "tests", "zoo", "expected")
GRAPHS = ("torch eager", "torch compile")
CELLS = {"torch eager": (8, 30), "torch compile": (2.5, 6), "jax": (2.5, 6)}
LAYERS = [  # of ResNet-50: channels, size, filters, filter size, stride, padding
    (3, 224, 64, 7, 2, 3), (64, 56, 64, 1, 1, 0), (64, 56, 64, 3, 1, 1), (64, 56, 256, 1, 1, 0),
    (256, 56, 128, 1, 1, 0), (128, 56, 128, 3, 2, 1), (128, 28, 128, 3, 1, 1),
    (256, 56, 512, 1, 2, 0), (512, 28, 256, 1, 1, 0), (256, 28, 256, 3, 2, 1),
    (256, 14, 256, 3, 1, 1), (1024, 14, 512, 1, 1, 0), (512, 14, 512, 3, 2, 1),
    (512, 7, 512, 3, 1, 1), (512, 7, 2048, 1, 1, 0)
]


@dataclasses.dataclass
class Row:
    name: str
    part: int
    group: str
    unit: str
    model: str
    entry: str
    peers: tuple = ()
    musts: dict = dataclasses.field(default_factory=dict)  # peer or "best" -> (must, stretch)
    what: str = "time"  # or "values"
    defines: dict = dataclasses.field(default_factory=dict)
    batch: int = 0
    options: tuple = ()
    settings: dict = dataclasses.field(default_factory=dict)
    torch: dict = dataclasses.field(default_factory=dict)
    bytes: int = 0

    def folder(self):
        """Of what is prepared for it."""
        return "".join(c if c.isalnum() else "_" for c in self.name)


def correctness(small):
    """Loss and gradients of the zoo, at the sizes of its tests, as on a processor."""
    for path in sorted(glob.glob(os.path.join(EXPECTED, "*.txt"))):
        name = os.path.splitext(os.path.basename(path))[0]
        model, defines = name, {}
        with open(path) as f:
            for line in f:
                words = line.split()
                if words and words[0] == "model":
                    model = words[1]
                elif words and words[0] in ("define", "size"):
                    defines[words[1]] = int(words[2])
                elif words and words[0] not in ("seed", "set", "fill"):
                    break
        if not small or name in ("milstm", "mlp"):
            yield Row(f"values of {name}", 1, "correctness", "loss and gradients",
                      f"{ZOO}{model}.expr", "grad", what="values", defines=defines)


def products(small):
    kinds = [("f32", (1024, 2048, 4096, 8192), (), (0.85, 1.03)),
             ("bf16", (4096, 8192), ("--math=bf16",), (0.55, 1.02)),
             ("tf32", (4096, 8192), ("--math=tf32",), (0.8, 1.0)),
             ("3xtf32", (4096, 8192), ("--math=3xtf32",), (1.5, 2.3))]
    for kind, sizes, options, musts in kinds:
        for n in (40,) if small else sizes:
            yield Row(f"gemm {kind} {n}", 2, f"gemm {kind}", f"{2e-9 * n**3:.4g} GFLOP",
                      BENCHMARKS + "gemm.expr", "forward", ("torch cublas",), {"best": musts},
                      defines=dict(M=n, N=n, K=n), options=options,
                      torch=dict(what="gemm", kind="f32" if kind == "3xtf32" else kind))


def convolutions(small):
    layers = [(3, 12, 4, 3, 2, 1)] if small else LAYERS
    for c, h, k, r, stride, pad in layers:
        out = (h + 2 * pad - r) // stride + 1
        batch = 2 if small else 16
        for entry in ("forward", "data", "weights"):
            yield Row(f"conv {c}x{h}x{k} {r}x{r}/{stride} {entry}", 3, "conv " + entry,
                      f"{2e-9 * batch * k * out**2 * c * r**2:.4g} GFLOP",
                      BENCHMARKS + "conv.expr", entry, ("torch cudnn",), {"best": (0.7, 1.0)},
                      defines=dict(B=batch, C=c, H=h, K=k, R=r, STRIDE=stride, PAD=pad),
                      torch=dict(what="conv", entry=entry, stride=stride, pad=pad,
                                 shape=[batch, c, h, h]))


def step(part, group, model, batch, peers, musts, lr=0.002, defines=None, name=None):
    defines = defines or {}
    return Row(name or f"{model} batch {batch}", part, group, "training step", f"{ZOO}{model}.expr",
               "step", peers, musts, defines=defines, batch=batch, settings=dict(lr=lr),
               torch=dict(what=model, defines=defines, batch=batch, lr=lr))


def capsules(small):
    for batch in (1,) if small else (1, 16, 64):
        yield step(4, "capsule convolution", "capsule_conv", batch, GRAPHS,
                   {"torch eager": (4, 8)},
                   defines=dict(H=8, C=2, M=2, R=3, J=2) if small else {})


def cells(small):
    for model in ("milstm",) if small else ("milstm", "scrnn", "sublstm", "lltm"):
        for batch in (1,) if small else (1, 16, 64):
            yield step(5, "cells", model, batch, (*GRAPHS, "jax"), CELLS,
                       defines=dict(I=12, H=8) if small else {})


def memory_bound(small):
    """Bytes as in rows.py: each matrix that is read or written, once."""
    sizes = dict(R=8, C=64, N=2, K=4, H=6, L=64) if small else {}
    r, c = sizes.get("R", 16384), sizes.get("C", 1024)
    image = sizes.get("N", 64) * sizes.get("K", 64) * sizes.get("H", 56)**2
    words = sizes.get("L", 4096)**2
    for name, args, seed, elements, passes in [
        ("softmax", ["X"], "D", r * c, 4), ("layer_norm", ["X", "g", "b"], "D", r * c, 4),
        ("batch_norm", ["XC", "gc", "bc"], "DC", image, 4), ("gelu", ["X"], "D", r * c, 4),
        ("cross_entropy", ["XL", "YL"], "", words, 2)]:
        yield Row(f"{name} forward and backward", 6, "memory bound",
                  f"{4e-6 * elements * passes:.4g} MB", BENCHMARKS + "memory.expr", f"{name}_fb",
                  GRAPHS, {"bandwidth": (0.85, 0.9)}, defines=sizes, bytes=4 * elements * passes,
                  torch=dict(what=name, args=args, seed=seed))


def networks(small):
    if small:
        yield step(7, "small networks", "mlp", 2, GRAPHS, {}, defines=dict(WIDTH=16))
        return
    for batch in (1, 16):
        yield step(7, "small networks", "capsulenet", batch, GRAPHS, {"torch compile": (1.7, 3)})
        yield step(7, "small networks", "shufflenet", batch, GRAPHS, {"torch compile": (1.3, 4)},
                   lr=1e-4)
        for model in ("resnet18", "resnet50", "mobilenet"):
            yield step(7, "large networks", model, batch, GRAPHS, {"torch compile": (0.8, 1.05)},
                       lr=1e-4)
    for words in (128, 512):
        yield step(7, "large networks", "bert", 1, GRAPHS, {"torch compile": (0.8, 1.05)},
                   defines=dict(T=words, DROPOUT=0), name=f"bert sequence {words}")


def all_rows(small=False):
    """`small`: a few, of sizes for an emulated GPU."""
    return [row for part in (correctness, products, convolutions, capsules, cells, memory_bound,
                             networks) for row in part(small)]
