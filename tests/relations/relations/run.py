"""One run of neoc: what it computes, or why it does not."""

import json
import os
import re
import signal
import subprocess
import tempfile
from typing import NamedTuple

_UNKNOWN = re.compile(r"has no input '([\w.]+)'|no size '([\w.]+)'|([\w.]+) is no run-time size|size '?([\w.]+)'? ")
_NEEDED = re.compile(r"needs ([\w.]+): give")


class Result(NamedTuple):
    kind: str  # computed; refused: the front end says why; failed: nothing but a bug explains it
    outputs: dict  # name -> (type, shape, values)
    why: str
    line: int = 0  # of the text, at which the front end refuses it


def _text(value):
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, bool):
        return "1" if value else "0"
    return repr(value)


def _shape(value):
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        value = value[0] if value else None
    return shape


def argument(name, value, shape):
    """How a value stands on the command line; empty ones by their shape."""
    if 0 in shape:
        return f"{name}=zeros:[{','.join(map(str, shape))}]"
    return f"{name}={_text(value)}"


class Server:
    """neoc as a server of itself (server.c): one child for each run, of a process that is loaded already."""

    def __init__(self, neoc, library, folder, environment, seconds):
        self.files = [os.path.join(folder, n) for n in ("stdout", "stderr")]
        environment = dict(environment, LD_PRELOAD=library, RELATIONS_STDOUT=self.files[0], NEOC_NO_GUARD="1",
                           RELATIONS_STDERR=self.files[1], RELATIONS_SECONDS=str(seconds))
        self.process = subprocess.Popen([neoc], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __call__(self, command):
        """As subprocess.run: what it printed and how it ended; a bug's signal counts as neoc's own exit for one."""
        self.process.stdin.write(("\n".join([str(len(command)), *command]) + "\n").encode())
        self.process.stdin.flush()
        how, number = self.process.stdout.readline().split()
        out, said = map(_content, self.files)
        code = int(number)
        if how == b"signal":
            code = TOO_LONG if code in (signal.SIGALRM, signal.SIGPROF) else _INTERNAL
        return subprocess.CompletedProcess(command, code, out, said)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


_INTERNAL, TOO_LONG = 70, -1


def _content(path):
    with open(path, "rb") as file:
        return file.read()


class Runner:
    """Runs programs in a folder of its own; with `library`, that of server.c, by a server."""

    def __init__(self, neoc, library=None, seconds=60):
        self.neoc, self.seconds = neoc, seconds
        self.folder = tempfile.mkdtemp(prefix="relations-")
        self.runs = 0
        self.absent = set()  # what programs of late did not read, so that most are compiled once
        self.environment = dict(os.environ, TMPDIR=self.folder, XDG_CACHE_HOME=self.folder)
        self.server = Server(neoc, library, self.folder, self.environment, seconds) if library else None

    def _execute(self, command):
        if self.server:
            return self.server(command)
        try:
            return subprocess.run(command, capture_output=True, timeout=self.seconds, env=self.environment)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, TOO_LONG, b"", b"")

    def __call__(self, text, values, sizes, options=()):
        """`values`: name -> (nested list, shape)."""
        name = os.path.join(self.folder, "p.expr")
        with open(name, "w", encoding="utf-8") as file:
            file.write(text)
        given = {n: argument(n, v, shape) for n, (v, shape) in values.items()}
        given.update({f"size {n}": f"--size={n}={v}" for n, v in sizes.items()})
        # A size, a parameter or an input with a default would silently have another value.
        self.absent = {n for n in self.absent if re.search(rf"^input {re.escape(n)}\b[^=\n]*$", text, re.M)}
        for _ in range(2*len(given) + 1):
            self.runs += 1
            kept = [text for n, text in given.items() if n not in self.absent]
            done = self._execute([self.neoc, "run", "--format=json", name, *options, *kept])
            if done.returncode == TOO_LONG:
                return Result("failed", {}, "takes too long")
            if done.returncode == 4 and b"out of memory" in done.stderr:
                return Result("refused", {}, "memory")  # is planned at the bounds of sizes
            if done.returncode != 2:
                return _result(done)
            if not self._corrected(done.stderr.decode(errors="replace"), given):
                return Result("refused", {}, "usage: " + done.stderr.decode(errors="replace").split("\n")[0])
        return Result("refused", {}, "usage")

    def _corrected(self, said, given):
        """Whether an error about what was given, or was not, is new: then `absent` is right about it."""
        for pattern, found in ((_UNKNOWN, self.absent.add), (_NEEDED, self.absent.discard)):
            match = pattern.search(said)
            name = match and next(g for g in match.groups() if g)
            for n in (name, f"size {name}"):
                if match and n in given and (n in self.absent) == (pattern is _NEEDED):
                    found(n)
                    return True
        return False


def number(value):
    return {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}.get(value, value)


def _result(done):
    said = done.stderr.decode(errors="replace").strip()
    try:
        found = json.loads(done.stdout) if done.stdout.strip() else {}
    except ValueError:
        return Result("failed", {}, "no JSON")
    if done.returncode == 0:
        return Result("computed", {n: (o["type"], o["shape"], [number(v) for v in o["values"]])
                                   for n, o in found["outputs"].items()}, "")
    errors = [d for d in found.get("diagnostics", []) if d["severity"] == "error"]
    if done.returncode == 1 and errors and errors[0]["code"] != "E0000":
        return Result("refused", {}, errors[0]["code"], errors[0].get("line", 0))
    why = errors[0]["message"] if errors else said.split("\n")[0]
    return Result("failed", {}, f"exit {done.returncode}: {why}")
