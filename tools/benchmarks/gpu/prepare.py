"""`tools/bench gpu --prepare`: where neoc is, everything that the rows need becomes one file.

The file is a program for Python: unpack.py and an archive, with the layout of this tree,

    rows.json               the rows, their order, what could not be prepared
    libneort.so.0           for all rows' libraries
    ours_gpu, neo-measure   built here
    rows/ROW/libnet.so      kernels as PTX and machine code
    rows/ROW/values         what a processor's library computes, sampled
    tune/ROW/               candidates of `neoc tune --emit`
    tools/ tests/ models/   our programs in Python, and what the peers' sides read
"""
import contextlib
import dataclasses
import glob
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

from gpu.values import checking
from measure.build import HERE, ROOT
from measure.process import Missing, run

MOST_BYTES = 25 << 20  # what travels to a machine that has nothing
SOURCES = ("ours_gpu.c", "gpu_side.c", "gpu_values.c", "gpu_reference.c", "gpu_samples.c")
TRAVEL = ("tools/benchmarks/**/*.py", "tests/oracle/*.py", "models/zoo/*.expr")
TUNE_S = 600  # to make a row's candidates


def target_of(row, target):
    """The bench's target, at the row's level."""
    return re.sub(r"sm_\w+", row.level, target) if row.level else target


def read(path):
    with open(path, "rb") as f:
        return f.read()


def identity(build):
    """The hash of the compiler, the shipped records and models, and the programs that compute the values."""
    share, sha = os.path.join(build, "share", "neo"), hashlib.sha256()
    paths = [os.path.join(build, "bin", "neoc"), os.path.join(build, "lib", "libneort.so.0")]
    for pattern in ("records/*", "std/*.expr"):
        paths += sorted(glob.glob(os.path.join(share, pattern)))
    for pattern in ("models/zoo/*.expr", "tests/gpu/*.expr", "tools/benchmarks/models/*.expr",
                    "tools/benchmarks/sides/*gpu*.[ch]", "tools/benchmarks/sides/arrays.h"):
        paths += sorted(glob.glob(os.path.join(ROOT, pattern)))
    for path in paths:
        sha.update(read(path))
    return sha.hexdigest()


class Preparation:

    def __init__(self, build, folder, target):
        self.build, self.folder, self.target = build, folder, target
        self.neoc = os.path.join(build, "bin", "neoc")
        self.kept = os.path.join(build, "gpu-bench", target.replace(":", "-"))
        self.identity = identity(build)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def options(self, row):
        return [os.path.join(ROOT, row.model), *row.flags()]

    def programs(self):
        for name in ("libneort.so.0", "libneort.so"):
            shutil.copy(os.path.join(self.build, "lib", name), self.folder)
        shutil.copy(os.path.join(self.build, "bin", "neo-measure"), self.folder)
        run(["cc", "-O2", "-I.", "-Iinclude", "-o", self.path("ours_gpu"),
             *("tools/benchmarks/sides/" + name for name in SOURCES), "-L" + self.folder, "-lneort",
             "-ldl", "-lm", "-Wl,-rpath,$ORIGIN"], cwd=ROOT)
        os.remove(self.path("libneort.so"))  # for the linker alone
        for program in ("ours_gpu", "neo-measure", "libneort.so.0"):
            with contextlib.suppress(OSError, Missing):
                run(["strip", "--strip-unneeded", self.path(program)])
        for name in (name for pattern in TRAVEL for name in glob.glob(pattern, root_dir=ROOT, recursive=True)):
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), self.path(name))

    def compile(self, row, to, *more):
        run([self.neoc, "compile", "-q", *self.options(row), "--prefix=net", "--emit=so", *more,
             "-o", to])
        with os.scandir(to) as files:
            for file in files:
                if file.name != "libnet.so":
                    os.remove(file.path)

    def stamp(self, row):
        """The hash of everything that the row's library and values depend on."""
        told = json.dumps([self.identity, target_of(row, self.target), self.options(row), row.entries,
                           checking(row, ""), row.reference])
        return hashlib.sha256(told.encode()).hexdigest()

    def row(self, row):
        """Its library, and the values that it is to have; those of an earlier run, if nothing has
        changed."""
        kept, stamp = os.path.join(self.kept, row.folder()), self.stamp(row)
        made = os.path.join(kept, "stamp")
        if not os.path.exists(made) or json.loads(read(made))["stamp"] != stamp:
            shutil.rmtree(kept, ignore_errors=True)
            self.compile(row, kept, "--target=" + target_of(row, self.target))
            if not row.reference:
                self.values(row, kept)
            paths = self.paths(row) if row.makes_products() else ()
            with open(made, "w") as f:
                json.dump(dict(stamp=stamp, paths=paths), f)
        row.paths = tuple(json.loads(read(made))["paths"])
        shutil.copytree(kept, self.path("rows", row.folder()),
                        ignore=shutil.ignore_patterns("stamp"))

    def values(self, row, to):
        host = os.path.join(to, "host")
        self.compile(row, host)
        run([self.path("ours_gpu"), os.path.join(host, "libnet.so"), "net", row.entries,
             *checking(row, os.path.join(to, "values")), "quit=1"], stdin=subprocess.DEVNULL)
        shutil.rmtree(host)

    def paths(self, row):
        """How the row's products are made, by the schedules of its kernels."""
        target = target_of(row, self.target).removesuffix("+host")
        text = run([self.neoc, "explain", *self.options(row), "--target=" + target, "--schedule"])
        ways = {"products=1": "warps", "products=2": "warpgroups", "tma=1": "boxes",
                "producer=1": "producer", "persistent=1": "persistent"}
        found = [way for key, way in ways.items() if f" {key}" in text + " "]
        return tuple(found + (["stages"] if re.search(r" stages=[1-9]", text) else []))

    def candidates(self, row, most, seconds):
        """Writes candidates of the row's kernels for neo-measure."""
        os.makedirs(self.path("tune"), exist_ok=True)
        to = self.path("tune", row.folder())
        run([self.neoc, "tune", *self.options(row), "--target=" + target_of(row, self.target),
             "--emit=" + to, f"--candidates={most}", f"--time={seconds}s", "--log=none", "-q"])


def pack(folder, path):
    """The file: Python runs the zip, whose __main__ unpacks the tar."""
    tar = io.BytesIO()
    with lzma.open(tar, "wb", preset=9) as to, tarfile.open(fileobj=to, mode="w") as archive:
        for base, folders, files in os.walk(folder):
            folders.sort()
            for name in sorted(files):
                full = os.path.join(base, name)
                archive.add(full, os.path.relpath(full, folder))
    with open(path + ".part", "wb") as f:
        f.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as z:
            z.write(os.path.join(HERE, "gpu", "unpack.py"), "__main__.py")
            z.writestr("bench.tar.xz", tar.getvalue())
    os.replace(path + ".part", path)
    return os.path.getsize(path)


def attempt(name, missing, work):
    start = time.perf_counter()
    try:
        work()
        print(f"{name}: {time.perf_counter() - start:.1f} s", flush=True)
    except Missing as why:
        missing[name] = str(why)
        print(f"{name}: {why}", flush=True)


def prepare(o, rows, build):
    """Rows that cannot be prepared say why in the results."""
    with tempfile.TemporaryDirectory() as folder:
        p, missing, tune = Preparation(build, folder, o.target), {}, []
        p.programs()
        for row in rows:
            attempt(row.name, missing, lambda: p.row(row))
        for row in rows:
            if o.tune and re.search(o.tune, row.name) and row.name not in missing:
                failed = {}
                attempt("candidates of " + row.name, failed,
                        lambda: p.candidates(row, o.candidates, TUNE_S))
                tune += [] if failed else [row.name]
        with open(p.path("rows.json"), "w") as f:
            json.dump(dict(target=o.target, missing=missing, tune=tune,
                           rows=[dataclasses.asdict(row) for row in rows]), f, indent=1)
        size = pack(folder, o.prepare)
    print(f"{o.prepare}: {size / 2**20:.1f} MiB, {len(rows) - len(missing)} rows"
          f"{f', {len(missing)} of them missing' if missing else ''}"
          f"{f', candidates of {len(tune)}' if tune else ''}")
    if size > MOST_BYTES:
        print(f"bench: {o.prepare} is larger than {MOST_BYTES >> 20} MiB: take fewer rows by --rows, "
              "or fewer candidates", file=sys.stderr)
        return 1
    return 0
