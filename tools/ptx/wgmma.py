"""The bytes of shared memory that wgmma.mma_async reads, by its descriptors.

PTX ISA, "Asynchronous warpgroup level matrix shared memory layout" and "Matrix descriptor format": a start address, the leading
and the stride dimension's byte offset, each in 16 bytes, a base offset, and the swizzling mode in bits 62 and 63."""
import re

from .text import PtxError

SHAPE = re.compile(r"m64n(\d+)k(\d+)$")
ROWS, STEP_BYTES, LINE_BYTES, PIECE, SIDE = 64, 32, 128, 16, 64
known = {}


def shape_of(i):
    for part in i.parts:
        found = SHAPE.match(part)
        if found:
            return int(found.group(1)), int(found.group(2))
    raise PtxError(i.line, "the shape of " + i.op)


def places(d, start, rows, steps, transposed):
    """The pieces of 16 bytes of a factor that are read."""
    leading, stride = (d >> 16 & 0x3fff) * PIECE, (d >> 32 & 0x3fff) * PIECE
    base, mode = d >> 49 & 7, d >> 62 & 3
    if transposed:
        for k in range(steps):
            for r in range(0, rows, 8):
                at = start + r // SIDE * leading + k // 8 * stride + k % 8 * LINE_BYTES + r % SIDE * 2
                yield at ^ ((at >> 7) + base) % 8 * PIECE
        return
    for r in range(rows):
        for b in range(0, STEP_BYTES, PIECE):
            at = start + r // 8 * stride
            if not mode:
                yield at + b // PIECE * leading + r % 8 * PIECE
                continue
            width = 256 >> mode
            at += r % 8 * width + b
            yield at ^ ((at >> 7) + base) % (width // PIECE) * PIECE


def factor_bytes(d, rows, steps, transposed):
    """A mask of the bytes read: bit k stands for byte k of shared memory."""
    start = (d & 0x3fff) * PIECE
    key = (d >> 14, start % 1024, rows, steps, transposed)
    if key not in known:
        mask = 0
        for at in places(d, start % 1024, rows, steps, transposed):
            mask |= 0xffff << at
        known[key] = mask
    return known[key] << (start - start % 1024)
