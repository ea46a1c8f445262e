#!/usr/bin/python3
"""Programs of tests, manual, library and zoo, changed a little, give the same with all who compute them."""

import argparse
import os
import random
import resource
import sys

sys.dont_write_bytecode = True
_HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [_HERE, os.path.join(_HERE, "..", "relations")]

from mutated import corpus  # noqa: E402
from mutated.examine import Examiner  # noqa: E402


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--neoc", required=True)
    p.add_argument("--from", dest="folders", nargs="*", help="files or folders of the project", default=corpus.FOLDERS)
    p.add_argument("--only", default="", help="sources whose names have this part")
    p.add_argument("--seeds", default="0..1", help="mutants of each source")
    p.add_argument("--count", type=int, help="mutants in all")
    p.add_argument("--order", type=int, default=0, help="of sources: a seed")
    p.add_argument("--out", default="mutated-out")
    a = p.parse_args()
    sources = [s for s in corpus.sources(a.folders) if a.only in s.name]
    random.Random(a.order).shuffle(sources)
    low, high = map(int, a.seeds.split(".."))
    e, bad = Examiner(a.neoc), 0
    for s in sources:
        if a.count and e.tally["mutants"] >= a.count:
            break
        for seed in range(low, high):
            for f in e.mutant(s, seed):
                bad += f.kind not in ("slow", "unstable")
                print(f"{f.kind} {f.source} {f.seed}: {f.changes}: {f.peer} {f.options} {f.entry}: {f.what}", flush=True)
                os.makedirs(a.out, exist_ok=True)
                with open(os.path.join(a.out, f"{f.kind}-{f.source.replace('/', '-')}-{f.seed}.txt"), "w") as file:
                    file.write(f"# {f.changes} {f.peer} {f.options} {f.entry}: {f.what}\n# sizes {f.case.sizes}\n# values { {n: v.tolist() for n, v in f.case.values.items()} }\n{f.case.text}")
    print("\n".join(f"{n:8} {what}" for what, n in sorted(e.tally.items(), key=lambda x: -x[1])))
    used = [resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print("seconds", *[f"{u.ru_utime + u.ru_stime:.1f}" for u in used], f"runs {e.peers.runs} {e.related.run.runs}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
