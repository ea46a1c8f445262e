"""Makes what the sides run: our libraries in their variants, the programs of sides/ and peers/."""
import dataclasses
import hashlib
import json
import os
import resource
import subprocess
import time

from measure.process import Missing

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(HERE))
NEEDS = {  # library, header and Debian's package of what a program needs
    "peers/onednn": ("-ldnnl", "oneDNN", "libdnnl-dev"),
}
SURVEY_S = 600
TUNE_EXTRA_S = 600  # beyond its budget, for compiling


def last_line(done):
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"


def first_error(done):
    """The first error in the output of `neoc --format=json`."""
    try:
        told = json.loads(done.stdout)["diagnostics"]
    except (ValueError, KeyError):
        told = []
    return next((d["message"] for d in told if d["severity"] == "error"), last_line(done))


def children_s():
    """Processor seconds of ended children; finer than os.times(), which counts ticks."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Builder:
    """Compiles into the folder `work`, each thing once. `emit`: what neoc writes of a library."""

    def __init__(self, build, work, tuned_s, emit="so,h"):
        self.build, self.work, self.tuned_s, self.emit = build, work, tuned_s, emit
        self.neoc = os.path.join(build, "bin", "neoc")
        self.made = {}

    def identity(self):
        """The hash of the compiler and of the records that are shipped with it."""
        sha = hashlib.sha256()
        shipped = os.path.join(self.build, "share", "neo", "records")
        names = sorted(os.listdir(shipped)) if os.path.isdir(shipped) else []
        for path in [self.neoc, *(os.path.join(shipped, n) for n in names if "records" in n)]:
            with open(path, "rb") as f:
                sha.update(f.read())
        return sha.hexdigest()[:12]

    def version(self):
        """The version of neoc, in one line."""
        told = subprocess.run([self.neoc, "--version"], capture_output=True, text=True).stdout
        return told.splitlines()[0].strip() if told else "unknown"

    def program(self, name):
        """A program in C: its folder, "sides" or "peers", and its name."""
        if name not in self.made:
            self.made[name] = self.compile_program(name)
        if isinstance(self.made[name], Missing):
            raise self.made[name]
        return self.made[name]

    def compile_program(self, name):
        if name == "peers/dynamic_dynet":
            return self.compile_dynet(name)
        library, product, package = NEEDS.get(name, ("", "", ""))
        out, lib = os.path.join(self.work, os.path.basename(name)), os.path.join(self.build, "lib")
        command = ["cc", "-O3", "-march=native", "-I.",
                   "-I" + os.path.join(self.build, "include"), "-Iinclude", "-o", out,
                   f"tools/benchmarks/{name}.c", "-L" + lib, "-Wl,--no-as-needed", "-lneort", "-lm",
                   "-ldl", "-lpthread", "-Wl,-rpath," + lib] + library.split()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode and product:
            return Missing(f"{product} (Debian's {package}) is not installed")
        if done.returncode:
            raise RuntimeError(f"{name}.c does not compile:\n{done.stderr}")
        return out

    def compile_dynet(self, name):
        """With DyNet as it is installed below $NEO_BENCH_DYNET, and its Eigen, as pkg-config knows it."""
        prefix, out = os.environ.get("NEO_BENCH_DYNET"), os.path.join(self.work, "dynamic_dynet")
        if not prefix:
            return Missing("$NEO_BENCH_DYNET names no folder in which DyNet is installed")
        lib = os.path.join(prefix, "lib")
        eigen = subprocess.run(["pkg-config", "--cflags", "eigen3"], capture_output=True, text=True)
        command = ["c++", "-O3", "-march=native", "-w", "-I.", "-Iinclude",
                   "-I" + os.path.join(self.build, "include"), "-I" + os.path.join(prefix, "include"),
                   *eigen.stdout.split(), "-o", out, f"tools/benchmarks/{name}.cc", "-L" + lib,
                   "-ldynet", "-Wl,-rpath," + lib]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return Missing(f"{name}.cc does not compile: {last_line(done)}") if done.returncode else out

    def library(self, row, variant):
        """The row's library: its path, seconds to compile it, and what tuning said."""
        options = row.flags()
        name = f"{row.model} {options} {row.threads}"
        key = hashlib.sha256(name.encode()).hexdigest()[:12], variant
        if key not in self.made:
            folder = os.path.join(self.work, key[0])
            os.makedirs(folder, exist_ok=True)
            self.made[key] = self.compile_library(row, options, variant, folder)
        if isinstance(self.made[key], Missing):
            raise self.made[key]
        return self.made[key]

    def compile_library(self, row, options, variant, folder):
        source, out = os.path.join(ROOT, row.model), os.path.join(folder, variant)
        tuning, records = None, os.path.join(folder, "records")
        try:
            if variant == "tuned":
                tuning = self.tune(source, options, row.threads, records)
                if os.path.exists(records):  # something was found
                    options = options + ["--records=" + records]
            elif variant == "analytic":
                options = options + ["--records=none"]
            return dict(self.compile(source, options, out), tuning=tuning)
        except Missing as why:
            return why

    def compile(self, source, options, out):
        """Compiles into the folder `out`, again if it was: the library's path, seconds it took, and
        what neoc says of it."""
        start, used = time.perf_counter(), children_s()
        command = [self.neoc, "compile", "-q", source, *options, "--emit=" + self.emit,
                   "--format=json", "--prefix=net", "-o", out]
        done = subprocess.run(command, capture_output=True, text=True)
        wall, cpu = time.perf_counter() - start, children_s() - used
        if done.returncode:
            raise Missing("neoc compile: " + first_error(done))
        return dict(library=os.path.join(out, "libnet.so"), wall_s=wall, cpu_s=cpu,
                    told=json.loads(done.stdout))

    def rounds(self, row, count, folder):
        """Compiles the row's model with so many rounds."""
        how = dataclasses.replace(row, defines={**row.defines, "T": count})
        return self.compile(os.path.join(ROOT, row.model), how.flags(), folder)

    def tune(self, source, options, threads, records):
        """Searches for the time of --tuned; what is recorded is of no use to other models."""
        told = self.ask_tune([source, *options, f"--threads={threads}", "--records=" + records],
                             self.tuned_s)
        return {k: told[k] for k in ("seconds", "trials", "covered")}

    def survey(self, row, folder):
        """A survey of the row's kernel C: the size of its space, the measured share, the cost of a search."""
        told = self.ask_tune([os.path.join(ROOT, row.model), *row.flags(), "--survey",
                              "--kernel=^C$", "--log=none", f"--threads={row.threads}",
                              "--records=" + os.path.join(folder, "records")], SURVEY_S)
        if not told["surveyed"]:
            raise Missing("neoc tune: nothing was measured")
        return {k: told["surveyed"][0][k] for k in ("space", "measured", "to_95", "to_99")}

    def ask_tune(self, arguments, seconds):
        command = [self.neoc, "tune", *arguments, f"--time={seconds}s", "--format=json"]
        try:
            done = subprocess.run(command, capture_output=True, text=True,
                                  timeout=seconds + TUNE_EXTRA_S)
        except subprocess.TimeoutExpired:
            raise Missing(f"neoc tune: no end in {seconds + TUNE_EXTRA_S} s") from None
        if done.returncode:
            raise Missing("neoc tune: " + last_line(done))
        return json.loads(done.stdout)
