"""tools/bench dynamic: networks over trees and sequences of any form, as vertex functions, beside peers.

    tools/bench dynamic [--json FILE] [--rows REGEX] [--threads N] [--rounds N] [--peers FOLDER]
                        [--clock wall|cpu] [--option OPTION]... [--serial OPTION]...
                        [--switch NAME=OPTION[ OPTION...]]... [--target nvptx:LEVEL]
                        [--resume] [--list] [--show]
    tools/bench dynamic --baseline BUILD [--all] ...              as of tools/bench cpu

A row is a ratio of medians, peer time over ours, of sides that run in turn after a calibration loop:
above 1 we are faster. A call of either side is a pass over some batches, with a training step for each;
behind the ratio stand figures a second. Rows whose data is not below $NEO_DATA (../shared/data) are
skipped. Rows `levels` compare with the same compiled with the options of --serial, and rows `without
NAME` with the options of --switch, which leave an optimization out; both may be given several times.
Rows `kinds` compare batches of vertices of one kind with batches of a level.
With --target both sides run on this machine's GPU.
Rows `shares` say what of a step's time is spent in finding the order of vertices, and in moving data.
"""
import argparse
import sys

from measure import compare
from measure.dynamic import DynamicBench
from rows import dynamic

SERIAL = ("--skip-pass=levels",)
SWITCHES = {"fusion": ("--no-fuse=all",), "lifted products": ("--skip-pass=distribute",)}


def switch(text):
    name, equals, options = text.partition("=")
    if not equals or not options.startswith("--"):
        raise argparse.ArgumentTypeError(f"NAME=--OPTION..., not '{text}'")
    return name, tuple(options.split())


def options():
    o = compare.options("dynamic", __doc__, 9, 3)
    o.add_argument("--threads", type=int, default=1, help="of all rows but `two threads` (1)")
    o.add_argument("--option", metavar="OPTION", action="append", default=[],
                   help="of neoc compile, for all rows of ours; may be repeated")
    o.add_argument("--target", metavar="nvptx:LEVEL", help="ours on this machine's GPU, and PyTorch "
                   "there too (cuda)")
    o.add_argument("--serial", metavar="OPTION", action="append", default=[],
                   help="what compiles vertex functions so that vertices run one by one (" +
                   " ".join(SERIAL) + ")")
    o.add_argument("--switch", metavar="NAME=OPTIONS", action="append", default=[], type=switch,
                   help="what leaves an optimization out (" +
                   "; ".join(f"{k}: {' '.join(v)}" for k, v in SWITCHES.items()) + ")")
    return o.parse_args()


def main():
    o = options()
    if o.target and o.clock == "cpu":
        print("bench: time of the processor says nothing of a GPU", file=sys.stderr)
        return 2
    rows = dynamic.rows(o.threads, tuple(o.serial) or SERIAL, {**SWITCHES, **dict(o.switch)})
    if o.baseline:
        rows = dynamic.versions(rows, tuple(o.option))
    on_gpu = dict(device="cuda", common=(*o.option, "--target=" + o.target)) if o.target else {}
    return compare.main(o, rows, DynamicBench, **{"common": tuple(o.option), **on_gpu})


sys.exit(main())
