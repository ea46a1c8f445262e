"""Code that the sides in Python share: answers in the form of sides/serve.h, tensors of our side.

A side is started with one argument, JSON: "what" to run, in which "variant", with how many
"threads", on which "device" (the processor; "cuda"), and the "folder" with params.safetensors and
inputs.safetensors. A network has its sizes, "defines" and "batch", and its rate, "lr"; an operation
of memory.expr has its inputs, "args", and its gradient's, "seed".
"""
import json
import mmap
import struct
import sys
import time


def missing(why):
    print("missing " + " ".join(str(why).split())[:300])
    sys.exit(0)


def spec():
    return json.loads(sys.argv[1])


def tensors(path):
    """The tensors of a safetensors file: name -> (dtype, shape, bytes)."""
    with open(path, "rb") as f:
        data = memoryview(mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ))
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    header = json.loads(bytes(data[8:begin]))
    header.pop("__metadata__", None)
    found = {}
    for name, t in header.items():
        first, end = t["data_offsets"]
        found[name] = t["dtype"], t["shape"], data[begin + first:begin + end]
    return found


def memory_kb():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM:"))


def serve(run, about, end=lambda: None):
    """`run`: one unit of work, finished when it returns, or when `end` does."""
    print("ready " + json.dumps(about), flush=True)
    for line in sys.stdin:
        command, *rest = line.split()
        if command == "run":
            calls = int(rest[0])
            if calls > 1:
                run()
            end()
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(calls):
                run()
            end()
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            print(f"us {1e6 * wall:.3f} {1e6 * cpu:.3f}", flush=True)
        else:
            print(f"kb {memory_kb()}", flush=True)


def timed(run, calls):
    """Returns the results of the first calls, and the seconds of the first one."""
    start = time.perf_counter()
    first = run()
    seconds = time.perf_counter() - start
    return [first] + [run() for _ in range(calls - 1)], seconds
