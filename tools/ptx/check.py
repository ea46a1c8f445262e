"""A file's kernels, each for some launches; what is said of them."""
import argparse
import sys

from .run import Plan, Scenario, explore
from .text import PtxError, Reader

SCENARIOS = (Scenario(0, 32, 70), Scenario(29, 32, 70), Scenario(1, 32, 1), Scenario(0, 32, 70, flag=0))
COUNTS = (("mbarriers", "mbarriers"), ("arrivals", "arrivals"), ("boxes", "boxes"), ("copies", "cp.async"), ("waits", "waits"),
          ("bars", "bar.sync"),
          ("fences", "proxy fences"), ("meetings", "meetings of blocks"), ("products", "wgmma"), ("accesses", "accesses to shared memory"))
THREADS = (128, 256, 64, 32, 192, 96)  # neoc says so where there are more


class Result:
    def __init__(self, kernel):
        self.kernel, self.said, self.count, self.threads, self.groups = kernel, [], {}, 0, 0

    def report(self, rule, line, text):
        if not any(r == rule and n == line for r, n, _ in self.said):
            self.said.append((rule, line, text))


def check_for(plan, threads, scenarios):
    result = Result(plan.kernel)
    result.threads = threads
    for s in scenarios:
        try:
            run = explore(plan, threads, s, result.report)
            result.groups = max(result.groups, len(run.groups))
            for name, lines in run.state.count.items():
                result.count.setdefault(name, set()).update(lines)
        except PtxError as e:
            result.report("not understood", e.line, e.why)
    return result


def check_kernel(kernel, threads):
    plan = Plan(kernel)
    if not plan.events:
        return Result(kernel)
    scenarios = SCENARIOS if plan.depends() else SCENARIOS[:1]
    known = kernel.directives.get("reqntid") or kernel.directives.get("maxntid") or threads
    best = None
    for n in (known,) if known else THREADS:
        now = check_for(plan, n, scenarios)
        if best is None or len(now.said) < len(best.said):
            best = now
        if not now.said:
            break
    return best


def describe(result):
    counts = ["%d %s" % (len(result.count[k]), text) for k, text in COUNTS if result.count.get(k)]
    mma = sum(i.parts[0] == "mma" for i in result.kernel.code)
    if mma:
        counts.append("%d mma" % mma)
    return ("%d threads, " % result.threads if counts and result.threads else "") + (", ".join(counts) if counts else "no protocol")


def check_file(path, threads, quiet):
    try:
        with open(path, encoding="utf-8") as f:
            kernels = Reader(path, f.read()).kernels
    except PtxError as e:
        print("%s:%d: not understood: %s" % (path, e.line, e.why))
        return 1, 0
    bad = 0
    for k in kernels:
        try:
            result = check_kernel(k, threads)
        except PtxError as e:
            result = Result(k)
            result.report("not understood", e.line, e.why)
        for rule, line, text in sorted(result.said, key=lambda x: x[1]):
            print("%s:%d: %s: %s: %s" % (path, line, k.name, rule, text))
        bad += bool(result.said)
        if not quiet:
            print("%s: %s: %s: %s" % (path, k.name, "%d violations" % len(result.said) if result.said else "clean", describe(result)))
    return bad, len(kernels)


def main(argv):
    parser = argparse.ArgumentParser(prog="ptx_check")
    parser.add_argument("files", nargs="+", metavar="FILE.ptx")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("-q", "--quiet", action="store_true")
    args = parser.parse_args(argv)
    bad = kernels = 0
    for path in args.files:
        try:
            more, n = check_file(path, args.threads, args.quiet)
        except OSError as e:
            print("ptx_check: %s: %s" % (path, e.strerror), file=sys.stderr)
            return 3
        bad, kernels = bad + more, kernels + n
    print("%d kernels of %d files: %s" % (kernels, len(args.files), "%d with violations" % bad if bad else "clean"))
    return 1 if bad else 0
