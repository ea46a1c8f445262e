#!/usr/bin/python3
"""Programs of tests/pairs in the evaluator of the language (tests/evaluator), which shares nothing with the compiler.

    evaluate.py [--evaluator FOLDER] [--jobs N] FILE

FILE has a program a line, as test_pairs_random --json writes it: text, sizes, inputs, and what the reference
interpreter computed, with a bound on how far a correct implementation may be away from it. Prints the programs that
differ and exits with 1 if any does. What the evaluator refuses is told, too, and is no difference.
"""

import argparse
import json
import multiprocessing
import os
import sys

sys.dont_write_bytecode = True
import numpy as np  # noqa: E402

SLACK = 4  # as machine.c has it
UNIT = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}  # of rounding
LARGEST = {"f16": 65504.0, "bf16": 3.38e38, "f32": 3.4e38, "f64": 1.79e308}


def array(x):
    kind = np.float64 if x["type"] in LARGEST else np.bool_ if x["type"] == "bool" else np.int64
    data = np.array(x["data"], dtype=kind)
    if x["type"] in ("f32", "f16", "bf16"):  # nine digits tell which f32 it is
        data = data.astype(np.float32).astype(np.float64)
    return data.reshape(x["shape"])


def floats_agree(want, got, error, kind, derived):
    largest = LARGEST[kind]
    same = (want == got) | (np.isnan(want) & np.isnan(got)) | np.isinf(error)
    with np.errstate(all="ignore"):
        same |= np.abs(want - got) <= SLACK * error
        # At the end of the range, rounding decides.
        same |= np.isinf(want) & (np.abs(got) >= largest * (1 - 1e-6)) & (np.sign(want) == np.sign(got))
        # In which order a gradient multiplies is the compiler's choice: so is what of it leaves the range of f16,
        # whether infinite factors make it infinite or NaN, and whether products on the way to a number that has few bits
        # have few.
        same |= derived & (np.abs(want - got) <= SLACK * UNIT[kind] * np.abs(want))
        same |= derived & (largest == LARGEST["f16"]) & np.isnan(want)
        same |= derived & ~np.isfinite(want) & ~np.isfinite(got)
    return same


def differs(expected, got, derived):
    """None, or the first difference between a result of the interpreter and the evaluator's. `derived`: a gradient."""
    want, got = array(expected).ravel(), np.asarray(got).ravel()
    if want.shape != got.shape:
        return f"{expected['name']} has {got.size} elements, not {want.size}"
    if expected["type"] in LARGEST:
        error = np.zeros(want.shape) if expected["error"] is None else np.array(expected["error"], dtype=np.float64)
        same = floats_agree(want, got.astype(np.float64), error, expected["type"], derived)
    else:
        error = np.zeros(want.shape) if expected["error"] is None else np.array(expected["error"], dtype=np.float64)
        same = (want.astype(np.int64) == got.astype(np.int64)) | np.isinf(error)
    if same.all():
        return None
    k = int(np.argmin(same))
    return f"{expected['name']}[{k}] is {got[k]!r}, the interpreter has {want[k]!r} within {error[k]:.3g}"


def calls(results):
    """The results of each call: its outputs, then parameters and states after it."""
    call = []
    for x in results:
        if call and not x["kept"] and (call[-1]["kept"] or call[-1]["entry"] != x["entry"]):
            yield call
            call = []
        call.append(x)
    if call:
        yield call


def check(evaluate_all, program):
    values = {x["name"]: array(x) for x in program["inputs"]}
    step = 0
    for n, call in enumerate(calls(program["results"])):
        entry = call[0]["entry"]
        outputs, kept = evaluate_all(program["text"], values, program["sizes"], entry=entry, step=step,
                                     seed=program["seed"])
        step += entry != "forward"
        for x in call:
            found = kept if x["kept"] else outputs
            if x["name"] not in found:
                continue
            derived = entry != "forward" or f"{x['name']} = grad(" in program["text"]
            why = differs(x, found[x["name"]], derived=derived)
            if why:
                return f"call {n}, {entry}: {why}"
        values.update(kept)
    return None


def judge(line):
    """A line's seed, sizes and text, whether it was evaluated, and what is wrong."""
    from evaluator import ExprError, evaluate_all

    program = json.loads(line)
    taken, why = True, None
    try:
        why = check(evaluate_all, program)
    except ExprError as problem:
        taken, why = False, f"refused: {problem}"
    except Exception as problem:  # one program's, whatever it is
        why = f"{type(problem).__name__}: {problem}"
    return program["seed"], program["sizes"], program["text"], taken, why


def main():
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "evaluator")
    parser = argparse.ArgumentParser()
    parser.add_argument("--evaluator", default=beside)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("file")
    given = parser.parse_args()
    sys.path.insert(0, given.evaluator)

    n = refused = failed = 0
    with open(given.file, encoding="utf-8") as lines, multiprocessing.Pool(given.jobs) as pool:
        for seed, sizes, text, taken, why in pool.imap(judge, lines, 20):
            n += 1
            refused += not taken
            failed += taken and why is not None
            if why:
                print(f"# seed {seed}, sizes {sizes}\n# {why}\n{text}")
    print(f"{n} programs, {n - refused} evaluated, {refused} refused by the evaluator, {failed} differ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
