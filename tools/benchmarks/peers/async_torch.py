"""PyTorch's pipelines and data parallelism on the digits' network of models/async/mnist.expr: four hidden
layers of 784, SGD. Two processes of one thread each exchange messages over gloo.

    async_torch.py {"what": "gpipe" | "1f1b" | "ddp" | "eager" | "compile", "batch": N,
                    "microbatches": N, "seconds": S, "threads": N}

`eager` and `compile` are one process with so many threads. Prints JSON: images a second, in the median
of batches.
"""
import json
import os
import socket
import statistics
import sys
import time

from peers import peer

try:
    import torch
    import torch.distributed as dist
    import torch.multiprocessing as processes
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
except ImportError as e:
    peer.missing(e)

SIZE, CLASSES, LAYERS, RATE = 784, 10, 4, 0.1
LOSS = torch.nn.functional.cross_entropy


def layers(first, end):
    found = []
    for _ in range(first, end):
        found += [torch.nn.Linear(SIZE, SIZE), torch.nn.ReLU()]
    return torch.nn.Sequential(*found, *([torch.nn.Linear(SIZE, CLASSES)] if end == LAYERS else []))


def data(batch):
    torch.manual_seed(1)
    return torch.rand(batch, SIZE), torch.randint(CLASSES, (batch,))


def seconds_of(step, limit_s):
    """In the median of as many steps as both processes agree on."""
    for _ in range(5):
        step()
    took, start = [], time.perf_counter()
    while True:
        begin = time.perf_counter()
        step()
        took.append(time.perf_counter() - begin)
        on = torch.tensor(float(time.perf_counter() - start < limit_s))
        if len(took) % 20 == 0:
            if dist.is_initialized():
                dist.broadcast(on, 0)
            if not on.item():
                return statistics.median(took)


def pipeline_step(spec, rank):
    x, y = data(spec["batch"])
    part = layers(0, LAYERS // 2) if rank == 0 else layers(LAYERS // 2, LAYERS)
    stage = PipelineStage(part, rank, 2, torch.device("cpu"))
    kind = ScheduleGPipe if spec["what"] == "gpipe" else Schedule1F1B
    schedule = kind(stage, n_microbatches=spec["microbatches"], loss_fn=LOSS)
    rule = torch.optim.SGD(part.parameters(), RATE, fused=True)

    def step():
        rule.zero_grad(set_to_none=True)
        if rank == 0:
            schedule.step(x)
        else:
            schedule.step(target=y, losses=[])
        rule.step()

    return step


def whole_step(spec, net):
    x, y = data(spec["batch"])
    rule = torch.optim.SGD(net.parameters(), RATE, fused=True)

    def step():
        rule.zero_grad(set_to_none=True)
        loss = LOSS(net(x), y)
        loss.backward()
        rule.step()
        return loss.item()

    return step


def process(rank, spec, port):
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=2)
    if spec["what"] == "ddp":
        half = dict(spec, batch=spec["batch"] // 2)
        step = whole_step(half, torch.nn.parallel.DistributedDataParallel(layers(0, LAYERS)))
    else:
        step = pipeline_step(spec, rank)
    took = seconds_of(step, spec["seconds"])
    if rank == 0:
        print(json.dumps(dict(images_s=spec["batch"] / took)), flush=True)
    dist.destroy_process_group()


def main():
    spec = peer.spec()
    if spec["what"] in ("eager", "compile"):
        torch.set_num_threads(spec["threads"])
        net = layers(0, LAYERS)
        step = whole_step(spec, torch.compile(net) if spec["what"] == "compile" else net)
        print(json.dumps(dict(images_s=spec["batch"] / seconds_of(step, spec["seconds"]))))
        return
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    processes.spawn(process, (spec, port), nprocs=2)


if __name__ == "__main__":
    sys.exit(main())
