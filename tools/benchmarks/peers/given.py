"""Tensors of our side in the layout of each peer's users, for the sides of rows/recurrent.py."""
import numpy as np
from peers import peer

TYPES = {"F32": np.float32, "I32": np.int32}
FAR = 1e10  # what a path costs that there is none of


def load(path):
    """Arrays of a safetensors file by their names."""
    return {name: np.frombuffer(data, TYPES[dtype]).reshape(shape).copy()
            for name, (dtype, shape, data) in peer.tensors(path).items() if dtype in TYPES}


def inputs(spec):
    return load(spec["folder"] + "/inputs.safetensors")


def joined(w):
    """Weights [gate, from, to] as one matrix [from, gate*to]."""
    return np.ascontiguousarray(np.moveaxis(w, 0, -2).reshape(*w.shape[1:-1], -1))


def cell(spec):
    """Parameters and inputs of a cell: gates beside each other, time first."""
    p, x = load(spec["folder"] + "/params.safetensors"), inputs(spec)
    x["X"] = np.ascontiguousarray(x["X"].swapaxes(0, 1))
    if spec["what"] == "lltm":
        hidden = p["b"].shape[1]
        p["U"], p["W"] = p["W"][:, :hidden], p["W"][:, hidden:]
    if spec["what"] == "scrnn":
        return p, x
    for name in ("W", "U", "R"):
        if name in p:
            p[name] = joined(p[name])
    if "k" in p:
        p["k"] = p["k"].reshape(len(p["k"]), -1)
    for name in ("b", "bw", "br"):
        if name in p:
            p[name] = p[name].reshape(-1)
    return p, x


def symmetric(lower):
    """The matrix that a lower triangle stands for, with its diagonal raised as ours is."""
    low = np.tril(lower, -1)
    return low + low.T + np.diag(np.diag(lower) + np.float32(64))
