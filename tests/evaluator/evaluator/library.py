"""A compiled model as a library, called through its C interface (docs/c-api.md): to see what a training step or an
`update` leaves in parameters and states."""

import ctypes
import os
import subprocess

import numpy as np

from .errors import ExprError

_NUMPY = {"f64": np.float64, "f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i64": np.int64,
          "i32": np.int32, "i8": np.int8, "u8": np.uint8, "bool": np.uint8}


def _stored(data, kind):
    """An array as the library keeps it."""
    if kind == "bf16":
        bits = np.ascontiguousarray(data, np.float32).reshape(-1).view(np.uint32)
        return (bits >> 16).astype(np.uint16).reshape(np.shape(data))
    return np.ascontiguousarray(data, _NUMPY[kind])


def _read(data, kind):
    if kind != "bf16":
        return data
    return (data.reshape(-1).astype(np.uint32) << 16).view(np.float32).reshape(data.shape)


class Library:
    """`folder` is where it is compiled to."""

    def __init__(self, neoc, model, options, info, folder):
        done = subprocess.run([neoc, "compile", "-q", model, "-o", folder] + options, capture_output=True, text=True)
        if done.returncode:
            raise ExprError(f"neoc compile {model}: {done.stderr.strip()}")
        runtime = os.path.join(os.path.dirname(os.path.realpath(neoc)), "..", "lib", "libneort.so")
        ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
        self.prefix = info["prefix"]
        self.steps = 0  # finished training steps
        self.finished = 0  # calls of output entries
        self.tensors = {t["name"]: t for t in info["tensors"]}
        self.code = ctypes.CDLL(os.path.join(folder, f"lib{info['name']}.so"))
        self.context = ctypes.c_void_p()
        self._function("error").restype = ctypes.c_char_p
        self._function("destroy").restype = None
        self._check(self._function("create")(None, ctypes.byref(self.context)))

    def _function(self, name):
        return getattr(self.code, f"{self.prefix}_{name}")

    def _check(self, status):
        if status:
            raise ExprError(f"{self.prefix}: {self._function('error')(self.context).decode()}")

    def close(self):
        self._function("destroy")(self.context)

    def set(self, name, data):
        data = _stored(data, self.tensors[name]["type"])
        self._check(self._function("set")(self.context, self._number(name), data.ctypes.data_as(ctypes.c_void_p),
                                          ctypes.c_size_t(data.nbytes)))

    def get(self, name, shape):
        kind = self.tensors[name]["type"]
        data = np.zeros(shape, _NUMPY[kind])
        self._check(self._function("get")(self.context, self._number(name), data.ctypes.data_as(ctypes.c_void_p),
                                          ctypes.c_size_t(data.nbytes)))
        return _read(data, kind)

    def _number(self, name):
        return self._function("find")(name.encode())

    def run(self, entry, sizes, inputs, shape_of):
        """The outputs of an entry, by name."""
        arguments = [ctypes.c_int64(sizes[s]) for s in entry["sizes"]]
        kept = [_stored(inputs[n], self.tensors[n]["type"]) for n in entry["inputs"]]
        results = {n: np.zeros(shape_of(self.tensors[n]), _NUMPY[self.tensors[n]["type"]]) for n in entry["outputs"]}
        arguments += [a.ctypes.data_as(ctypes.c_void_p) for a in kept + list(results.values())]
        self._check(self._function(entry["name"])(self.context, *arguments))
        self.steps += entry["kind"] == "train"
        self.finished += entry["kind"] == "forward"
        return {n: _read(a, self.tensors[n]["type"]) for n, a in results.items()}
