"""tools/records: makes the file of shipped records of this machine's family of processors.

    tools/records [--time 20m] [--rows REGEX] [--mcpu CPU] [-o FILE] [--work FOLDER] [--again]
                  [--gain PERCENT] [--list]

Each model of the bench, at each of its sizes, is tuned by `neoc tune` for its share of the time,
without the records that are shipped so far. What it found is kept if a whole unit of work of the
model is then quicker than with the analytic model's schedules, the two alternating; of that, records
that gain less than PERCENT are left out. The models of the groups that come first in SHARES have
their turn first. FILE has at any time what was kept by then.

A run that was interrupted, or had too little time, is gone on with: models that had their turn are
not tuned again, unless --again asks for more. That holds for one build of the compiler; another one
begins anew.
"""
import argparse
import dataclasses
import filecmp
import hashlib
import json
import os
import platform
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time

from measure.build import ROOT, Builder, last_line
from measure.compare import build_folder
from measure.process import Missing, Side, alternate
from rows.cpu import Row, all_rows

SHARES = {  # of a model's time by its group, the most valuable first
    "residual networks": 80, "small networks": 50, "encoder": 40, "capsules": 30,
    "memory bound": 30, "cells": 15, "convolution": 15, "gemm f32": 8
}
STEP_GAIN = 1.02  # least ratio of a unit of work without records to one with them
LEAST_S = 2  # of tuning
ROUNDS, COMPARE_S = 7, 20  # of a comparison; fewer rounds, but 3, if they would take longer


def seconds_of(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not found:
        raise argparse.ArgumentTypeError(f"a duration as 90s, 20m or 1h, not '{text}'")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def options():
    o = argparse.ArgumentParser(prog="tools/records", description=__doc__.splitlines()[0])
    o.add_argument("--time", type=seconds_of, default=1200, help="of all, about (20m)")
    o.add_argument("--rows", metavar="REGEX", default="", help="only models of such rows of the "
                   "bench; what was kept of others stays")
    o.add_argument("--mcpu", metavar="CPU", help="for such processors, that this one can be")
    o.add_argument("-o", "--output", metavar="FILE", help="models/records/FAMILY.records")
    o.add_argument("--work", metavar="FOLDER", default=os.path.join(ROOT, "build", "records"),
                   help="for what is found on the way (build/records)")
    o.add_argument("--gain", type=int, metavar="PERCENT", default=4, help="of each record (4)")
    o.add_argument("--again", action="store_true", help="more time for what had its turn")
    o.add_argument("--list", action="store_true", help="print models and their time, tune nothing")
    return o.parse_args()


# ---- jobs


@dataclasses.dataclass
class Job:
    """A model at some sizes: the first of its rows, and the entries of all of them."""
    row: Row
    entries: list
    share: float


def jobs_of(rows, builder):
    """The jobs of the rows, in the order of SHARES."""
    found = {}
    for row in sorted((r for r in rows if r.group in SHARES),
                      key=lambda r: list(SHARES).index(r.group)):
        key = row.model, *row.flags()
        job = found.setdefault(key, Job(row, [], SHARES[row.group]))
        job.entries += [e for e in row.entries.split(",") if e not in job.entries]
    return list(found.values())


# ---- tuning


class Maker:
    def __init__(self, builder, work, mcpu, gain):
        self.builder, self.work, self.gain = builder, work, gain
        self.common = ["--mcpu=" + mcpu] if mcpu else []
        self.cache = os.path.join(builder.build, "bin", "neo-cache")

    def path(self, name):
        return os.path.join(self.work, name)

    def run(self, *command):
        """Its output. Interrupted if we are, and waited for."""
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            try:
                out, error = child.communicate()
            except KeyboardInterrupt:
                child.send_signal(signal.SIGINT)
                raise
        done = subprocess.CompletedProcess(command, child.returncode, out, error)
        if done.returncode:
            raise Missing(f"{os.path.basename(command[0])} {command[1]}: {last_line(done)}")
        return out

    def arguments(self, job):
        return [os.path.join(ROOT, job.row.model), *job.row.flags(), *self.common]

    def side(self, job, name, records):
        """Returns the path of the library that is compiled with these records."""
        out = self.path(name)
        self.run(self.builder.neoc, "compile", "-q", *self.arguments(job), "--prefix=net",
                 "--records=" + records, "-o", out)
        return os.path.join(out, "libnet.so")

    def start(self, job, name, library):
        command = [self.builder.program("sides/ours"), library, "net", ",".join(job.entries), "1"]
        return Side(name, command + [f"{k}={v}" for k, v in job.row.settings.items()], 1)

    def tune(self, job, seconds):
        told = self.run(self.builder.neoc, "tune", *self.arguments(job), f"--time={seconds:.0f}s",
                        "--records=none," + self.path("found"), "--log=" + self.path("trials"),
                        "--format=json")
        return json.loads(told)

    def worth(self):
        """Writes the records that gain enough to a file. Returns its path; None: none were found."""
        if not os.path.exists(self.path("found")):
            return None
        self.run(self.cache, "export", self.path("found"), f"--gain={self.gain}", "-o",
                 self.path("worth"))
        return self.path("worth")

    def ratio(self, job, without):
        """The ratio of times without records and with all found ones; None: no difference."""
        if not (worth := self.worth()):
            return None
        library = self.side(job, "with", "none," + worth)
        if filecmp.cmp(library, without.library, shallow=False):
            return None
        side = self.start(job, "with", library)
        try:
            alternate([without, side], ROUNDS, COMPARE_S)
        finally:
            side.close()
        return statistics.median(a / b for a, b in zip(without.cpu_us, side.cpu_us))

    def decide(self, ratio):
        """Keeps what was found, or forgets it: then nothing is taken from it for other models."""
        found, kept = self.path("found"), self.path("kept")
        if ratio and ratio >= STEP_GAIN:
            shutil.copyfile(self.path("worth"), kept + ".part")
            os.replace(kept + ".part", kept)
        elif os.path.exists(kept):
            shutil.copyfile(kept, found)
        elif os.path.exists(found):
            os.remove(found)

    @staticmethod
    def comparison_s(call_us):
        """About what comparing two libraries takes, with their calibration."""
        round_s = 2e-6 * max(call_us, 5000)
        return round_s * (1 + max(3, min(ROUNDS, int(COMPARE_S / round_s))))

    def measure(self, job, share):
        """Tunes a model within about `share` seconds."""
        start = time.monotonic()
        library = self.side(job, "without", "none")
        without = self.start(job, "without", library)
        without.library = library
        try:
            without.calibrate(5000)
            used = time.monotonic() - start  # about what the tuner and the other library take too
            rest = share - 3 * used - self.comparison_s(without.call_us)
            told = self.tune(job, max(LEAST_S, rest, share / 4))
            ratio = self.ratio(job, without)
        finally:
            without.close()
        self.decide(ratio)
        return dict(ratio=ratio and round(ratio, 4), covered=told["covered"],
                    trials=told["trials"], seconds=round(time.monotonic() - start, 1))

    def write(self, path):
        """The shipped file: what was kept."""
        kept = self.path("kept")
        if not os.path.exists(kept):
            return None
        told = json.loads(self.run(self.cache, "list", kept, "--format=json"))["records"]
        level = told[0]["target"].split()[0]
        name = level if level.startswith("x86") else f"{platform.machine()}-{level}"
        path = path or os.path.join(ROOT, "models", "records", name + ".records")
        self.run(self.cache, "export", kept, "-o", path + ".part")
        os.replace(path + ".part", path)
        return path, len(told)


# ---- all of them


def work_of(folder, builder, mcpu):
    """A folder for this build of the compiler."""
    with open(builder.neoc, "rb") as f:
        key = hashlib.sha256(f.read() + (mcpu or "").encode()).hexdigest()[:12]
    path = os.path.join(os.path.abspath(folder), key)
    os.makedirs(path, exist_ok=True)
    return path


def read_state(path):
    if not os.path.exists(path):
        return {}
    with open(path) as f:
        return json.load(f)


def write_state(path, state):
    with open(path + ".part", "w") as f:
        json.dump(state, f, indent=1)
    os.replace(path + ".part", path)


def said(result):
    if not result["ratio"]:
        text = "nothing that gains enough"
    else:
        text = f"{result['ratio']:.3f}" + ("" if result["ratio"] >= STEP_GAIN else ", not kept")
    return (f"{text}; {result['trials']} trials, {result['covered']:.0%} of the step, "
            f"{result['seconds']:.0f} s")


def make(o, maker, jobs):
    """A turn for each, with its share of the time that is left."""
    state_path, end = maker.path("state.json"), time.monotonic() + o.time
    state = {} if o.again else read_state(state_path)
    waiting = [job for job in jobs if job.row.name not in state]
    for k, job in enumerate(waiting):
        left = end - time.monotonic()
        if left < LEAST_S:
            print(f"no time for {len(waiting) - k} models: go on by the same command")
            return
        share = left * job.share / sum(j.share for j in waiting[k:])
        try:
            state[job.row.name] = maker.measure(job, share)
            print(f"{job.row.name:36}  {said(state[job.row.name])}", flush=True)
        except Missing as why:
            print(f"{job.row.name:36}  {why}", flush=True)
        write_state(state_path, state)


def main():
    o = options()
    builder = Builder(build_folder(), None, 0)
    jobs = jobs_of([r for r in all_rows() if re.search(o.rows, r.name)], builder)
    if not jobs:
        print("records: no row has such a name: see tools/bench cpu --list", file=sys.stderr)
        return 2
    if o.list:
        second = o.time / sum(job.share for job in jobs)
        for job in jobs:
            print(f"{job.share * second:5.0f} s {job.row.name:36} {','.join(job.entries)}")
        return 0
    builder.work = work_of(o.work, builder, o.mcpu)
    maker = Maker(builder, builder.work, o.mcpu, o.gain)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    code = 0
    try:
        make(o, maker, jobs)
    except KeyboardInterrupt:
        print("interrupted: go on by the same command", file=sys.stderr)
        code = 130
    wrote = maker.write(o.output)
    print(f"{wrote[0]}: {wrote[1]} records" if wrote else "nothing gains enough to be shipped")
    return code


sys.exit(main())
