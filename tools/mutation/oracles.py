"""Oracles that draw programs: each has programs by seeds, and says what is wrong with the compiler of a build."""
import os
import subprocess
import sys
import tempfile

LIMIT_S = 120


class Oracle:
    """name; seed(s, mutant, log): None, or what is wrong in a line; log gets the mutants that are reached."""

    def __init__(self, tree):
        self.tree, self.neoc = tree, os.path.join(tree.build, "bin", "neoc")
        self.random = os.path.join(tree.build, "tests", "test_pairs_random")

    def environment(self, folder, mutant, log):
        e = dict(os.environ, NEO_MUTANT=str(mutant), TMPDIR=folder, XDG_CACHE_HOME=folder)
        e.pop("NEO_MUTANT_LOG", None)
        if log:
            e["NEO_MUTANT_LOG"] = log
        return e

    def said(self, command, mutant, log):
        """Runs a command; returns its exit status and its output."""
        with tempfile.TemporaryDirectory(prefix="oracle") as folder:
            try:
                done = subprocess.run(command, env=self.environment(folder, mutant, log), capture_output=True, timeout=LIMIT_S,
                                      text=True, errors="replace")
            except subprocess.TimeoutExpired:
                return -1, "takes too long"
        return done.returncode, done.stdout + done.stderr


class Relations(Oracle):
    """Programs that are rewritten, tests/relations; or those of kinds of definitions that programs seldom have."""

    def __init__(self, tree, rare=False):
        super().__init__(tree)
        sys.path.insert(0, os.path.join(tree.source, "tests", "relations"))
        sys.dont_write_bytecode = True
        self.name, self.rare = "relations, rare" if rare else "relations", rare

    def seed(self, s, mutant, log):
        from relations.harness import RARE, Examiner
        e = Examiner(self.neoc, **(RARE if self.rare else {}))
        e.run.environment = self.environment(e.run.folder, mutant, log)
        try:
            _, findings = e.seed(s)
        finally:
            subprocess.run(["rm", "-rf", e.run.folder], check=False)
        return f"{findings[0].relation}: {findings[0].what}" if findings else None


class Facts(Oracle):
    """--check-facts: the module is compared before and after each pass, and with the kernels of its plan."""

    def program(self, s):
        raise NotImplementedError

    def seed(self, s, mutant, log):
        text = self.program(s)
        if not text:
            return None
        with tempfile.TemporaryDirectory(prefix="oracle") as folder:
            name = os.path.join(folder, "p.expr")
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
            status, said = self.said([self.neoc, "check", "--check-facts", name], mutant, log)
        lines = [x for x in said.split("\n") if "E0000" in x] or said.split("\n")
        return lines[0] if status not in (0, 1) or "E0000" in said else None


class RelationsFacts(Facts):
    """Checked facts of the programs that tests/relations draws."""
    name = "check-facts"

    def __init__(self, tree):
        super().__init__(tree)
        sys.path.insert(0, os.path.join(tree.source, "tests", "relations"))
        sys.dont_write_bytecode = True

    def program(self, s):
        from relations.draw import program
        p = program(s)
        return p.text if p else None


class PairsFacts(Facts):
    """Checked facts of the programs that tests/pairs draws."""

    def __init__(self, tree, kind):
        super().__init__(tree)
        self.kind = ["--" + kind] if kind else []
        self.name = f"check-facts, {kind or 'pairs'}"

    def program(self, s):
        done = subprocess.run([self.random, *self.kind, f"--print={s + 1}"], capture_output=True, text=True, check=True,
                              env=dict(os.environ, NEO_MUTANT="0"))
        return done.stdout


class Pairs(Oracle):
    """Machine code against the reference interpreter, and this against the evaluator: tests/pairs, tests/evaluator."""

    def __init__(self, tree, kind):
        super().__init__(tree)
        self.kind = ["--" + kind] if kind else []
        self.name = kind or "pairs"

    def seed(self, s, mutant, log):
        with tempfile.TemporaryDirectory(prefix="oracle") as folder:
            json = os.path.join(folder, "programs.json")
            status, said = self.said([self.random, *self.kind, f"--seeds={s + 1}..{s + 1}", f"--json={json}"], mutant, log)
            if status:
                lines = [x for x in said.split("\n") if x.strip()]
                return " ".join(lines[:2])
            status, said = self.said(["/usr/bin/python3", os.path.join(self.tree.source, "tests", "pairs", "evaluate.py"), json],
                                     mutant, None)
        lines = [x for x in said.split("\n") if x.strip()]
        return "evaluator: " + (lines[0] if lines else "fails") if status else None


def oracles(tree):
    kinds = ("", "recurrences", "vertices")
    return [RelationsFacts(tree), *(PairsFacts(tree, k) for k in (*kinds, "wide")), *(Pairs(tree, k) for k in kinds), Relations(tree),
            Relations(tree, rare=True)]
