"""PyTorch's side of a product, by MKL or by oneDNN, whichever PyTorch takes. Operands of 16 bits are
rounded before, and so is what comes out."""
from peers import peer

SPEC = peer.spec()
try:
    import torch
except ImportError as e:
    peer.missing(e)
from peers import given


def main():
    torch.set_num_threads(SPEC["threads"])
    kind = {"f32": torch.float32, "bf16": torch.bfloat16}[SPEC["kind"]]
    b = given.load(SPEC["folder"] + "/params.safetensors")["B"]
    a, b = (torch.from_numpy(v).to(kind) for v in (given.inputs(SPEC)["A"], b))
    out = torch.empty(a.shape[0], b.shape[1], dtype=kind)

    def run():
        with torch.inference_mode():
            torch.mm(a, b, out=out)

    run()
    about = {"outputs": [out.double().abs().mean().item()]}
    peer.serve(run, {**about, "version": "torch " + torch.__version__})


main()
