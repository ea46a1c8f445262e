"""tools/bench mlp: an epoch of the digit model of models/mnist/mlp.expr beside PyTorch's, in turns.

The digits are those of $NEO_DATA/mnist (../shared/data/mnist). Peer time over ours: above 1 we are
faster.
"""
import gzip
import os
import re
import statistics
import struct
import sys
import tempfile
import time

from measure import entries
from measure.build import ROOT
from measure.process import run
from report import stored
from rows.data import path
from rows.row import Row

try:
    import torch
except ImportError:
    print("mlp: torch is not installed: no peer to compare with")
    sys.exit(77)

BATCH = 128


def idx(path):
    data = gzip.open(path).read()
    rank = data[3]
    shape = struct.unpack(">" + "I" * rank, data[4:4 + 4 * rank])
    return torch.frombuffer(bytearray(data[4 + 4 * rank:]), dtype=torch.uint8).reshape(shape)


def peer(x, y):
    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Dropout(0.3),
                                torch.nn.Linear(256, 10))
    adam = torch.optim.Adam(model.parameters(), lr=1e-3)

    def epoch():
        start = time.perf_counter()
        order = torch.randperm(len(x))
        for at in range(0, len(x), BATCH):
            rows = order[at:at + BATCH]
            loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
            adam.zero_grad()
            loss.backward()
            adam.step()
        return time.perf_counter() - start

    return epoch


def ours(builder, data, threads):
    made = entries.compiled(builder, "models/mnist/mlp.expr")
    folder, lib = os.path.dirname(made["library"]), os.path.join(builder.build, "lib")
    program = os.path.join(folder, "mnist")
    run(["cc", "-O2", "-o", program, "models/mnist/main.c", "-I" + folder, "-I.", "-Iinclude",
         "-L" + folder, "-L" + lib, "-Wl,--no-as-needed", "-lneort", "-lm", "-ldl", "-lnet",
         f"-Wl,-rpath,{lib}:{folder}"], cwd=ROOT)

    def epoch():
        with tempfile.TemporaryDirectory() as here:
            out = run([program, data, "1", str(threads)], cwd=here)
        return float(re.search(r"epoch 1: loss \S+ ([0-9.]+) s", out)[1])

    return epoch


def work(o, builder):
    torch.set_num_threads(o.threads)
    data = os.path.abspath(path("mnist"))
    x = idx(data + "/train-images-idx3-ubyte.gz").reshape(-1, 784).float() / 255
    y = idx(data + "/train-labels-idx1-ubyte.gz").long()
    runs = {"ours": ours(builder, data, o.threads), "torch": peer(x, y)}
    times = {name: [] for name in runs}
    for _ in range(o.rounds):
        for name, epoch in runs.items():
            times[name].append(1e6 * epoch())
    us = {name: statistics.median(t) for name, t in times.items()}
    row = Row("mnist mlp epoch", "mnist", "epoch", "models/mnist/mlp.expr", "step", ("torch",),
              o.threads)
    result = stored.result(row, peer="torch " + torch.__version__, must=0.5,
                           ratio=us["torch"] / us["ours"])
    result["times"] = {name: dict(median_us=us[name], us=t) for name, t in times.items()}
    print(f"mnist mlp epoch, {o.threads} thread(s): ours {us['ours'] / 1e6:.2f} s, "
          f"torch {us['torch'] / 1e6:.2f} s, ratio {result['ratio']:.2f}")
    return [result]


sys.exit(entries.main("mlp", __doc__, 15, work))
