"""Measures a row: starts its sides, checks that they compute the same, lets them run in turn."""
import contextlib
import dataclasses
import filecmp
import json
import os
import statistics
import tempfile
import time

from measure import machine
from measure.build import HERE
from measure.process import Missing, Side, alternate
from peers.pythons import PYTHON
from report import stored
from rows.cpu import AGREE, CHANGE_AGREES, GROUPS

ROW_S = 90  # a row takes no more than this, but for its first and its least number of rounds
COLUMNS = {"default": "ratio", "tuned": "tuned", "analytic": "analytic"}  # variants of ours


def has_one(features):
    with open("/proc/cpuinfo") as f:
        return any(set(features) & set(line.split()) for line in f if line.startswith("flags"))


def same(here, there):
    return len(here) == len(there) and all(
        abs(a - b) <= AGREE * max(abs(a), abs(b), 1e-6) for a, b in zip(here, there))


def same_change(here, there):
    """Did a step do the same to the loss, but for roundings?"""
    a, b = (v[1] - v[0] for v in (here, there))
    return abs(a - b) <= CHANGE_AGREES * max(abs(a), abs(b)) + 1e-5 * abs(here[0])


def planned_bytes(told, entry):
    """Memory that calls of the entry need beside parameters, of what neoc says of a library."""
    frames = {e["name"]: e["frame_bytes"] for e in told["entries"]}
    return told["scratch_bytes"] + told["cached_bytes"] + frames.get(entry, 0)


class Bench:
    """`pythons`: interpreter of each of PYTHON, None where there is none."""

    def __init__(self, builder, pythons, rounds, clock, partly=lambda result: None):
        self.builder, self.pythons = builder, pythons
        self.rounds, self.clock = rounds, clock
        self.partly = partly  # told of a row that has more to come

    def identity(self):
        return self.builder.identity()

    # ---- sides

    def ours(self, row, variant, folder=None, default=None, name=None):
        """A side of ours; `default` itself where the variant is the same machine code."""
        if row.features and not has_one(row.features):
            raise Missing(f"this processor lacks {' and '.join(row.features)}")
        made = self.builder.library(row, variant)
        if default and filecmp.cmp(made["library"], default.library, shallow=False):
            return default
        command = self.command(row, made["library"])
        command += ["save=" + folder] if folder else []
        command += [f"{k}={v}" for k, v in row.settings.items()]
        side = Side(name or "ours " + variant, command, row.threads)
        side.library = made["library"]
        return side

    def command(self, row, library):
        return [self.builder.program("sides/ours"), library, "net", row.entries, str(row.threads)]

    def peer(self, row, name, folder, cold=False):
        first, _, variant = name.partition(" ")
        if first == "baseline":
            return self.ours(dataclasses.replace(row, options=row.baseline), "default", name=name)
        if first in PYTHON:
            return self.python(row, name, first, variant, folder, cold)
        command = [self.builder.program("peers/" + first), str(row.threads), *row.arguments[first]]
        return Side(name, command, row.threads)

    def python(self, row, name, first, variant, folder, cold):
        """Starts a side in Python. Its inductor's code is cached for the next run; `cold`:
        not, and it takes all processors, as its users' do."""
        python = self.pythons[first]
        if not python:
            raise Missing(f"{first} is not installed")
        spec = {**self.spec(row, first), "variant": variant or "jit", "folder": folder,
                "threads": row.threads}
        env = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(self.pythons["cache"], "inductor"),
               "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        if cold:
            # no blank in it: inductor hands it to a shell
            env = {"TORCHINDUCTOR_CACHE_DIR": os.path.join(folder, "cold")}
        else:
            env["JAX_COMPILATION_CACHE_DIR"] = os.path.join(self.pythons["cache"], "jax")
        command = [python, HERE, "peers." + row.side.format(PYTHON[first]), json.dumps(spec)]
        return Side(name, command, row.threads, env, all_cores=cold)

    def spec(self, row, first):
        """The description of the row for a program in Python."""
        return row.arguments[PYTHON[first]]

    # ---- rows

    def measure(self, row):
        """The row's result, in the form of the file of results."""
        must, must_tuned, stretch = GROUPS[row.group]
        result = stored.result(row, clock=self.clock, peer=None, ratio=None, tuned=None, analytic=None,
                               must=row.must or must, must_tuned=must_tuned, stretch=stretch,
                               starts_s={}, machine=machine.about(),
                               load=round(os.getloadavg()[0], 1),
                               versions={"ours": self.builder.version()})
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            getattr(self, "measure_" + row.what)(row, result, folder, stack)
        return result

    def start(self, result, stack, name, make):
        """A side; None where it is missing, which the result then says."""
        start = time.perf_counter()
        try:
            side = make()
        except Missing as why:
            result["missing"][name] = str(why)
            return None
        result["starts_s"][name] = round(time.perf_counter() - start, 1)
        if "version" in getattr(side, "about", {}):
            result.setdefault("versions", {})[name] = side.about["version"]
        if stack:
            stack.callback(side.close)
        return side

    def sides(self, row, result, folder, stack):
        """Our variants by their names, and the peers that compute the same as ours."""
        ours, peers = {}, []
        save = folder if any(name.split()[0] in PYTHON for name in row.peers) else None
        for variant in COLUMNS:
            if variant == "tuned" and not self.builder.tuned_s:
                continue
            side = self.start(result, stack, "ours " + variant,
                              lambda v=variant: self.ours(row, v, save, ours.get("default")))
            if side:
                ours[variant] = side
            if "default" not in ours:
                return {}, []
        for name in row.peers + row.by_hand:
            side = self.start(result, stack, name, lambda n=name: self.peer(row, n, folder))
            if side and self.agrees(side, ours["default"], result):
                peers.append(side)
        return ours, peers

    def agrees(self, side, ours, result):
        what = "losses" if "losses" in side.about else "outputs"
        if what not in side.about:
            return True
        here, there = ours.about[what], side.about[what]
        result.setdefault("agree", {})[side.name] = there
        result["agree"]["ours"] = here
        if same(here, there) and (what != "losses" or same_change(here, there)):
            return True
        result["missing"][side.name] = f"computes something else: {there}, not {here}"
        return False

    def median_us(self, side, result):
        result["times"][side.name] = stored.timed(side, self.clock)
        return result["times"][side.name]["median_us"]

    def measure_time(self, row, result, folder, stack):
        ours, peers = self.sides(row, result, folder, stack)
        if not ours:
            return
        bounds = [self.bandwidth(row, how, stack) for how in ("copy", "triad") if row.bytes]
        alternate([*dict.fromkeys(ours.values()), *peers, *bounds], self.rounds, ROW_S)
        us = {variant: self.median_us(side, result) for variant, side in ours.items()}
        if "tuned" in us:
            result["tuning"] = self.builder.library(row, "tuned")["tuning"]
        theirs = {side.name: self.median_us(side, result) for side in peers}
        if by_hand := {k: theirs.pop(k) for k in row.by_hand if k in theirs}:
            result["by_hand"] = {k: round(t / us["default"], 4) for k, t in by_hand.items()}
        if bounds:
            rate = max(side.about["bytes"] / self.median_us(side, result) for side in bounds)
            result["bandwidth"] = round(row.bytes / us["default"] / rate, 4)
            result["must_bandwidth"] = row.bandwidth
            result["bandwidth_gb_s"] = round(rate / 1e3, 2)
        if theirs:
            result["peer"] = min(theirs, key=theirs.get)
            best = theirs[result["peer"]]
            for variant, key in COLUMNS.items():
                if variant in us:
                    result[key] = round(best / us[variant], 4)

    def bandwidth(self, row, how, stack):
        command = [self.builder.program("sides/bandwidth"), how, str(row.threads)]
        side = Side("memory " + how, command, row.threads)
        stack.callback(side.close)
        return side

    def measure_compile(self, row, result, folder, stack):
        """Seconds of `neoc compile`; beside it, of the peers' first step."""
        side = self.start(result, stack, "ours default", lambda: self.ours(row, "default", folder))
        if not side:
            return
        made = self.builder.library(row, "default")
        result.update(limit_s=row.limit_s, stretch_s=row.stretch_s)
        result["seconds"] = round(made["cpu_s" if self.clock == "cpu" else "wall_s"], 3)
        result["times"]["ours default"] = {k: round(made[k], 3) for k in ("wall_s", "cpu_s")}
        self.partly(result)  # peers take minutes for their first step
        for name in row.peers:
            peer = self.start(result, stack, name,
                              lambda n=name: self.peer(row, n, folder, cold=True))
            if peer:
                result["times"][name] = dict(wall_s=round(peer.about["first_s"], 3))
                peer.close()
                self.partly(result)
        seconds = {k: t["wall_s"] for k, t in result["times"].items() if k != "ours default"}
        if seconds:
            result["peer"] = min(seconds, key=seconds.get)
            result["ratio"] = round(seconds[result["peer"]] / made["wall_s"], 4)

    def measure_rounds(self, row, result, folder, stack):
        """The ratio is few rounds over many: of an entry's memory beyond what must be kept, or of
        the seconds to compile, in turns."""
        key, repeats = ("memory_bytes", 1) if row.entries else ("cpu_s", self.rounds)
        found = {count: [] for count in row.rounds}
        for count in row.rounds * repeats:
            made = self.start(result, None, "ours default",
                              lambda n=count: self.builder.rounds(row, n, folder))
            if not made:
                return
            kept = count * row.kept_bytes
            found[count].append(planned_bytes(made["told"], row.entries) - kept
                                if row.entries else made["cpu_s"])
        few, many = (statistics.median(found[count]) for count in row.rounds)
        result["times"] = {f"{count} rounds": {key: statistics.median(v)}
                           for count, v in found.items()}
        result["ratio"] = round(few / many, 4)

    def measure_search(self, row, result, folder, stack):
        """The search replayed in a small space that is measured whole, as far as time allows."""
        found = self.start(result, None, "ours default", lambda: self.builder.survey(row, folder))
        if found:
            result.update(most=row.most, **found)

    def measure_memory(self, row, result, folder, stack):
        ours = self.start(result, stack, "ours default", lambda: self.ours(row, "default", folder))
        kb = {}
        for name in row.peers if ours else ():
            peer = self.start(result, stack, name, lambda n=name: self.peer(row, n, folder))
            if peer:
                kb[name] = peer.memory_kb()
                result["times"][name] = dict(memory_kb=kb[name])
        if not ours:
            return
        result["times"]["ours default"] = dict(memory_kb=ours.memory_kb())
        if kb:
            result["peer"] = min(kb, key=kb.get)
            result["ratio"] = round(kb[result["peer"]] / ours.memory_kb(), 4)
