"""Batches that both sides of a comparison step through, as a file: lines of text that end with `end`,
then the arrays, each at its offset from the first multiple of 64 bytes behind the text.

    batch
    size NAME N                             a run-time size of the model
    array NAME TYPE OFFSET EXTENT...        an input; TYPE is f32 or i32
"""
import numpy as np

TYPES = {"f32": np.float32, "i32": np.int32}
ALIGN = 64


def up(n):
    return -(-n // ALIGN) * ALIGN


def write(path, batches):
    """`batches`: of each its sizes and its arrays."""
    at, lines, data = 0, [], []
    names = {np.dtype(t): name for name, t in TYPES.items()}
    for sizes, arrays in batches:
        lines += ["batch", *(f"size {name} {n}" for name, n in sizes.items())]
        for name, a in arrays.items():
            lines.append(" ".join(["array", name, names[a.dtype], str(at), *map(str, a.shape)]))
            data.append((at, np.ascontiguousarray(a).tobytes()))
            at = up(at + a.nbytes)
    head = "\n".join([*lines, "end", ""]).encode()
    with open(path, "wb") as f:
        f.write(head)
        for offset, content in data:
            f.seek(up(len(head)) + offset)
            f.write(content)


def read(path):
    """The arrays of each batch."""
    with open(path, "rb") as f:
        data = f.read()
    end = data.index(b"\nend\n") + len(b"\nend\n")
    first, found = up(end), []
    for line in data[:end].decode().split("\n"):
        word, *rest = line.split() or [""]
        if word == "batch":
            found.append({})
        elif word == "array":
            name, kind, offset, *shape = rest
            shape = [int(n) for n in shape]
            n = int(np.prod(shape))
            a = np.frombuffer(data, TYPES[kind], n, first + int(offset))
            found[-1][name] = a.reshape(shape).copy()
    return found
