"""The rows of `tools/bench cpu`, in groups. A row compares entries of a model with peers.

`must` and `stretch` are least ratios, peer time over ours; a group's hold for the geometric mean of
its rows, `must_tuned` after `neoc tune`. A row of its own may have a `must` too, `limit_s` the most
seconds that it may take, or `bandwidth` the least share of the memory's bandwidth.
"""
import dataclasses
import os
import re

from measure.build import ROOT
from rows import dynamic, recurrent
from rows.row import ALL, IMAGES, MODELS, Row, convolution, memory_bound, network

GROUPS = {  # must, must_tuned, stretch
    "gemm f32": (0.9, 1.0, 1.1),
    "gemm bf16": (0.8, 1.0, 1.5),
    "gemm forms": (None, None, None),
    "convolution": (0.85, 1.0, 1.15),
    "memory bound": (1.2, 1.2, 2),
    "cells": (3.0, 3.5, 6),
    "capsules": (3.0, 4.0, 9.66),
    "small networks": (1.3, 1.6, 2.5),
    "residual networks": (0.9, 1.05, 1.3),
    "encoder": (0.9, 1.05, 1.3),
    "branches": (1 / 1.15, 1 / 1.15, None),
    "concatenations": (1.0, 1.0, None),
    **recurrent.GROUPS,
    **dynamic.GROUPS,
    "compile time": (None, None, None),
    "peak memory": (1.25, 1.25, 1 / 0.6),
    "search": (None, None, None),
    "alone": (None, None, None),
}
ANALYTIC_OF_TUNED = 0.75  # what the analytic choice reaches at least of the tuned one
AGREE = 1e-3  # relative difference of what both sides compute
CHANGE_AGREES = 0.05  # the same of what a step changes
IMAGES_LR = 1e-4  # at the models' rates, a step of a deep network multiplies roundings

SHAPES = [(n, n, n) for n in (64, 128, 256, 512, 1024, 2048)
         ] + [(64, 1024, 512), (1, 4096, 1024), (16, 1024, 1024), (50176, 64, 576)]
LAYERS = [  # channels, size, filters, filter size, stride, padding
    (64, 56, 64, 3, 1, 1), (128, 28, 128, 3, 1, 1), (256, 14, 256, 3, 1, 1), (512, 7, 512, 3, 1, 1),
    (128, 56, 128, 3, 2, 1), (3, 224, 64, 7, 2, 3)
]


def gemm(threads, kind="f32"):
    for m, n, k in SHAPES:
        args = [str(v) for v in (m, n, k)]
        peers = (("openblas", "numpy") if kind == "f32" else ()) + ("onednn", "torch eager")
        yield Row(f"gemm {kind} {m}x{n}x{k} threads {threads}", f"gemm {kind}",
                  f"{2e-9 * m * n * k:.4g} GFLOP", MODELS + "gemm.expr", "forward", peers,
                  threads, defines=dict(M=m, N=n, K=k), worst=0.75 if kind == "f32" else None,
                  options=() if kind == "f32" else ("--math=" + kind,),
                  features=() if kind == "f32" else ("amx_" + kind, "avx512_" + kind),
                  side="products_{}", arguments=dict(openblas=[*args, "0", "0"], numpy={},
                                                        onednn=["gemm", kind, *args],
                                                        torch=dict(kind=kind)))


def gemm_forms(threads):
    """The products of a layer's forward pass and of its two gradients."""
    for form in ("nn", "tn", "nt"):
        args = ["512"] * 3 + ["1" if c == "t" else "0" for c in form]
        yield Row(f"gemm form {form} 512x512x512 threads {threads}", "gemm forms", "0.268 GFLOP",
                  f"{MODELS}gemm_{form}.expr", "forward", ("openblas",), threads,
                  arguments=dict(openblas=args))


def convolutions(threads):
    for batch in (1, 16):
        for layer in LAYERS:
            for entry in ("forward", "data", "weights"):
                stem = layer[0] == 3 and entry == "data"
                yield convolution(f"conv f32 n{batch}", "convolution", layer, batch, entry, ("onednn",),
                                  threads=threads, must=3.0 if stem else None,
                                  arguments=dict(onednn=["conv", entry, *map(str, (batch, *layer))]))


def networks(threads):
    for model in ("milstm", "scrnn", "sublstm", "lltm"):
        for batch in (1, 16, 64):
            yield network(model, "cells", ALL, batch, threads=threads)
    for model in ("capsule_conv", "capsulenet", "capsulenet_conv"):
        for batch in (1, 16):
            yield network(model, "capsules", ALL, batch, threads=threads, by_hand=("torch joined",))
    for model in ("shufflenet", "mobilenet"):
        for batch in (1, 16):
            yield network(model, "small networks", IMAGES, batch, threads=threads, lr=IMAGES_LR)
    for model in ("resnet18", "resnet50"):
        for batch in (1, 16):
            yield network(model, "residual networks", IMAGES, batch, threads=threads, lr=IMAGES_LR)
    for words in (128, 512):
        yield network("bert", "encoder", ALL, 1, threads=threads, name=f"bert layer sequence {words}",
                      defines=dict(T=words, LAYERS=1, DROPOUT=0))


def branches(threads):
    """A run-time case costs what the branch costs that is taken, in a loop in each iteration."""
    name = "1 of 8 experts"
    for name, unit, model, entry, batch in (
            (name, "forward pass", "experts", "forward", 64),
            (f"{name} an iteration", "forward pass", "experts_loop", "forward", 1),
            (f"{name} an iteration, step", "training step", "experts_loop", "step", 1)):
        yield Row(name, "branches", unit, f"{MODELS}{model}.expr", entry, ("baseline",),
                  threads, batch=batch, baseline=("--define=ALONE=1",))


def concatenations(threads):
    """Over the same network with kernels that copy what it puts together."""
    for model, batch in (("densenet", 16), ("googlenet", 1), ("unet", 1)):
        yield Row(f"{model} batch {batch}", "concatenations", "training step", f"{MODELS}{model}.expr",
                  "step", ("baseline",), threads, batch=batch,
                  settings=dict(lr=IMAGES_LR), baseline=("--no-fuse=concat",))


def others(threads):
    for model, batch, limit, stretch in (("mlp", 100, 0.5, 0.2), ("capsulenet", 1, 2, 1),
                                         ("resnet50", 1, 10, 4)):
        yield network(model, "compile time", ("torch compile", "jax"), batch, threads=threads,
                      name=f"compile {model}", what="compile", limit_s=limit, stretch_s=stretch)
    yield network("resnet50", "peak memory", ("torch eager",), 16, threads=threads,
                  name="memory resnet50 batch 16", lr=IMAGES_LR, what="memory")


def search(threads):
    for m, n, k in ((384, 768, 512), (192, 2304, 288), (64, 768, 2304)):
        yield Row(f"search gemm {m}x{n}x{k}", "search", "measurements to 99 % of the best",
                  MODELS + "gemm.expr", "forward", (), threads, what="search", most=25,
                  defines=dict(M=m, N=n, K=k))


def table(path, pattern):
    """Names in a table of the compiler."""
    with open(os.path.join(ROOT, path)) as f:
        return re.findall(pattern, f.read(), re.M)


def transformations():
    """Transformations that can be left out, each and all, with the options that do so."""
    kinds = table("fusion/kinds.def", r'^X\(\w+, "([^"]+)"')
    yield "all", ()
    for name in table("tools/pipeline/passes.def", r'^X\("([^"]+)", \w+, false'):
        yield name, ("--passes=" + name, "--no-fuse=all")
    for kind in kinds:
        others = ",".join(k for k in kinds if k != kind)
        yield "fusion of " + kind, ("--passes=", "--no-fuse=" + others)


def alone(threads):
    """Rows that measure the gain of each transformation, and of all together, over none."""
    for model, batch in (("milstm", 16), ("capsulenet", 1), ("resnet18", 1)):
        for name, how in transformations():
            yield network(model, "alone", ("baseline",), batch, threads=threads,
                          name=f"alone {name}: {model} batch {batch}", lr=IMAGES_LR, options=how,
                          baseline=("--passes=", "--no-fuse=all"))


def versions(threads, levels):
    """Rows that compare two versions of the compiler: products, convolutions, layers, each
    network's training step and its forward; all of it for each of these levels of processors."""
    models = ["mlp", *(cell + "_unrolled" for cell in ("milstm", "scrnn", "sublstm", "lltm"))]
    steps = [*networks(threads), *(network(m, "cells", (), 1, threads=threads) for m in models)]
    forwards = [dataclasses.replace(row, name=row.name + " forward", entries="test",
                                    unit="forward pass") for row in steps]
    rows = [*gemm(threads), *gemm_forms(threads), *convolutions(threads), *memory_bound({}, threads=threads, bandwidth=0.8),
            *steps, *forwards]
    return [dataclasses.replace(row, name=f"{row.name}, {level}", peers=(),
                                options=(*row.options, "--mcpu=" + level))
            for level in levels for row in rows]


def all_rows(threads=None):
    """All rows; products and LSTMs with 1 and 2 threads, where `threads` does not say how many."""
    rows = []
    counts = (threads,) if threads else (1, 2)
    for n in counts:
        rows += [*gemm(n), *gemm(n, "bf16"), *gemm_forms(n)]
    n = threads or 1
    rows += [*convolutions(n), *memory_bound({}, threads=n, bandwidth=0.8), *networks(n), *branches(n),
             *concatenations(n)]
    for count in counts:
        rows += recurrent.lstm(count)
    return rows + [*recurrent.rows(n), *others(n), *search(n), *alone(n)]
