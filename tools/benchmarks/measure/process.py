"""The sides of a comparison: processes that answer as sides/serve.h says.

A side that waits is stopped (SIGSTOP), so that no pool of threads spins while another is timed. All
run on the same processors, as many as there are threads.
"""
import contextlib
import ctypes
import json
import os
import re
import select
import signal
import subprocess
import tempfile

PRCTL, PR_SET_PDEATHSIG = ctypes.CDLL(None).prctl, 1
ANSWER_S = 1800  # the first compiled step of a large network takes minutes


class Missing(Exception):
    """Why a side cannot be measured here; the row says so and is not counted."""


class TooLong(Missing):
    """A side did not answer within its limit."""


def run(command, **more):
    """Returns the output of a command; raises Missing with the first line of its error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        first = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
        raise Missing(f"{os.path.basename(command[0])} {command[1]}: {first}")
    return done.stdout


def processors(threads):
    """The processors that all sides run on."""
    allowed = sorted(os.sched_getaffinity(0))
    if len(allowed) < threads:
        raise Missing(f"this machine has no {threads} processors")
    return set(allowed[-threads:])


def begin(cores):
    """In the new process: on these processors; it ends with the bench, however that ends. What it
    starts is of its group, which is killed as one."""
    os.setsid()
    os.sched_setaffinity(0, cores)
    PRCTL(PR_SET_PDEATHSIG, signal.SIGKILL)


class Side:
    """A process that runs one thing; `about` is what it says of itself when it can run."""

    def __init__(self, name, command, threads, env=None, folder=None, all_cores=False,
                 limit_s=ANSWER_S):
        self.name, self.threads, self.limit_s = name, threads, limit_s
        self.times_us, self.cpu_us = [], []
        self.errors = tempfile.TemporaryFile()
        cores = os.sched_getaffinity(0) if all_cores else processors(threads)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=folder,
            env={**os.environ, "OMP_NUM_THREADS": str(threads), **(env or {})},
            preexec_fn=lambda: begin(cores))
        self.rest = b""
        word, _, text = self.line().partition(" ")
        if word != "ready":
            self.close()
            raise Missing(text)
        self.about = json.loads(text)
        self.pause()

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def why(self):
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        named = [line for line in lines if re.match(r"[\w.]+(Error|Exception): .", line)]
        return (named or lines or [f"exit code {self.process.wait()}"])[-1]

    def line(self):
        """The next line of its answer."""
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], self.limit_s)[0]:
                self.close()
                raise TooLong(f"{self.name}: no answer in {self.limit_s:.0f} s, and was killed")
            got = os.read(self.process.stdout.fileno(), 65536)
            if not got:
                raise Missing(f"{self.name}: {self.why()}")
            self.rest += got
        line, _, self.rest = self.rest.partition(b"\n")
        return line.decode()

    def ask(self, text):
        """Lets it run until it has answered."""
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(text.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Missing(f"{self.name}: {self.why()}") from None
        answer = self.line().split()[1:]
        self.pause()
        return [float(v) for v in answer]

    def calibrate(self, least_us):
        """As many calls as make `least_us`, so that the clock does not count."""
        self.calls, took = 1, self.ask("run 1")[0]
        while took < least_us and self.calls < 1 << 20:
            self.calls *= 2
            took = self.ask(f"run {self.calls}")[0]
        self.call_us = took / self.calls
        return took

    def time(self):
        wall, cpu = self.ask(f"run {self.calls}")
        self.times_us.append(wall / self.calls)
        self.cpu_us.append(cpu / self.calls)

    def memory_kb(self):
        return int(self.ask("memory")[0])

    def close(self):
        """May be called again."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.errors.close()


def alternate(sides, rounds, budget_s):
    """Times all sides in turn; fewer rounds, but 3, where they would take longer than budget_s."""
    round_us = sum(side.calibrate(5000) for side in sides)
    if rounds > 3:
        rounds = max(3, min(rounds, int(budget_s * 1e6 / round_us)))
    for _ in range(rounds):
        for side in sides:
            side.time()
