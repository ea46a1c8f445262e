"""Measures the rows of rows/asynchronous.py by sides/async.c: the network of a model in real time, in
virtual time on simulated devices, or the model's synchronous step.

Prices of virtual time are measured times of this machine's kernels on one thread, except in
the tables of tasks with --flops, which have the paper's prices of products (appendix C).
"""
import contextlib
import hashlib
import json
import os
import statistics
import subprocess

from measure.build import ROOT
from measure.process import Missing, Side, alternate, processors
from report import stored
from rows import asynchronous, data, instances

LIMIT_S = 3600


def options_of(more):
    return [f"{name}={value}" for name, value in more.items()]


def keys_text(keys):
    return f"{keys} key" + ("s" if keys > 1 else "")


class AsyncBench:
    """`settings`: options of sides/async.c for all runs in virtual time."""

    def __init__(self, builder, o, settings):
        self.builder, self.o, self.settings = builder, o, settings
        self.made = {}

    # ---- what sides need

    def library(self, task):
        if task not in self.made:
            t = asynchronous.TASKS[task]
            folder = os.path.join(self.builder.work, task)
            defines = ()
            if task == "sentiment":
                defines = (f"--define=WORDS={data.sst_words()}",)
            self.made[task] = self.builder.compile(
                os.path.join(ROOT, t.model), [*t.compiled, *defines, "--network"], folder)["library"]
        return self.made[task]

    def files(self, task, options):
        """Files of the instances that are trained on and tested; "-": no tests."""
        key = hashlib.sha256(f"{task} {sorted(options.items())}".encode()).hexdigest()[:12]
        train, test = (os.path.join(self.builder.work, f"{key}.{part}") for part in ("train", "test"))
        if not os.path.exists(train):
            instances.make(task, options, train, test)
        return train, test if os.path.exists(test) else "-"

    def command(self, row, **more):
        task = asynchronous.TASKS[row.task]
        return [self.builder.program("sides/async"), self.library(row.task), "net",
                *self.files(row.task, row.data), *options_of({"every": task.every, **more})]

    def prices(self, row):
        """The file of prices of the row's work, measured once with one key and no devices beside."""
        key = hashlib.sha256(f"{row.task} {sorted(row.data.items())}".encode()).hexdigest()[:12]
        file = os.path.join(self.builder.work, key + ".prices")
        if not os.path.exists(file):
            limit = asynchronous.TASKS[row.task].speed_instances
            self.run(row, keys=1, epochs=2, limit=limit, devices=1, calibrate=file)
        return file

    def virtual(self, row, **more):
        """The same as `run` in virtual time."""
        return self.run(row, **{"devices": 0, "prices": self.prices(row), **self.settings, **more})

    def run(self, row, threads=1, **more):
        """Returns what the side prints, a line of JSON each."""
        cores = processors(threads)
        done = subprocess.run(self.command(row, **more), capture_output=True, text=True,
                              timeout=LIMIT_S, preexec_fn=lambda: os.sched_setaffinity(0, cores))
        if done.returncode:
            raise Missing((done.stderr.strip().splitlines() or ["the side failed"])[-1])
        return [json.loads(line) for line in done.stdout.splitlines()]

    # ---- kinds of rows

    def per_second(self, row, keys, **more):
        """Virtual instances a second, and the last line of what the side told."""
        task = asynchronous.TASKS[row.task]
        limit = task.speed_instances
        told = self.virtual(row, keys=keys, epochs=2, limit=limit, **more)
        return limit * task.batch / told[-1]["virtual_s"], told[-1]

    def measure_keys(self, row):
        speed = {k: self.per_second(row, k) for k in row.keys}
        first, last = (speed[k][0] for k in (row.keys[0], row.keys[-1]))
        return dict(ratio=last / first, per_second={k: v[0] for k, v in speed.items()},
                    notes=[told_of(k, *v) for k, v in speed.items()])

    def measure_replicas(self, row):
        """Compares copies of the whole network, each with devices of its own; means after each epoch."""
        many, keys = row.options["replicas"], 4
        one, several = (self.per_second(row, keys, replicas=r)[0] for r in (1, many))
        return dict(ratio=several / one, notes=[f"1: {one:.0f}/s, {many}: {several:.0f}/s"])

    def alternated(self, row, first, second):
        """Median microseconds of an epoch of two runs that alternate."""
        with contextlib.ExitStack() as stack:
            sides = []
            for name, (threads, more) in (("ours", first), ("other", second)):
                command = self.command(row, serve=1, **more)
                side = Side(name, command, row.threads)
                stack.callback(side.close)
                sides.append(side)
            alternate(sides, self.o.rounds, 120)
            return [statistics.median(side.times_us) for side in sides], sides

    def measure_pair(self, row, ours, other, said):
        limit = asynchronous.TASKS[row.task].speed_instances
        (us, other_us), _ = self.alternated(row, (row.threads, dict(limit=limit, **ours)),
                                            (row.threads, dict(limit=limit, **other)))
        return dict(ratio=other_us / us, notes=[f"{us / limit:.1f} us an instance, {said} "
                                                f"{other_us / limit:.1f}"])

    def measure_step(self, row):
        return self.measure_pair(row, dict(keys=1), dict(keys=0), "the step")

    def measure_threads(self, row):
        return self.measure_pair(row, dict(keys=8, workers=2), dict(keys=1), "one key")

    def measure_whole(self, row):
        return self.measure_pair(row, dict(keys=8, workers=2), dict(keys=0, workers=2), "the step")

    def measure_predicted(self, row):
        limit = asynchronous.TASKS[row.task].speed_instances
        (us, _), _ = self.alternated(row, (2, dict(limit=limit, keys=8, workers=2)),
                                     (2, dict(limit=limit, keys=1)))
        told = self.virtual(row, keys=8, epochs=2, limit=limit, devices=2, any=1)
        predicted = 1e6 * told[-1]["virtual_s"]
        return dict(ratio=predicted / us, notes=[f"predicted {predicted / limit:.1f} us an instance, "
                                                 f"measured {us / limit:.1f}"])

    def measure_hop(self, row):
        """Measures what a chain on two threads, each node on the other one than its neighbours, takes more than
        on one thread, for each message between nodes."""
        count = asynchronous.TASKS[row.task].speed_instances
        (two, one), _ = self.alternated(row, (2, dict(limit=count, keys=1, workers=2, place=1)),
                                        (2, dict(limit=count, keys=1)))
        hops = count * asynchronous.HOPS
        return dict(ratio=(two - one) / hops, notes=[f"{two / count:.2f} us an instance on two threads, "
                                                     f"{one / count:.2f} on one"])

    def measure_choice(self, row):
        limit = asynchronous.TASKS[row.task].speed_instances
        told = self.virtual(row, choose=16, limit=limit)[-1]
        batch = asynchronous.TASKS[row.task].batch
        speed = ", ".join(f"{2**k}: {v * batch:.0f}/s" for k, v in enumerate(told["per_second"]))
        return dict(ratio=told["keys"], notes=[f"keys {speed}"])

    def measure_peer(self, row):
        python = self.o.torch
        if not python:
            raise Missing("torch is not installed: NEO_BENCH_TORCH names an interpreter")
        limit = asynchronous.TASKS[row.task].speed_instances * (100 // row.peer["batch"])
        (us, _), _ = self.alternated(row, (2, dict(limit=limit, keys=8, workers=2)),
                                     (2, dict(limit=limit, keys=1)))
        command = [python, "tools/benchmarks", "peers.async_torch", json.dumps(row.peer)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("{", "missing "))]
        if not lines or lines[-1].startswith("missing"):
            raise Missing((lines or done.stderr.strip().splitlines() or ["no answer"])[-1])
        theirs = json.loads(lines[-1])["images_s"]
        ours = 1e6 * limit * row.peer["batch"] / us
        return dict(ratio=ours / theirs, notes=[f"ours {ours:.0f}, theirs {theirs:.0f} images/s"])

    def measure_epochs(self, row):
        """The table of a task: throughput and figures by epoch, for each number of keys."""
        task, found = asynchronous.TASKS[row.task], {}
        epochs = self.o.epochs or task.epochs
        runs = [(f"{k}", k, 1) for k in row.keys]
        runs += [(f"4, {r} replicas", 4, r) for r in row.options.get("replicas", ())]
        if task.every == 1:
            found["step"] = figures(task, self.run(row, keys=0, epochs=epochs))
        for name, keys, replicas in runs:
            speed, told = self.per_second(row, keys, replicas=replicas)
            lines = self.virtual(row, keys=keys, epochs=epochs, replicas=replicas)
            found[name] = dict(figures(task, lines), per_second=speed,
                               staleness=max(told["staleness"]),
                               busiest=max(told["utilisation"]))
        return dict(ratio=None, table=found, notes=table_of(task, found))

    def measure(self, row):
        result = stored.result(row, ratio=None, notes=[])
        try:
            result.update(getattr(self, "measure_" + row.what)(row))
        except Missing as why:
            result["missing"]["ours"] = str(why)
        return result


# ---- figures


def told_of(keys, speed, told):
    return (f"{keys_text(keys)}: {speed:.0f}/s, staleness {max(told['staleness']):.1f}, busiest device "
            f"{max(told['utilisation']):.0%}")


def figures(task, lines):
    """Figures of each epoch: per cent of right answers, or the mean of what the tests say."""
    tests, epochs = lines[0]["tests"], lines[1:]
    if task.figure != "right":
        values = [e[task.figure] / tests for e in epochs]
    else:
        values = [100 * e["right"] / e.get("counted", tests * task.tested) for e in epochs]
    return dict(values=values, reached=next((k + 1 for k, v in enumerate(values)
                                             if task.target and v >= task.target), None))


def paper_of(task, name):
    return task.paper.get(int(name), "-") if name.isdecimal() else "-"


def table_of(task, found):
    lines = ["| keys | the paper /s | ours /s, virtual | staleness | busiest | epochs to "
             f"{task.target or '-'} | by epoch |", "|---|---|---|---|---|---|---|"]
    for keys, f in found.items():
        form = "{:.1f}" if task.figure == "right" else "{:.4f}"
        values = " ".join(form.format(v) for v in f["values"])
        lines.append(f"| {keys} | {paper_of(task, keys)} | " + (
            f"{f['per_second']:.0f} | {f['staleness']:.1f} | {f['busiest']:.0%}"
            if "per_second" in f else "- | - | -") + f" | {f['reached'] or '-'} | {values} |")
    return [*lines, f"the paper: {task.converged or 'nothing of epochs'}"]
