"""Interpreters of the peers in Python: pip installs these in a folder outside of the build."""
import os
import subprocess
import sys

from measure.build import ROOT

TORCH_CPU = "https://download.pytorch.org/whl/cpu"  # without gigabytes for graphics cards
# First words of peers that are programs in Python, and the module that each needs. JAX after 0.4.31
# has another runtime for processors, slower where a loop's rounds are small: both count.
OLD_JAX = "jax-0.4.31"
PYTHON = {"torch": "torch", "jax": "jax", OLD_JAX: "jax", "scipy": "scipy", "numpy": "numpy"}


def works(python, module):
    return os.path.exists(python) and not subprocess.run(
        [python, "-c", "import " + module], capture_output=True).returncode


def install(folder):
    """An environment with PyTorch and JAX; what fails is missing later."""
    print(f"bench: installing PyTorch and JAX into {folder}", file=sys.stderr)
    pip = environment(folder)
    if pip:
        if not ran(*pip, "torch", "--index-url", TORCH_CPU) and not ran(*pip, "torch"):
            print("bench: PyTorch cannot be installed", file=sys.stderr)
        if not ran(*pip, "jax", "numpy", "scipy"):
            print("bench: JAX cannot be installed", file=sys.stderr)


def install_old_jax(folder):
    print(f"bench: installing {OLD_JAX} into {folder}", file=sys.stderr)
    pip = environment(folder)
    version = OLD_JAX.partition("-")[2]
    if not pip or not ran(*pip, "jax==" + version, "jaxlib==" + version, "numpy", "scipy"):
        print(f"bench: {OLD_JAX} cannot be installed", file=sys.stderr)


def ran(*command):
    return subprocess.run(command).returncode == 0


def environment(folder):
    """Makes it: the command that installs into it, None where it cannot be made."""
    if not ran(sys.executable, "-m", "venv", folder):
        return None
    return [interpreter(folder), "-m", "pip", "install", "-q"]


def interpreter(folder):
    return os.path.join(folder, "bin", "python")


def variable(peer):
    """The variable of the environment that names another interpreter: NEO_BENCH_JAX_0_4_31 and so on."""
    return "NEO_BENCH_" + peer.upper().replace("-", "_").replace(".", "_")


def find(folder, rows):
    """Interpreters of the peers that the rows name, and a folder for what torch compiles. Old JAX
    has a folder of its own beside that of the others."""
    made = folder or os.path.join(ROOT, "build", "peers")
    folders = {peer: f"{made}-{OLD_JAX}" if peer == OLD_JAX else made for peer in PYTHON}
    wanted = {p.split()[0] for row in rows for p in row.peers + row.by_hand} & set(PYTHON)
    found = {"cache": made}
    for peer in sorted(wanted):
        python = os.environ.get(variable(peer)) or interpreter(folders[peer])
        if not folder and not os.environ.get(variable(peer)) and not os.path.exists(python):
            (install_old_jax if peer == OLD_JAX else install)(folders[peer])
        found[peer] = python if works(python, PYTHON[peer]) else None
    return found
