#!/usr/bin/python3
"""Programs of tests, manual, library and zoo, changed a little, give the same with all who compute them."""

import argparse
import collections
import multiprocessing
import os
import random
import sys
import traceback

sys.dont_write_bytecode = True
_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [_HERE, os.path.join(_HERE, "..", "relations")]

from mutated import corpus, selftest  # noqa: E402
from mutated.examine import BAD, SHARE, Examiner  # noqa: E402
from mutated.shrink import shrink  # noqa: E402

TRIES = 10  # sources of a seed, until one has a mutant


def _start(arguments):
    global _arguments, _examiner, _sources
    _arguments = arguments
    _examiner = Examiner(arguments.neoc, arguments.server, dict(SHARE, compiled=arguments.compiled))
    _sources = [s for s in corpus.sources(arguments.folders) if arguments.only in s.name]


def _one(seed):
    """(seed, tally, lines, files that tell more, error) of the mutant of a seed."""
    _examiner.tally = collections.Counter()
    try:
        lines, files = [], []
        mutant = _drawn(seed)
        for f in mutant.findings if mutant else []:
            lines.append(f"{f.kind} {seed} {mutant.source}: {mutant.changes}: {f.peer} {f.options} {f.entry}: {f.what}")
        bad = next((f for f in mutant.findings if f.kind in BAD), None) if mutant else None
        if bad:
            files.append((f"{seed}-{os.path.basename(mutant.source).replace(':', '-')}.txt", report(seed, mutant, bad)))
        _examiner.peers.clean()
        return seed, _examiner.tally, lines, files, None
    except Exception:
        return seed, _examiner.tally, [], [], traceback.format_exc()


def _drawn(seed):
    r = random.Random(seed)
    for _ in range(TRIES):
        mutant = _examiner.mutant(r.choice(_sources), seed)
        if mutant:
            return mutant
    return None


def report(seed, mutant, f):
    """The smallest program that shows a finding, and where it comes from."""
    case, what = shrink(_examiner, mutant, f, _arguments.shrink) if _arguments.shrink else (mutant.case, f.what)
    values = {n: v.tolist() if hasattr(v, "tolist") else v for n, v in case.values.items()}
    drawn = "".join(f"# {line}\n" for line in mutant.case.text.splitlines())
    return (f"# seed {seed}, {f.kind}, {f.peer} {' '.join(f.options or [])} {f.entry}: {what}\n# sizes {case.sizes}\n"
            f"# values {values}\n{case.text}\n# ---- drawn from {mutant.source}: {mutant.changes}\n{drawn}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--neoc")
    p.add_argument("--server", help="the library made of tests/relations/server.c: runs cost a third")
    p.add_argument("--selftest", action="store_true", help="test the mutations, and that a planted fault is found")
    p.add_argument("--from", dest="folders", nargs="*", help="files or folders of the project", default=corpus.FOLDERS)
    p.add_argument("--only", default="", help="sources whose names have this part")
    p.add_argument("--seeds", default="0..100")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--compiled", type=float, default=SHARE["compiled"], help="of mutants that are run as machine code too")
    p.add_argument("--shrink", type=int, default=800, help="runs that shrinking a mutant may take")
    p.add_argument("--out", default="mutated-out")
    a = p.parse_args()
    if not a.neoc:
        p.error("--neoc is missing")
    if a.selftest:
        return selftest.run(a.neoc)
    low, high = map(int, a.seeds.split(".."))
    tally, bad = collections.Counter(), 0
    with multiprocessing.Pool(a.jobs, _start, (a,)) as pool:
        for seed, t, lines, files, error in pool.imap_unordered(_one, range(low, high), 4):
            tally.update(t)
            bad += len(files) + bool(error)
            print("\n".join([f"seed {seed}: {error}"] * bool(error) + lines), end="\n" * bool(error or lines), flush=True)
            for name, text in files:
                os.makedirs(a.out, exist_ok=True)
                with open(os.path.join(a.out, name), "w", encoding="utf-8") as file:
                    file.write(text)
    print("\n".join(f"{n:8} {what}" for what, n in sorted(tally.items(), key=lambda x: (-x[1], x[0]))))
    skipped = sum(n for what, n in tally.items() if what.startswith("skipped"))
    print(f"{tally['mutants']} mutants compared, {skipped} skipped, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
