"""Where the peers in Python are: installed by pip in a folder of their own, no part of a build."""
import os
import subprocess
import sys

from build import ROOT

TORCH_CPU = "https://download.pytorch.org/whl/cpu"  # without gigabytes for graphics cards


def works(python, module):
    return os.path.exists(python) and not subprocess.run(
        [python, "-c", "import " + module], capture_output=True).returncode


def install(folder):
    """An environment with PyTorch and JAX; what fails is missing later."""
    print(f"bench: installing PyTorch and JAX into {folder}", file=sys.stderr)
    pip = [os.path.join(folder, "bin", "python"), "-m", "pip", "install", "-q"]

    def ran(*command):
        return subprocess.run(command).returncode == 0

    if ran(sys.executable, "-m", "venv", folder):
        if not ran(*pip, "torch", "--index-url", TORCH_CPU) and not ran(*pip, "torch"):
            print("bench: PyTorch cannot be installed", file=sys.stderr)
        if not ran(*pip, "jax", "numpy", "scipy"):
            print("bench: JAX cannot be installed", file=sys.stderr)


def find(folder, rows):
    """Interpreters that have torch, jax and scipy, and a folder for what torch compiles."""
    made = folder or os.path.join(ROOT, "build", "peers")
    wanted = {p.split()[0] for row in rows for p in row.peers} & {"torch", "jax", "scipy"}
    named = {module: os.environ.get("NEO_BENCH_" + module.upper()) for module in wanted}
    python = os.path.join(made, "bin", "python")
    if not folder and not all(named.values()) and not os.path.exists(python):
        install(made)
    found = {"cache": made}
    for module in wanted:
        path = named[module] or python
        found[module] = path if works(path, module) else None
    return found
