#!/usr/bin/python3
"""Models of named integers: what the compiler derives about them, against exact integers.

Each model draws integer tensors, names them, and reads with them: as subscripts, in conditions, as bounds of ranges, as positions
of extrema. The values come from Python's integers, wrapped where the language wraps. Bounds are declared of some tensors, right
ones and wrong ones. The compiler may refuse a model, and must where a declared bound or a read without a guard is wrong; a model
that it takes gives the values that were computed here, interpreted and as machine code.

    main.py --neoc FILE --seeds 0..1000 [--compiled SHARE] [--jobs N] [--out FOLDER]

A model that differs is written to FOLDER, shrunk, with its arguments; the exit status is then 1.
"""

import argparse
import multiprocessing
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from indices.draw import draw  # noqa: E402
from indices.run import examine, shrink  # noqa: E402

_arguments = None


def _start(arguments):
    global _arguments
    _arguments = arguments


def _one(seed):
    model = draw(seed)
    compiled = seed % 100 < 100 * _arguments.compiled
    found = examine(_arguments.neoc, model, compiled)
    if found.differs:
        model = shrink(_arguments.neoc, model, found, compiled)
        found = examine(_arguments.neoc, model, compiled)
    return seed, found, model.text(), model.arguments()


def _seeds(text):
    first, _, end = text.partition("..")
    return range(int(first), int(end) if end else int(first) + 1)


def _write(folder, seed, found, text, arguments):
    os.makedirs(folder, exist_ok=True)
    name = os.path.join(folder, f"{seed}.expr")
    with open(name, "w", encoding="utf-8") as file:
        file.write(f"# {found.what}\n# run {' '.join(arguments)}\n{text}")
    return name


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neoc", required=True)
    parser.add_argument("--seeds", type=_seeds, required=True, metavar="A..B")
    parser.add_argument("--compiled", type=float, default=0.2, metavar="SHARE", help="of the models, as machine code too")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", default=".", metavar="FOLDER")
    arguments = parser.parse_args()
    counts = {"equal": 0, "refused": 0, "differs": 0}
    refusals = {}
    with multiprocessing.Pool(arguments.jobs, _start, (arguments,)) as pool:
        for seed, found, text, given in pool.imap_unordered(_one, arguments.seeds, chunksize=8):
            counts[found.verdict] += 1
            if found.code:
                refusals[found.code] = refusals.get(found.code, 0) + 1
            if found.differs:
                print(f"seed {seed}: {found.what}: {_write(arguments.out, seed, found, text, given)}", flush=True)
    print(", ".join(f"{n} {what}" for what, n in counts.items()))
    print("refused with " + ", ".join(f"{code} {n}" for code, n in sorted(refusals.items())))
    if counts["equal"] < counts["refused"]:
        print("most models are refused: the generator draws too little that is right")
        return 1
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())
