"""Makes what the sides run: our libraries in their variants, and the programs of this folder."""
import hashlib
import os
import re
import subprocess
import time

from sides import Missing

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NEEDS = {  # library, header and Debian's package of what a program needs
    "onednn": ("-ldnnl", "oneDNN", "libdnnl-dev"),
}
TUNE_EXTRA_S = 600  # beyond its budget, for compiling


def last_line(done):
    lines = done.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"


class Builder:
    """Compiles into the folder `work`, each thing once."""

    def __init__(self, build, work, tuned_s):
        self.build, self.work, self.tuned_s = build, work, tuned_s
        self.neoc = os.path.join(build, "bin", "neoc")
        self.made, self.helps = {}, {}

    def program(self, name):
        """One of the programs in C."""
        if name not in self.made:
            self.made[name] = self.compile_program(name)
        if isinstance(self.made[name], Missing):
            raise self.made[name]
        return self.made[name]

    def compile_program(self, name):
        library, product, package = NEEDS.get(name, ("", "", ""))
        out, lib = os.path.join(self.work, name), os.path.join(self.build, "lib")
        command = ["cc", "-O3", "-march=native", "-I.", "-Iinclude", "-o", out,
                   f"tools/benchmarks/{name}.c", "-L" + lib, "-Wl,--no-as-needed", "-lneort", "-lm",
                   "-ldl", "-lpthread", "-Wl,-rpath," + lib] + library.split()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode and product:
            return Missing(f"{product} (Debian's {package}) is not installed")
        if done.returncode:
            raise RuntimeError(f"{name}.c does not compile:\n{done.stderr}")
        return out

    def has(self, command, text):
        """Does this command of neoc exist, and know this option?"""
        if command not in self.helps:
            done = subprocess.run([self.neoc, command, "--help"], capture_output=True, text=True)
            self.helps[command] = "" if done.returncode else done.stdout
        return text in self.helps[command]

    def source(self, row):
        """The row's model, its batch a constant; and how it is compiled."""
        path = os.path.join(ROOT, row.model)
        with open(path) as f:
            text = f.read()
        if row.batch:
            text, n = re.subn(r"^dim B <= \d+", f"dim B = {row.batch}", text, flags=re.M)
            assert n == 1, f"{row.model} has no run-time size B"
        options = [*row.options, "-I", os.path.dirname(path)]
        for name, value in row.defines.items():
            options += ["-D", f"{name}={value}"]
        key = hashlib.sha256(f"{text}{options}".encode()).hexdigest()[:12]
        name = os.path.splitext(os.path.basename(path))[0]
        folder = os.path.join(self.work, f"{name}-{key}")
        os.makedirs(folder, exist_ok=True)
        source = os.path.join(folder, name + ".expr")
        with open(source, "w") as f:
            f.write(text)
        return source, options

    def library(self, row, variant):
        """Path and prefix of the row's library, how many seconds it took to compile and to tune."""
        source, options = self.source(row)
        key = source, variant
        if key not in self.made:
            self.made[key] = self.compile_library(source, options, variant)
        if isinstance(self.made[key], Missing):
            raise self.made[key]
        return self.made[key]

    def compile_library(self, source, options, variant):
        try:
            options = options + self.records(source, options, variant)
        except Missing as why:
            return why
        folder, name = os.path.split(source)
        out = os.path.join(folder, variant)
        start, used = time.perf_counter(), os.times()
        command = [self.neoc, "compile", "-q", source, *options, "--prefix=net", "-o", out]
        done = subprocess.run(command, capture_output=True, text=True)
        wall, after = time.perf_counter() - start, os.times()
        if done.returncode:
            return Missing("neoc compile: " + last_line(done))
        cpu = (after.children_user - used.children_user + after.children_system -
               used.children_system)
        return dict(library=os.path.join(out, "libnet.so"), wall_s=wall, cpu_s=cpu)

    def records(self, source, options, variant):
        """The options that make a variant."""
        if variant == "default":
            return []
        if not self.has("compile", "--records"):
            raise Missing("this neoc has no option --records")
        return ["--records=none"] if variant == "analytic" else self.tune(source, options)

    def tune(self, source, options):
        if not self.has("tune", "--time"):
            raise Missing("this neoc has no command tune")
        path = os.path.join(os.path.dirname(source), "tuned.jsonl")
        done = subprocess.run([self.neoc, "tune", source, *options, f"--time={self.tuned_s}s",
                               f"--records={path}"], capture_output=True, text=True,
                              timeout=self.tuned_s + TUNE_EXTRA_S)
        if done.returncode:
            raise Missing("neoc tune: " + last_line(done))
        return ["--records=" + path]
