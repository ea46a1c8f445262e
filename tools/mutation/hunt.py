"""Which test finds which mutant. First every test runs once without one and tells which it
reaches; then each mutant meets the tests that reach it, the quickest first, until one fails.

What is known is kept in a file, so that a run goes on where it was stopped, and only new or
changed tests meet a mutant again."""
import json
import os
import re
import sys

from suite import SLACK_S

FIRST_LIMIT_S = 900


class Hunt:
    """mutants: what there is; known: {"tests": {name: coverage}, "missed": {id: {test: digest}},
    "found": {id: test}}."""

    def __init__(self, mutants, tests, path, memory_bytes):
        self.mutants, self.tests, self.path = mutants, tests, path
        self.memory_bytes = memory_bytes
        self.known = {"tests": {}, "missed": {}, "found": {}}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                self.known = json.load(f)

    def save(self):
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump(self.known, f)
        os.replace(self.path + ".new", self.path)

    def forget(self, regex):
        """Forgets the results of these tests, so that they run again on all mutants that are alive.
        """
        for name in [n for n in self.known["tests"] if re.search(regex, n)]:
            del self.known["tests"][name]
            for missed in self.known["missed"].values():
                missed.pop(name, None)

    def round(self, regex, longest_s):
        """Runs the tests with these names, except long ones, on all mutants that are still alive.
        """
        tests = [t for t in self.tests if re.search(regex, t.name)]
        for t in tests:
            self.cover(t)
        tests = [t for t in tests if self.covered(t)["passes"] and
                 self.covered(t)["seconds"] <= longest_s]
        tests.sort(key=lambda t: self.covered(t)["seconds"])
        for m in self.mutants:
            if str(m.id) not in self.known["found"]:
                self.meet(m, tests)

    def covered(self, test):
        return self.known["tests"].get(test.name)

    def cover(self, test):
        was = self.covered(test)
        if was and was["digest"] == test.digest:
            return
        log = self.path + ".log"
        open(log, "w", encoding="utf-8").close()
        passes, seconds = test.run(FIRST_LIMIT_S, 0, log=log)
        with open(log, encoding="utf-8") as f:
            reached = sorted(set(int(line) for line in f if line.strip()))
        if passes is False:
            print(f"mutants: {test.name} fails without a mutant and is left out", file=sys.stderr)
        self.known["tests"][test.name] = {"digest": test.digest, "passes": bool(passes),
                                          "seconds": seconds, "reached": reached}
        self.save()
        say(f"{test.name}: {seconds:.1f} s, reaches {len(reached)}")

    def meet(self, mutant, tests):
        missed = self.known["missed"].setdefault(str(mutant.id), {})
        for t in tests:
            covered = self.covered(t)
            if mutant.id not in covered["reached"] or missed.get(t.name) == t.digest:
                continue
            limit = 10 * covered["seconds"] + SLACK_S
            passes, _ = t.run(limit, self.memory_bytes, mutant.id)
            if passes is False:
                self.known["found"][str(mutant.id)] = t.name
                self.save()
                say(f"{mutant.id}: found by {t.name}")
                return
            missed[t.name] = t.digest
        self.save()
        say(f"{mutant.id}: alive in {mutant.file}: {mutant.function}: {mutant.says()}")

    def reached(self, mutant):
        """The names of the tests that reach the mutant."""
        return [n for n, c in self.known["tests"].items() if mutant.id in c["reached"]]

    def found(self, mutant):
        return self.known["found"].get(str(mutant.id))


def say(text):
    print(text, flush=True)
