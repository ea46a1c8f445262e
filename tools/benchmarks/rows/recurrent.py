"""Rows of recurrences: definitions that read themselves, and rounds of `scan`."""
from peers.pythons import OLD_JAX, PYTHON
from rows.row import MODELS, ZOO, Row

GROUPS = {  # must, must_tuned, stretch
    "LSTM": (1.0, 1.0, 1.3),
    "recurrent cells": (2.5, 2.5, 5),
    "small scan": (3, 3, 5),
    "small scan gradient": (5, 5, 10),
    "selective scan": (3, 3, 8),
    "selective scan forward": (None, None, None),
    "CTC": (4, 4, 10),
    "CRF and soft-DTW": (2, 2, 5),
    "wave equation": (2, 2, 3),
    "IIR filter": (4, 4, 8),
    "Cholesky": (0.5, 0.5, 0.8),
    "triangular solve": (0.4, 0.4, 0.8),
    "log-determinant": (1.0, 1.0, 2),
    "rounds": (0.91, 0.91, 1),
    "checkpoints": (0.714, 0.714, 0.74),  # 1.4 and 1.35 times the time of all kept
}
BATCHES = (1, 16, 64)
SCANS = tuple(f"{jax} {way}" for jax in ("jax", OLD_JAX) for way in ("scan", "unrolled"))
LOOPS = SCANS + ("torch eager", "torch compile")


def row(name, group, unit, entries, peers, threads, *, what, model=None, **more):
    """`what`: the function of the peers' programs; a model of this folder, that of its name."""
    model = model or f"{MODELS}recurrences/{what}.expr"
    lr = more.get("settings", {}).get("lr")
    arguments = dict(what=what, lr=lr, **more.pop("given", {}))
    sides = {PYTHON[peer.split()[0]]: arguments for peer in peers if peer != "baseline"}
    return Row(name, group, unit, model, entries, peers, threads, side="recurrent_{}",
               arguments=sides, **more)


def lstm(threads):
    for hidden in (256, 512):
        for batch in BATCHES:
            yield row(f"LSTM {hidden} batch {batch} threads {threads}", "LSTM", "training step",
                      "step", ("torch eager",), threads, what="lstm",
                      defines=dict(T=128, B=batch, H=hidden), settings=dict(lr=1.0))


def cells(threads):
    for cell in ("milstm", "scrnn", "sublstm", "lltm"):
        for batch in BATCHES:
            yield row(f"{cell} 100 rounds batch {batch}", "recurrent cells", "training step",
                      "step", LOOPS, threads, what=cell, model=f"{ZOO}{cell}_scan.expr",
                      batch=batch, settings=dict(lr=0.002))


def scans(threads):
    yield row("small scan forward", "small scan", "1000 rounds", "forward", LOOPS, threads,
              what="small", given=dict(entry="forward"))
    yield row("small scan with gradient", "small scan gradient", "1000 rounds", "gradient", LOOPS,
              threads, what="small", given=dict(entry="gradient"))
    peers = SCANS + ("jax associative", "torch eager")
    yield row("selective scan forward", "selective scan forward", "1024 rounds", "forward", peers,
              threads, what="selective", given=dict(entry="forward"))
    yield row("selective scan forward and backward", "selective scan", "1024 rounds", "both", peers,
              threads, what="selective", given=dict(entry="both"))


def sequences(threads):
    """Losses of sequences, with their gradients."""
    yield row("CTC", "CTC", "loss and gradient", "gradient", ("torch eager",), threads, what="ctc")
    yield row("CRF", "CRF and soft-DTW", "loss and gradient", "gradient",
              LOOPS + ("jax product",), threads, what="crf")
    yield row("soft-DTW", "CRF and soft-DTW", "loss and gradient", "gradient", LOOPS, threads,
              what="soft_dtw")


def fields(threads):
    peers = ("jax pad", "jax shift", "jax pairs")
    for entry in ("forward", "gradient"):
        yield row("wave equation " + entry, "wave equation", "500 steps", entry, peers, threads,
                  what="wave", given=dict(entry=entry))
    yield row("IIR filter", "IIR filter", "64 channels of 1000000 samples", "forward",
              ("scipy rows", "scipy columns"), threads, what="iir")


def linear_algebra(threads):
    for name, group, entry, peers in (
        ("Cholesky 512", "Cholesky", "cholesky", ("scipy lapack",)),
        ("triangular solve 512x64", "triangular solve", "solve", ("scipy blas",)),
        ("log-determinant 512 gradient", "log-determinant", "logdet",
         ("jax cholesky", "jax slogdet"))):
        yield row(name, group, "512x512", entry, peers, threads, what=entry,
                  model=MODELS + "recurrences/dense.expr")


def rounds(threads):
    """Many rounds beside few: compiling takes as long, and the memory that is planned is the same,
    but for what must be there once a round. That is nothing where only the last state counts. A
    training step keeps the states, and the gradients of which one product over all rounds makes the
    weights' gradients: of 16 examples and 64 units, in f32."""
    model = MODELS + "recurrences/rounds.expr"
    for name, entry, kept in (("compile time", "", 0), ("memory of the last state", "last", 0),
                              ("memory of a training step", "step", 2 * 16 * 64 * 4)):
        yield Row("rounds: " + name, "rounds", "16 beside 100000 rounds", model, entry, (), threads,
                  what="rounds", rounds=(16, 100000), kept_bytes=kept, must=0.91)


def checkpoints(threads):
    """Checkpoints: a tenth of the values of 10000 iterations, or a fifth of those of 32 layers, against all of them."""
    yield row("LSTM 10000 rounds, a tenth kept", "checkpoints", "training step", "step",
              ("baseline",), threads, what="lstm", defines=dict(T=10000, B=16, H=64),
              options=("--memory=28672000",), settings=dict(lr=1.0))
    yield row("32 layers, a fifth kept", "checkpoints", "training step", "step", ("baseline",), threads,
              what="layers", model=MODELS + "layers.expr", options=("--memory=13421772",), settings=dict(lr=0.1))


def rows(threads):
    return [*cells(threads), *scans(threads), *sequences(threads), *fields(threads),
            *linear_algebra(threads), *rounds(threads), *checkpoints(threads)]
