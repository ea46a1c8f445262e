"""Calls the entries of a compiled model, on drawn data, in this process."""
import ctypes
import json
import os
import random
import time

TYPES = {"f32": ctypes.c_float, "f64": ctypes.c_double, "i32": ctypes.c_int32, "i64": ctypes.c_int64, "u8": ctypes.c_uint8,
         "i8": ctypes.c_int8, "bool": ctypes.c_uint8}


def plain(name):
    """The name as C spells it, for expressions over sizes."""
    return name.replace(".", "_")


class Library:
    """sizes: of run-time sizes; others are the largest. seed: of the data."""

    def __init__(self, folder, name, lib, sizes, seed=1):
        ctypes.CDLL(os.path.join(lib, "libneort.so"), mode=ctypes.RTLD_GLOBAL)
        self.lib = ctypes.CDLL(os.path.join(folder, f"lib{name}.so"))
        describe = getattr(self.lib, f"{name}_describe")
        describe.restype = ctypes.c_size_t
        length = describe(1, None, ctypes.c_size_t(0)) + 1
        text = ctypes.create_string_buffer(length)
        describe(1, text, ctypes.c_size_t(length))
        self.about = json.loads(text.value)
        self.name, self.random = name, random.Random(seed)
        self.sizes = {s["name"]: sizes.get(s["name"], s["hi"]) for s in self.about["sizes"]}
        self.tensors = {t["name"]: t for t in self.about["tensors"]}
        self.entries = {e["name"]: e for e in self.about["entries"]}
        self.ctx = ctypes.c_void_p()
        self.must(getattr(self.lib, f"{name}_create")(None, ctypes.byref(self.ctx)))
        self.memory = {}

    def must(self, status):
        if status:
            error = getattr(self.lib, f"{self.name}_error")
            error.restype = ctypes.c_char_p
            raise RuntimeError(f"{self.name}: {error(self.ctx).decode()}")

    def number(self, expression, first=0):
        if isinstance(expression, int):
            return expression
        names = {plain(n): v for n, v in self.sizes.items()}
        return int(eval(plain(str(expression)), {}, {**names, "d0": first}))  # sums of sizes, from the compiler

    def shape(self, tensor):
        return [self.number(d) for d in self.tensors[tensor]["shape"]]

    def room(self, tensor):
        """The memory of an input or output, allocated once."""
        if tensor not in self.memory:
            count = 1
            for extent in self.shape(tensor):
                count *= extent
            self.memory[tensor] = (TYPES[self.tensors[tensor]["type"]] * max(count, 1))()
        return self.memory[tensor]

    def draw(self, tensor):
        """Draws an input: floats in [-1, 1), integers within their bounds. Elements bounded by their own index make a
        forest; lists make any graph."""
        t, room, shape = self.tensors[tensor], self.room(tensor), self.shape(tensor)
        graph, _, part = tensor.rpartition(".")
        if part in ("begin", "child") and graph + ".begin" in self.tensors:
            return self.draw_lists(graph) if part == "begin" else None
        row = len(room)//max(shape[0], 1) if shape else 1
        if t.get("below") == "d0":
            return self.draw_forest(room, shape)
        for k in range(len(room)):
            if t["type"].startswith("f"):
                room[k] = self.random.uniform(-1, 1)
            else:
                least = self.number(t.get("least", 0), k//row)
                bound = self.number(t.get("below", t.get("bound", 2)), k//row)
                room[k] = self.random.randrange(max(least, 1 if tensor == "len" else least), max(bound, least + 1))
        return None

    def draw_forest(self, room, shape):
        free, width = [], shape[1]
        for v in range(shape[0]):
            taken = self.random.randrange(min(width, len(free)) + 1) if width > 1 else min(1, len(free))
            below = [free.pop() for _ in range(taken)]
            for k in range(width):
                room[v*width + k] = below[k] if k < len(below) else -1
            free.append(v)

    def draw_lists(self, graph):
        begin, child = self.room(graph + ".begin"), self.room(graph + ".child")
        vertices, edges = self.shape(graph + ".begin")[0] - 1, self.shape(graph + ".child")[0]
        owners = sorted(self.random.randrange(1, vertices) for _ in range(edges))
        for e, owner in enumerate(owners):
            child[e] = self.random.randrange(owner)
            begin[owner + 1] += 1
        for v in range(vertices):
            begin[v + 1] += begin[v]

    def draw_all(self, entry):
        for tensor in self.entries[entry]["inputs"]:
            self.draw(tensor)

    def call(self, entry):
        """Calls an entry; returns the seconds that it took."""
        e = self.entries[entry]
        sizes = [ctypes.c_int64(self.sizes[s]) for s in e["sizes"]]
        function = getattr(self.lib, f"{self.name}_{entry}")
        rooms = [self.room(t) for t in e["inputs"] + e["outputs"]]
        begun = time.perf_counter()
        status = function(self.ctx, *sizes, *rooms)
        took = time.perf_counter() - begun
        self.must(status)
        return took

    def close(self):
        getattr(self.lib, f"{self.name}_destroy")(self.ctx)
