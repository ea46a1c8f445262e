"""Where the peers in Python are: made by pip in a folder of their own, never needed to build neo."""
import os
import subprocess
import sys

from build import ROOT

PACKAGES = ["numpy", "jax"]
TORCH_CPU = "https://download.pytorch.org/whl/cpu"


def works(python, module):
    return os.path.exists(python) and not subprocess.run(
        [python, "-c", "import " + module], capture_output=True).returncode


def install(folder):
    """An environment with PyTorch for the processor and JAX; what fails is missing later."""
    print(f"bench: installing PyTorch and JAX into {folder}", file=sys.stderr)
    pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "-q"]
    steps = [[sys.executable, "-m", "venv", folder],
             [*pip, "torch", "--index-url", TORCH_CPU], [*pip, *PACKAGES]]
    for step in steps:
        if subprocess.run(step).returncode:
            print("bench: failed: " + " ".join(step), file=sys.stderr)


def find(folder, rows):
    """Interpreters that have torch and jax, and a folder for what torch compiles."""
    made = folder or os.path.join(ROOT, "build", "peers")
    wanted = {p.split()[0] for row in rows for p in row.peers} & {"torch", "jax"}
    named = {module: os.environ.get("NEO_BENCH_" + module.upper()) for module in wanted}
    python = os.path.join(made, "bin", "python")
    if not folder and not all(named.values()) and not os.path.exists(python):
        install(made)
    found = {"cache": made}
    for module in wanted:
        path = named[module] or python
        found[module] = path if works(path, module) else None
    return found
