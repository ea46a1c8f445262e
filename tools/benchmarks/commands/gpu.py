"""tools/bench gpu: what neo's code must reach on a GPU, each row beside its peers.

    tools/bench gpu --prepare FILE.pyz [--target nvptx:sm_90a] [--rows REGEX] [--tune REGEX]
    python3 FILE.pyz --json results.json [--resume]
    tools/bench gpu --import results.json.tune --records FILE
    tools/bench gpu --static [FILE.md] [--rows REGEX] [--json FILE]
    tools/bench gpu --show --json results.json      tools/bench gpu --list

The first compiles all that the rows need, where neoc is, into one file. The second measures them
where the GPU is, which needs that file, libcuda and Python, with torch and jax as peers; its --help
says more. The third makes records of what candidates took there (--tune). --static says what the
kernels are made of and what bounds them, without a GPU. --check: a few rows of sizes for an emulated
GPU.
"""
import argparse
import os
import re
import sys

from gpu import prepare, static
from measure.compare import build_folder
from measure.process import Missing, run
from report import gpu as gpu_report
from report import stored
from rows import gpu as gpu_rows


def options():
    o = argparse.ArgumentParser(prog="tools/bench gpu", description=__doc__.splitlines()[0],
                                epilog=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    o.add_argument("--prepare", metavar="FILE")
    o.add_argument("--import", metavar="FOLDER", dest="folder")
    o.add_argument("--records", metavar="FILE", default="user")
    o.add_argument("--target", default="nvptx:sm_90a")
    o.add_argument("--rows", metavar="REGEX", default="")
    o.add_argument("--tune", metavar="REGEX", default="")
    o.add_argument("--candidates", metavar="N", type=int, default=16)
    o.add_argument("--json", metavar="FILE")
    o.add_argument("--static", nargs="?", const="-", metavar="FILE.md")
    for name in ("check", "list", "show"):
        o.add_argument("--" + name, action="store_true")
    return o.parse_args()


def import_records(o, rows, build):
    """Folders of candidates that were measured, named for their rows."""
    p, failed = prepare.Preparation(build, "", o.target), 0
    records = [] if o.records == "user" else ["--records=" + o.records]
    for row in rows:
        folder = os.path.join(o.folder, row.folder())
        if os.path.exists(os.path.join(folder, "results")):
            try:
                target = prepare.target_of(row, o.target)
                text = run([p.neoc, "tune", *p.options(row), "--target=" + target,
                            "--import=" + folder, *records])
                print(f"{row.name}: {(text.strip().splitlines() or ['nothing'])[-1]}")
            except Missing as why:
                failed = 1
                print(f"{row.name}: {why}")
    return failed


def main():
    o = options()
    build = build_folder()
    rows = [row for row in gpu_rows.all_rows(o.check) if re.search(o.rows, row.name)]
    if o.list:
        print("\n".join(f"{row.part} {row.name}" for row in rows))
    elif o.show and o.json:
        print(gpu_report.table(stored.read(o.json)))
    elif o.static:
        return static.main(o, rows, build)
    elif o.folder:
        return import_records(o, rows, build)
    elif o.prepare and rows:
        return prepare.prepare(o, rows, build)
    else:
        print("bench: --prepare FILE with rows that exist, --import FOLDER, --show --json FILE, or "
              "--list: see --help", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
