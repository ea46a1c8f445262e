"""numpy's side of a product: `matmul` by the OpenBLAS that numpy's package brings."""
import os

from peers import peer

SPEC = peer.spec()
os.environ["OPENBLAS_NUM_THREADS"] = str(SPEC["threads"])
try:
    import numpy as np
except ImportError as e:
    peer.missing(e)
from peers import given


def blas():
    """Name and version of what multiplies."""
    try:
        built = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
        return f", {built['name']} {built['version']}"
    except (TypeError, KeyError):
        return ""


def main():
    a, b = given.inputs(SPEC)["A"], given.load(SPEC["folder"] + "/params.safetensors")["B"]
    out = np.empty((len(a), b.shape[1]), a.dtype)

    def run():
        np.matmul(a, b, out=out)

    run()
    about = {"outputs": [float(np.abs(out).mean(dtype=np.float64))]}
    peer.serve(run, {**about, "version": f"numpy {np.__version__}{blas()}"})


main()
