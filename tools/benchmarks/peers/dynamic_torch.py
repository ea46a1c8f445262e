"""PyTorch's side of rows/dynamic.py: trees and sequences batched by hand (tests/oracle/levels.py), in
one of the variants

    levels       batches are arranged before the time that counts
    arranging    each step arranges its batch

A call is a pass over all batches, each with a training step: forward, backward, Adam or SGD in its
fused form, and of tables SparseAdam on gradients of the rows that were read.
"""
from peers import peer

try:
    import torch
except ImportError as e:
    peer.missing(e)
from rows import batches
import levels
from peers import given

SPEC = peer.spec()


def main():
    torch.set_num_threads(SPEC["threads"])
    torch.set_num_interop_threads(1)
    torch.set_default_device(SPEC["device"])
    params = given.load(SPEC["folder"] + "/params.safetensors")
    given_there = dict(zip(params, levels.tensors_of(params.values())))
    net = levels.NETWORKS[SPEC["what"]](given_there)
    rules = net.rules(SPEC["lr"])
    found = batches.read(SPEC["batches"])
    if SPEC["variant"] == "levels":
        found = [net.arrange(b) for b in found]

    def step(batch):
        if SPEC["variant"] != "levels":
            batch = net.arrange(batch)
        for rule in rules:
            rule.zero_grad(set_to_none=True)
        loss = net.loss(batch)
        loss.backward()
        for rule in rules:
            rule.step()
        return loss.item()

    def run():
        return sum(map(step, found)) / len(found)

    losses, seconds = peer.timed(run, 2)
    peer.serve(run, {"losses": losses, "first_s": seconds, "version": "torch " + torch.__version__})


main()
