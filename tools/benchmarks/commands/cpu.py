"""tools/bench cpu: what neo's code must reach on the processor, each row beside its peers.

    tools/bench cpu [--json FILE] [--rows REGEX] [--threads N] [--rounds N] [--tuned SECONDS]
                    [--peers FOLDER] [--clock wall|cpu] [--resume] [--list] [--show]
    tools/bench cpu --baseline BUILD [--mcpu LEVEL,...] [--compiles N] [--all] ...

A row is a ratio of medians, peer time over ours, of sides that run in turn after a calibration
loop: above 1 we are faster. Ours is compiled fresh (default), after `neoc tune` (tuned), and
without any records (analytic). Rows are written to FILE as they come; those measured again are
replaced.

With --baseline, ours stands beside another version of neoc, from its build folder: the ratio is the
baseline's time over ours, and beside it that of compiling, ours over the baseline's. Exit code 1:
what must hold (baseline.py) does not.
"""
import sys

from measure import compare
from rows.cpu import all_rows, versions


def options():
    o = compare.options("cpu", __doc__, 15, 5)
    o.add_argument("--threads", type=int, help="1; matrix products and LSTMs: 1 and 2")
    o.add_argument("--mcpu", metavar="LEVEL,...", default="native,x86-64-v3",
                   help="of --baseline: the processors to compile for (native,x86-64-v3)")
    return o.parse_args()


def main():
    o = options()
    return compare.main(o, versions(o.threads or 1, o.mcpu.split(",")) if o.baseline else
                        all_rows(o.threads))


sys.exit(main())
