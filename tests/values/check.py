#!/usr/bin/python3
"""Runs the programs of this folder and compares their results with those that they name; see tests/test_values.sh."""

import json
import math
import shlex
import subprocess
import sys

WAYS = [[], ["--interp"], ["--passes="], ["--passes=", "--no-fuse=all"], ["--no-fuse=all"]]
SLACK = {"f64": 1e-12, "f32": 1e-5, "f16": 2e-3, "bf16": 2e-2}
NAMES = {"inf": math.inf, "nan": math.nan, "true": True, "false": False}


def cases(path):
    """The runs of a file: (arguments, expected values by name, or the message that refuses them)."""
    arguments, found = None, []
    for line in open(path, encoding="utf-8"):
        if line.startswith("# run"):
            arguments = shlex.split(line[5:])
        elif line.startswith("# expect "):
            values = dict(item.split("=", 1) for item in shlex.split(line[9:]))
            found.append((arguments or [], {n: eval(v, {"__builtins__": {}}, NAMES) for n, v in values.items()}))
        elif line.startswith("# refuse "):
            found.append((arguments or [], line[9:].strip()))
    if not found:
        sys.exit(f"{path}: no '# expect'")
    return found


def flat(value):
    return [x for item in value for x in flat(item)] if isinstance(value, list) else [value]


def number(x):
    return {"inf": math.inf, "-inf": -math.inf, "nan": math.nan, None: math.nan}.get(x, x)


def equal(a, b, slack):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return a == b or (math.isnan(a) and math.isnan(b))
    return abs(a - b) <= slack * abs(b)


def difference(result, want):
    """The mistake in a result, or nothing."""
    got, want = [number(x) for x in flat(result["values"])], flat(want)
    slack = SLACK.get(result["type"], 0)
    if len(got) == len(want) and all(equal(a, b, slack) for a, b in zip(got, want)):
        return None
    return f"{got}, expected {want}"


def run(neoc, path, way, arguments):
    done = subprocess.run([neoc, "run", "--format=json", *way, path, *arguments], capture_output=True, text=True)
    if done.returncode:
        return f"exit code {done.returncode}: {done.stderr or done.stdout}", {}
    return None, json.loads(done.stdout)["outputs"]


def check_facts(neoc, path):
    """Whether anything that was derived does not hold, such as that each element which a caller reads was written."""
    done = subprocess.run([neoc, "check", "--check-facts", path], capture_output=True, text=True)
    if done.returncode:
        print(f"FAIL: neoc check --check-facts {path}: {done.stderr or done.stdout}", file=sys.stderr)
    return 1 if done.returncode else 0


def refusal(neoc, path, way, arguments, message):
    """The mistake in the refusal of the inputs, or nothing."""
    done = subprocess.run([neoc, "run", *way, path, *arguments], capture_output=True, text=True)
    if done.returncode == 0 or message not in done.stderr:
        return f"exit code {done.returncode}: {done.stderr or done.stdout}, expected '{message}'"
    return None


def main():
    neoc, *paths = sys.argv[1:]
    wrong = 0
    for path in paths:
        wrong += check_facts(neoc, path)
        for arguments, expected in cases(path):
            for way in WAYS:
                if isinstance(expected, str):
                    said = refusal(neoc, path, way, arguments, expected)
                    if said:
                        print(f"FAIL: neoc run {' '.join(way + [path] + arguments)}: {said}", file=sys.stderr)
                    wrong += bool(said)
                    continue
                problem, results = run(neoc, path, way, arguments)
                problems = [problem] if problem else []
                if not problem:
                    for name, want in expected.items():
                        said = difference(results[name], want) if name in results else "no such result"
                        problems += [f"{name} is {said}"] if said else []
                for said in problems:
                    print(f"FAIL: neoc run {' '.join(way + [path] + arguments)}: {said}", file=sys.stderr)
                wrong += len(problems)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
