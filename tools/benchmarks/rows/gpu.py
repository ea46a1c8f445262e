"""The rows of `tools/bench gpu`, in parts.

A row's `must` and `stretch` are least ratios, peer time over ours, for each peer or for the best of
them ("best"); of rows that memory bounds, least shares of the bandwidth that a copy reaches. How its
values are checked, gpu/values.py says.
"""
import dataclasses
import glob
import os

from measure.build import ROOT
from rows.row import MODELS, PROGRAMS, TORCH, ZOO, Row, convolution, network
from rows.row import memory_bound as memory_rows

PARTS = {1: "correctness", 2: "products", 3: "convolutions", 4: "capsules", 5: "cells",
         6: "memory bound", 7: "networks", 8: "attention", 9: "inference"}
EXPECTED = os.path.join(ROOT, "tests", "zoo", "expected")
CELLS = {"torch eager": (8, 30), "torch compile": (2.5, 6), "jax": (2.5, 6)}
LAYERS = [  # of ResNet-50: channels, size, filters, filter size, stride, padding
    (3, 224, 64, 7, 2, 3), (64, 56, 64, 1, 1, 0), (64, 56, 64, 3, 1, 1), (64, 56, 256, 1, 1, 0),
    (256, 56, 128, 1, 1, 0), (128, 56, 128, 3, 2, 1), (128, 28, 128, 3, 1, 1),
    (256, 56, 512, 1, 2, 0), (512, 28, 256, 1, 1, 0), (256, 28, 256, 3, 2, 1),
    (256, 14, 256, 3, 1, 1), (1024, 14, 512, 1, 1, 0), (512, 14, 512, 3, 2, 1),
    (512, 7, 512, 3, 1, 1), (512, 7, 2048, 1, 1, 0)
]


# ---- 1: correctness


def zoo(small):
    """Loss and gradients of the zoo, at the sizes of its tests, as on a processor. Of the models over
    graphs (sizes like `G.vertices`) there are none: their inputs cannot be any numbers."""
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
        if any("." in size for size in defines):
            continue
        if not small or name in ("milstm", "mlp"):
            yield Row(f"values of {name}", "correctness", "loss and gradients",
                      f"{ZOO}{model}.expr", "grad", what="values", defines=defines,
                      measure="tensor")


KINDS = {"f32": ("gemm", ()), "bf16": ("gemm", ("--math=bf16",)), "tf32": ("gemm", ("--math=tf32",)),
         "3xtf32": ("gemm", ("--math=3xtf32",)), "bf16 tensors": ("gemm_bf16", ()),
         "f16 tensors": ("gemm_f16", ())}


def product(kind, m, n, k, **more):
    model, options = KINDS[kind]
    rounded = "f32" if "tensors" in kind else kind
    return dict(model=f"{MODELS}{model}.expr", entries="forward", defines=dict(M=m, N=n, K=k),
                options=options, reference="product:" + rounded, **more)


def matrix_units(small):
    """Products that reach every way of making them: by warps, by warpgroups, with operands copied by
    threads and in boxes, a producer, persistent blocks; on sm_80's code too."""
    for level in ("sm_80", ""):
        on = f" for {level}" if level else ""
        for kind in KINDS:
            for m, n, k in [(72, 56, 96)] if small else [(1537, 2056, 520), (2048, 4096, 1024)]:
                yield Row(f"values of gemm {kind} {m}x{n}x{k}{on}", "correctness", "product",
                          what="values", level=level, **product(kind, m, n, k))
        for math in ("bf16", "tf32", "3xtf32"):
            yield Row(f"values of products {math}{on}", "correctness", "products",
                      PROGRAMS + "products.expr", "forward", what="values", level=level,
                      options=("--math=" + math,), agree=1e-4)
        if not small:
            yield Row(f"values of large products{on}", "correctness", "products",
                      PROGRAMS + "large.expr", "forward", what="values", level=level, agree=1e-7,
                      samples=16384)


# ---- 2 and 3: products and convolutions


def products(small):
    kinds = [("f32", (1024, 2048, 4096, 8192), (0.85, 1.03)), ("bf16", (4096, 8192), (0.55, 1.02)),
             ("tf32", (4096, 8192), (0.8, 1.0)), ("3xtf32", (4096, 8192), (1.5, 2.3)),
             ("bf16 tensors", (1024, 4096, 8192), (0.8, 1.02)),
             ("f16 tensors", (1024, 4096, 8192), (0.8, 1.02))]
    for kind, sizes, musts in kinds:
        theirs = "f32" if kind == "3xtf32" else kind.split()[0]
        for n in (40,) if small else sizes:
            yield Row(f"gemm {kind} {n}", f"gemm {kind}", f"{2e-9 * n**3:.4g} GFLOP",
                      peers=("torch cublas",), musts={"best": musts},
                      arguments=dict(torch=dict(what="gemm", kind=theirs)), **product(kind, n, n, n))


def convolutions(small):
    batch = 2 if small else 16
    for layer in [(3, 12, 4, 3, 2, 1)] if small else LAYERS:
        c, h, _, _, stride, pad = layer
        for entry in ("forward", "data", "weights"):
            arguments = dict(what="conv", entry=entry, stride=stride, pad=pad, shape=[batch, c, h, h])
            yield convolution("conv", "conv " + entry, layer, batch, entry, ("torch cudnn",),
                              musts={"best": (0.7, 1.0)}, reference=f"conv:{entry}:{stride}:{pad}",
                              arguments=dict(torch=arguments))


# ---- 4 to 9


def checked(model, group, batch, peers, musts, entry="step", agree=2e-3, samples=256, **more):
    """A network whose values are checked too."""
    return network(model, group, peers, batch, entry=entry, musts=musts, agree=agree, samples=samples,
                   measure="change" if entry == "step" else "tensor", **more)


def capsules(small):
    for batch in (1,) if small else (1, 16, 64):
        yield checked("capsule_conv", "capsule convolution", batch, TORCH,
                      {"torch eager": (4, 8)},
                      defines=dict(H=8, C=2, M=2, R=3, J=2) if small else {})


def cells(small):
    for model in ("milstm",) if small else ("milstm", "scrnn", "sublstm", "lltm"):
        for batch in (1,) if small else (1, 16, 64):
            yield checked(model, "cells", batch, (*TORCH, "jax"), CELLS,
                          defines=dict(I=12, H=8) if small else {})


def memory_bound(small):
    return memory_rows(dict(R=8, C=64, N=2, K=4, H=6, L=64) if small else {}, agree=2e-4,
                       musts={"bandwidth": (0.85, 0.9)})


def networks(small):
    if small:
        yield checked("mlp", "small networks", 2, TORCH, {}, defines=dict(WIDTH=16))
        return
    # Roundings grow with depth: two libraries for processors, which add in other orders, are 0.008
    # apart in resnet18 with one image, 0.02 in mobilenet with 16, 0.08 in resnet50; an H200 was 0.07
    # off in mobilenet, 0.12 in resnet50. What is wrong is 1 apart.
    deep = dict(agree=5e-2, samples=32)
    deeper = {"mobilenet": 0.2, "resnet50": 0.3}
    for batch in (1, 16):
        yield checked("capsulenet", "small networks", batch, TORCH, {"torch compile": (1.7, 3)},
                      **deep)
        yield checked("shufflenet", "small networks", batch, TORCH, {"torch compile": (1.3, 4)},
                      lr=1e-4, **deep)
        for model in ("resnet18", "resnet50", "mobilenet"):
            yield checked(model, "large networks", batch, TORCH, {"torch compile": (0.8, 1.05)},
                          lr=1e-4, **{**deep, "agree": deeper.get(model, 5e-2)})
    for words in (128, 512):
        yield checked("bert", "large networks", 1, TORCH, {"torch compile": (0.8, 1.05)},
                      defines=dict(T=words, DROPOUT=0), name=f"bert sequence {words}", **deep)


def attention(small):
    shapes = [(1, 24, 2, 16)] if small else [(8, 1024, 16, 64), (1, 4096, 16, 64),
                                             (1, 4096, 16, 128)]
    for causal in (0, 1):
        for b, t, h, k in shapes:
            for entry, what, products in (("forward", "forward", 4), ("both", "both ways", 14)):
                sizes = dict(B=b, T=t, H=h, K=k)
                flop = products * b * h * t * t * k / (1 + causal)
                spec = dict(what="attention", kind="bf16", entry=entry, causal=causal)
                yield Row(f"attention {b}x{t}x{h}x{k}{' causal' if causal else ''} {what}",
                          f"attention {what}", f"{1e-9 * flop:.4g} GFLOP",
                          MODELS + "attention.expr", entry, ("torch attention",),
                          musts={"best": (0.5, 1.0)}, defines=dict(**sizes, CAUSAL=causal),
                          options=("--math=bf16", "--store=bf16"), agree=4e-2,
                          arguments=dict(torch=spec))


def inference(small):
    if small:
        yield checked("mlp", "inference", 2, TORCH, {}, defines=dict(WIDTH=16), entry="forward",
                      name="mlp inference batch 2")
        return
    for batch in (1, 16):
        yield checked("resnet50", "inference", batch, TORCH, {"torch compile": (0.8, 1.05)},
                      entry="forward", name=f"resnet50 inference batch {batch}")
    for words in (128, 512):
        yield checked("bert", "inference", 1, TORCH, {"torch compile": (0.8, 1.05)},
                      defines=dict(T=words, DROPOUT=0), entry="forward",
                      name=f"bert inference sequence {words}")


def all_rows(small=False):
    """`small`: a few, of sizes for an emulated GPU."""
    return [dataclasses.replace(row, part=part) for part, makers in MAKERS.items()
            for maker in makers for row in maker(small)]


MAKERS = {1: (zoo, matrix_units), 2: (products,), 3: (convolutions,), 4: (capsules,), 5: (cells,),
          6: (memory_bound,), 7: (networks,), 8: (attention,), 9: (inference,)}
