"""An engine of neoc.trace that is the command neoc, for tests without the module _core."""
import os
import re
import subprocess
import tempfile

import numpy as np

from neoc.errors import CompileError, Diagnostic

NEOC = os.environ.get("NEOC", "neoc")
ERROR = re.compile(r"^(?:(\S+?):(\d+):(\d+): )?(error|warning)\[(\w+)\]: (.*)$", re.M)
count = 0


def _model(text):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "model.expr")
    with open(path, "w") as file:
        file.write(text)
    return folder, path


def _run(words, text):
    done = subprocess.run([NEOC, *words], capture_output=True, text=True)
    if done.returncode:
        lines = text.split("\n")
        found = [Diagnostic(m[4], m[5], m[6], m[1] and os.path.basename(m[1]),
                            lines[int(m[2]) - 1] if m[2] else None, int(m[2] or 0),
                            int(m[3] or 0)) for m in ERROR.finditer(done.stderr)]
        raise CompileError(done.stderr + "\n" + text, found)
    return done.stdout


def compiled(text, options):
    global count
    count += 1
    folder, path = _model(text)
    _run(["explain", path, "--after=front"], text)

    unread = set()

    def call(names, outputs):
        def run(values):
            words = []
            for name, value in zip(names, values):
                file = os.path.join(folder, name.replace(".", "_") + ".npy")
                np.save(file, value)
                words.append(f"{name}=@{file}")
            words = [w for w in words if w.split("=")[0] not in unread]
            out = os.path.join(folder, "out.npz")
            while True:
                try:
                    _run(["run", path, "-o", out, "--threads=1", *words], text)
                    break
                except CompileError as e:
                    found = re.search("does not read (.*)", str(e))
                    if not found:
                        raise
                    unread.add(found[1])
                    words = [w for w in words if w.split("=")[0] not in unread]
            found = np.load(out)
            return [found[n] for n in outputs]
        return run
    made = type("Compiled", (), {})()
    made.call = call
    return made


def front(text):
    _, path = _model(text)
    return _run(["explain", path, "--after=front"], text)
