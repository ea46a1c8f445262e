"""The description of the machine in a result."""
import functools
import os
import platform
import re

VECTORS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve")  # flags that are told


def first(path, pattern):
    """The text of the pattern's group in a file; None: no match."""
    try:
        with open(path) as f:
            found = re.search(pattern, f.read(), re.M)
    except OSError:
        return None
    return found and found[1].strip()


@functools.cache
def about():
    """Processor, how many of it, memory, system; None where the machine does not say."""
    kb = first("/proc/meminfo", r"^MemTotal: +(\d+) kB")
    flags = (first("/proc/cpuinfo", r"^(?:flags|Features)\s*: (.*)") or "").split()
    return {
        "processor": first("/proc/cpuinfo", r"^model name\s*: (.*)") or platform.machine(),
        "family": first("/proc/cpuinfo", r"^cpu family\s*: (.*)"),
        "model": first("/proc/cpuinfo", r"^model\s*: (.*)"),
        "vectors": [flag for flag in VECTORS if flag in flags],
        "virtual": "hypervisor" in flags,
        "processors": os.cpu_count(),
        "memory_gib": round(int(kb) / 2**20) if kb else None,
        "system": first("/etc/os-release", r'^PRETTY_NAME="?([^"\n]*)'),
    }
