"""One build that holds all mutants: a copy of the tree whose chosen stretches ask neo_mutant(N),
which is true where the environment has NEO_MUTANT=N."""
import json
import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import sites

# Weak, so that they may stand in every file. The first is its first line and includes nothing, as
# the file may say what it wants of the C library; the second is its last.
FIRST = r"""#ifndef NEO_MUTANT_FIRST
#define NEO_MUTANT_FIRST
int neo_mutant_now __attribute__((weak, visibility("hidden"))) = -1;
const char *neo_mutant_log __attribute__((weak, visibility("hidden")));
void neo_mutant_reach(int n);
static inline int neo_mutant(int n) {
  if (__builtin_expect(neo_mutant_now < 0 || neo_mutant_log, 0))
    neo_mutant_reach(n);
  return __builtin_expect(neo_mutant_now == n, 0);
}
static inline int neo_mutant_is(int n) {
  if (__builtin_expect(neo_mutant_now < 0, 0))
    neo_mutant_reach(0);
  return __builtin_expect(neo_mutant_now == n, 0);
}
static inline void neo_mutant_sees(int n, int differs) {
  if (__builtin_expect(neo_mutant_log != 0, 0) && differs)
    neo_mutant_reach(n);
}
static inline _Bool neo_mutant_holds(int n, _Bool old, _Bool other) {
  neo_mutant_sees(n, old != other);
  return old;
}
#endif
"""

# A mutant that is reached is told once a process. Not by unistd.h, whose names, such as read, files
# have for functions of their own.
LAST = r"""#ifndef NEO_MUTANT_LAST
#define NEO_MUTANT_LAST
#include <stdio.h>
#include <stdlib.h>
enum { NEO_MUTANT_MOST = 1 << 14 };
unsigned char neo_mutant_seen[NEO_MUTANT_MOST] __attribute__((weak, visibility("hidden")));
__attribute__((weak, visibility("hidden"), noinline)) void neo_mutant_reach(int n) {
  if (neo_mutant_now < 0) {
    const char *now = getenv("NEO_MUTANT");
    neo_mutant_log = getenv("NEO_MUTANT_LOG");
    neo_mutant_now = now ? atoi(now) : 0;
  }
  if (!neo_mutant_log || n >= NEO_MUTANT_MOST || neo_mutant_seen[n])
    return;
  neo_mutant_seen[n] = 1;
  FILE *f = fopen(neo_mutant_log, "a");
  if (f) {
    fprintf(f, "%05d\n", n);
    fclose(f);
  }
}
#endif
"""

# The order in which the operators take turns.
TURNS = ("relation", "constant", "condition", "logic", "dropped", "relation", "arithmetic",
         "constant", "body", "word", "arguments")
SPARE = 4  # candidates to a mutant, as some do not compile


def write_new(path, data):
    """Writes a file only if its content changes, so that nothing else is rebuilt."""
    try:
        with open(path, "rb") as f:
            if f.read() == data:
                return
    except OSError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)


def tree_files(source):
    """The paths of the sources, relative to the folder."""
    listed = subprocess.run(["git", "-C", source, "ls-files", "-co", "--exclude-standard"],
                            capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return [p for p in listed.stdout.splitlines() if os.path.isfile(os.path.join(source, p))]
    found = []
    for folder, folders, files in os.walk(source):
        folders[:] = [d for d in folders if d not in ("build", ".git")]
        found += [os.path.relpath(os.path.join(folder, f), source) for f in files]
    return sorted(found)


def is_in(path, folder):
    return path == folder or path.startswith(folder.rstrip("/") + "/")


class Tree:
    """source: where the program is; work: the folder for the copy and its build."""

    def __init__(self, source, work, cmake, jobs):
        self.source, self.work, self.jobs = os.path.abspath(source), os.path.abspath(work), jobs
        self.copy = os.path.join(self.work, "tree")
        self.build = os.path.join(self.copy, "build", "release")
        self.headers = [os.path.join(self.work, f"neo_mutant_{n}.h") for n in ("first", "last")]
        self.cmake = cmake
        self.files = tree_files(self.source)
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            with open(os.path.join(self.source, path), encoding="utf-8") as f:
                self.texts[path] = f.read()
        return self.texts[path]

    def candidates(self, folders):
        """{folder: mutants} of the C files below each folder, which may be a file."""
        paths = {d: [p for p in self.files if p.endswith(".c") and is_in(p, d)] for d in folders}
        names = set()
        for p in self.files:
            if p.endswith((".c", ".h", ".def")):
                names |= sites.identifiers(self.text(p))
        return {d: [m for p in paths[d] for m in sites.mutants_of(p, self.text(p), names)]
                for d in folders}

    def sync(self, mutants):
        """Writes these mutants into the copy."""
        by_file = {}
        for m in mutants:
            by_file.setdefault(m.file, []).append(m)
        for path, text in zip(self.headers, (FIRST, LAST)):
            write_new(path, text.encode())
        for p in self.files:
            if p in by_file:
                data = schemata(self.text(p), by_file[p], self.headers).encode()
            else:
                with open(os.path.join(self.source, p), "rb") as f:
                    data = f.read()
            write_new(os.path.join(self.copy, p), data)
            shutil.copymode(os.path.join(self.source, p), os.path.join(self.copy, p))
        self.remove_others()

    def remove_others(self):
        kept = set(self.files)
        for folder, folders, files in os.walk(self.copy):
            if folder == self.copy and "build" in folders:
                folders.remove("build")
            for f in files:
                path = os.path.join(folder, f)
                if os.path.relpath(path, self.copy) not in kept:
                    os.remove(path)

    def configure(self):
        command = ["cmake", "-S", self.copy, "-B", self.build, "-DCMAKE_C_FLAGS=-w",
                   "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON"]
        if not os.path.exists(os.path.join(self.build, "CMakeCache.txt")):
            command += ["-G", "Ninja"] if shutil.which("ninja") else []
            command += ["-DCMAKE_BUILD_TYPE=Release"]
        run(command + self.cmake, "configure.log", self.work)

    def make(self, targets=()):
        some = ["--target", *targets] if targets else []
        run(["cmake", "--build", self.build, "-j", str(self.jobs), *some], "build.log", self.work)

    def broken_lines(self, paths):
        """{file: the lines that the compiler refuses}"""
        with open(os.path.join(self.build, "compile_commands.json"), encoding="utf-8") as f:
            commands = {os.path.relpath(c["file"], self.copy): c for c in json.load(f)}
        with ThreadPoolExecutor(self.jobs) as pool:
            found = pool.map(lambda p: errors_of(commands.get(p)), paths)
            return dict(zip(paths, found))


def errors_of(command):
    """Lines with errors; None: the file is not built here. A size of an array that has become
    variable is one."""
    if command is None:
        return None
    words = [w for w in shlex.split(command["command"]) if not re.match(r"-W|-w$", w)]
    if "-o" in words:
        del words[words.index("-o"):words.index("-o") + 2]
    if "ccache" in words[0]:
        del words[0]
    words += ["-fsyntax-only", "-Werror=vla", "-Werror=incompatible-pointer-types",
              "-Werror=int-conversion"]
    done = subprocess.run(words, cwd=command["directory"], capture_output=True, text=True)
    file = re.escape(os.path.basename(command["file"]))
    lines = set(int(n) for n in re.findall(rf"{file}:(\d+):\d+: error", done.stderr))
    return lines if lines or not done.returncode else None


def schemata(text, mutants, headers):
    """The text with all mutants inserted; lines keep their numbers."""
    out, at = [f'#include "{headers[0]}"\n#line 1\n'], 0
    for m in sorted(mutants, key=lambda m: m.start):
        new = m.text()
        out += [text[at:m.start], new.replace("\n", " ")]
        out += ["\n" * m.old.count("\n")]
        at = m.end
    return "".join(out) + text[at:] + f'\n#include "{headers[1]}"\n'


def run(command, log, work):
    path = os.path.join(work, log)
    with open(path, "w", encoding="utf-8") as f:
        if subprocess.run(command, stdout=f, stderr=subprocess.STDOUT).returncode:
            raise SystemExit(f"mutants: {' '.join(command[:3])} failed: see {path}")


def in_turn(mutants, seed):
    """Orders mutants by the seed; the operators take turns."""
    queues = {}
    for m in sorted(mutants, key=lambda m: m.rank(seed), reverse=True):
        queues.setdefault(m.operator, []).append(m)
    order = []
    while any(queues.values()):
        for operator in TURNS:
            if queues.get(operator):
                order.append(queues[operator].pop())
    return order


def apart(order, most):
    """The first mutants that do not overlap."""
    taken, spans = [], {}
    for m in order:
        if len(taken) == most:
            break
        if all(m.end <= start or end <= m.start for start, end in spans.get(m.file, ())):
            spans.setdefault(m.file, []).append((m.start, m.end))
            taken.append(m)
    return taken


def choose(tree, folders, seed, count):
    """The mutants chosen by the seed, the same number in each folder; all of them compile."""
    offered = tree.candidates(folders)
    empty = [d for d in folders if not offered[d]]
    if empty:
        raise SystemExit(f"mutants: nothing to break in {', '.join(empty)}")
    orders = {d: in_turn(offered[d], seed) for d in folders}
    share = {d: count // len(folders) + (k < count % len(folders)) for k, d in enumerate(folders)}
    tree.sync([])
    tree.configure()
    tried = {d: apart(orders[d], SPARE * share[d]) for d in folders}
    chosen = []
    for d in folders:
        chosen += compiling(tree, tried[d])[:share[d]]
    for n, m in enumerate(chosen, 1):
        m.id = n
    return chosen


def compiling(tree, mutants):
    """The mutants that compile, in the given order."""
    while True:
        tree.sync(mutants)
        files = sorted(set(m.file for m in mutants))
        broken = tree.broken_lines(files)
        bad = lambda m: broken[m.file] is None or any(
            m.line <= n <= m.line + m.old.count("\n") for n in broken[m.file])
        kept = [m for m in mutants if not bad(m)]
        if len(kept) == len(mutants):  # an error that lies elsewhere takes its file's mutants along
            kept = [m for m in mutants if broken[m.file] == set()]
            if len(kept) == len(mutants):
                return kept
        mutants = kept
