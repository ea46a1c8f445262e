"""One epoch of the digit model of models/mnist/mlp.expr, ours against PyTorch's, alternating in one run.

    mlp.py MNIST_PROGRAM DATA_FOLDER [--threads N] [--rounds N] [--json FILE]

MNIST_PROGRAM is models/mnist/main.c linked with the compiled model. Peer time over ours: above 1 we are faster."""
import argparse, gzip, json, os, re, statistics, struct, subprocess, sys, tempfile, time

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


def ours(program, data, threads):
    def epoch():
        with tempfile.TemporaryDirectory() as folder:
            out = subprocess.run([program, data, "1", str(threads)], cwd=folder, check=True, capture_output=True)
        return float(re.search(rb"epoch 1: loss \S+ ([0-9.]+) s", out.stdout).group(1))

    return epoch


def main():
    args = argparse.ArgumentParser()
    args.add_argument("program")
    args.add_argument("data")
    args.add_argument("--threads", type=int, default=1)
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--json")
    o = args.parse_args()
    torch.set_num_threads(o.threads)
    x = idx(o.data + "/train-images-idx3-ubyte.gz").reshape(-1, 784).float() / 255
    y = idx(o.data + "/train-labels-idx1-ubyte.gz").long()
    runs = {"ours": ours(o.program, os.path.abspath(o.data), o.threads), "torch": peer(x, y)}
    times = {name: [] for name in runs}
    for _ in range(o.rounds):
        for name, epoch in runs.items():
            times[name].append(epoch())
    median = {name: statistics.median(t) for name, t in times.items()}
    row = {"name": "mnist mlp epoch", "peer": "torch " + torch.__version__, "threads": o.threads,
           "ratio": median["torch"] / median["ours"], "must": 0.5, "times": times}
    print("mnist mlp epoch, %d thread(s): ours %.2f s, torch %.2f s, ratio %.2f" %
          (o.threads, median["ours"], median["torch"], row["ratio"]))
    if o.json:
        json.dump([row], open(o.json, "w"), indent=1)


main()
