#!/usr/bin/python3
"""Bad values of every option of every command, of inputs, and damaged files: each is refused with a message.

    main.py NEOC [PART]

PART: each PART-th of them alone.

The options are those that `neoc COMMAND --help` lists; an option whose form has no bad values here fails the test. A refusal has
an exit code from 1 to 4, a message that names what is wrong, and no internal error. The commands run without the bad value first,
and succeed.
"""

import concurrent.futures
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from values import BAD_ARRAYS, bad_values  # noqa: E402

MODEL = """dim 0 <= N <= 8
dim B <= 64
input x[N]
input k[N] : i32 < 5
input D[B, 3]
input Y[B] : i32 < 2
input t : i32 < 9 = 3
param W[3, 2] = normal(0, 0.1)
param lr = 0.5
state s[3] = 0.25
h[b, j] = sum[i] D[b, i]*W[i, j]
loss = mean[b] (h[b, 0]^2 + s[0]*f32(Y[b]))
y[i] = 2*x[i]*f32(k[i]) + f32(t) + lr
output forward: y
output scores: h, loss
"""
TRAINED = """import nn
import optim
dim B <= 64
input D[B, 3]
input Y[B] : i32 < 2
h = nn.linear(D, out = 2)
loss = nn.cross_entropy(h, Y)
train loss using optim.sgd(lr = 0.1)
output h
"""
ARRAYS = {"x": "[1,2]", "k": "[1,2]", "D": "[[1,2,3]]", "Y": "[1]"}


class Tester:
    def __init__(self, neoc):
        self.neoc = neoc
        self.jobs = []
        self.failures = []

    def options(self, command):
        """Pairs of an option with a value and the form of its value."""
        text = subprocess.run([self.neoc, command, "--help"], capture_output=True, text=True, check=True).stdout
        return re.findall(r"^ +(?:-\w, )?(--[\w-]+)=(\S+)", text, re.M)

    def commands(self):
        text = subprocess.run([self.neoc, "help"], capture_output=True, text=True, check=True).stdout
        return re.findall(r"^  ([a-z][a-z-]*)  ", text, re.M)

    def refused(self, what, arguments):
        self.jobs.append((what, arguments))

    def examine(self, job):
        what, arguments = job
        try:
            done = subprocess.run([self.neoc, *arguments], capture_output=True, text=True, errors="replace", timeout=120,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"{what}: still at work after 120 s"
        said = done.stdout + done.stderr
        if done.returncode == 0:
            return f"{what}: taken without a word"
        if done.returncode not in (1, 2, 3, 4) or "E0000" in said:
            return f"{what}: status {done.returncode}: {said[-300:]}"
        if not done.stderr.strip() and "error" not in done.stdout:
            return f"{what}: refused without a message"
        return None

    def run(self, jobs):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for failure in pool.map(self.examine, self.jobs):
                if failure:
                    self.failures.append(failure)


def write_files():
    for name, text in (("net.expr", MODEL), ("t.expr", TRAINED)):
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
    os.makedirs("folder", exist_ok=True)
    write_npy("D.npy", (4, 3), b"\0" * 48)
    write_npy("Y.npy", (4,), b"\0" * 16, "<i4")
    for name, data in (("empty", b""), ("binary", bytes(range(256)) * 4), ("text", b"neither this nor that\n")):
        with open(name, "wb") as file:
            file.write(data)


def write_npy(name, shape, data, kind="<f4"):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(name, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data)


def inputs(*names):
    return [f"{n}={ARRAYS[n]}" for n in names]


COMMANDS = {
    "check": ["net.expr"],
    "compile": ["net.expr", "-o", "out"],
    "run": ["net.expr", "--entry=forward", *inputs("x", "k")],
    "train": ["t.expr", "--data=D=D.npy,Y=Y.npy", "--batch=2", "--epochs=1"],
    "grad-check": ["t.expr", "--samples=1", "--interp"],
    "verify": ["t.expr"],
    "tune": ["t.expr", "--time=1s"],
    "explain": ["net.expr"],
    "describe": ["net.expr"],
    "fmt": ["--check", "ordered.expr"],
    "doc": ["ordered.expr"],
    "doctor": [],
    "new": ["fresh"],
}
ELSEWHERE = {"cache", "completion", "help", "version"}  # no model: tests/test_cli_usage.sh, test_cli_cache.sh
MADE = {"fresh": "other"}  # what a command makes once, and what it is asked for later


def ask_for_refusals(tester):
    for command, arguments in COMMANDS.items():
        for option, form in tester.options(command):
            for value in bad_values(command, option, form):
                kept = [MADE.get(a, a) for a in arguments if not a.startswith(option + "=")]
                tester.refused(f"{command} {option}={value}", [command, *kept, f"{option}={value}"])
        tester.refused(f"{command} --unknown", [command, *arguments, "--unknown"])
        if arguments:
            for name in ("missing.expr", "folder", "binary"):
                others = [a for a in arguments if not a.endswith(".expr")]
                tester.refused(f"{command} {name}", [command, name, *others])
    for name, value in BAD_ARRAYS:
        given = {n: ARRAYS[n] for n in ("x", "k")}
        extra = [f"{name}={value}"]
        others = [f"{n}={v}" for n, v in given.items() if n != name]
        entry = "--entry=scores" if name in ("D", "Y") else "--entry=forward"
        if entry == "--entry=scores":
            others = [f"{n}={ARRAYS[n]}" for n in ("D", "Y") if n != name]
        tester.refused(f"run {name}={value}", ["run", "net.expr", entry, *others, *extra])


def ask_about_damaged_files(tester, neoc):
    """Each prefix of some length, and each with a byte changed in its header, of what commands write and read."""
    subprocess.run([neoc, "train", *COMMANDS["train"], "--save=saved.safetensors", "-q"], check=True, capture_output=True)
    readers = {
        "D.npy": lambda f: ["run", "net.expr", "--entry=scores", f"D=@{f}", "Y=[0,0,0,0]"],
        "saved.safetensors": lambda f: ["run", "t.expr", f"--load={f}", "D=[[1,2,3]]"],
    }
    for name, reader in readers.items():
        with open(name, "rb") as file:
            data = file.read()
        for length in sorted({0, 1, 6, 7, 8, 10, 20, 40, len(data) // 2, len(data) - 5, len(data) - 1}):
            damaged = f"cut{length}-{name}"
            with open(damaged, "wb") as file:
                file.write(data[:length])
            tester.refused(f"{name} cut to {length} bytes", reader(damaged))


def main():
    tester = Tester(sys.argv[1])
    for command in sorted((set(COMMANDS) | ELSEWHERE) ^ set(tester.commands())):
        tester.failures.append(f"{command}: a command of `neoc help` or of COMMANDS alone")
    write_files()
    with open("ordered.expr", "w", encoding="utf-8") as file:
        file.write("input x[2]\ny = 2*x[0]\noutput y\n")
    for command, arguments in COMMANDS.items():
        done = subprocess.run([tester.neoc, command, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            tester.failures.append(f"{command} {' '.join(arguments)}: status {done.returncode}: {done.stderr[-300:]}")
    ask_for_refusals(tester)
    ask_about_damaged_files(tester, tester.neoc)
    part = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    tester.jobs = tester.jobs[::part]
    tester.run(2)
    for failure in tester.failures:
        print(failure)
    print(f"{len(tester.jobs)} bad inputs, {len(tester.failures)} not refused as they should be")
    return 1 if tester.failures else 0


if __name__ == "__main__":
    sys.exit(main())
