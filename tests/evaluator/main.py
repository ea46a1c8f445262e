#!/usr/bin/python3
"""An evaluator of `.expr` models in Python and numpy, to compare the compiler with.

It is written from docs/language.md alone and shares nothing with the compiler: not its parser, not its reading of
the language, not its way to form gradients. Where both agree, a rule of the language was read twice in the same way;
where they do not, one of them is wrong, or the document is not clear. It needs Python 3.11 and numpy, and is slow:
for sizes of a test.

    main.py MODEL.expr X=@x.npy W=[1,2,3] lr=0.1 [-D N=4] [--size B=3] [--entry test] [-o out.npz]
    main.py compare MODEL.expr... [-D N=4] [--size B=3] [--seed 1] [--entry test] --neoc build/release/bin/neoc
    main.py selftest

`compare` draws values from a seed, runs the interpreter and compiled code on them, and the compiled library for what
training steps and updates leave behind. It prints what differs and exits with 1 if anything does. A model may ask
for values of its own in lines such as `# value x=[1,nan]` and `# size E=0`.

How it works (the folder evaluator/ beside this file):

    lexer, parser, tree     the text as statements
    scopes, program         names; declarations, definitions, modules, choices and rounds. All sizes are numbers when
                            it runs: nothing is proved, an index outside of its tensor is found when it is read
    frames, reads           the indices of a statement as axes of a grid, and where they take their extents from
    expressions, reducers   the value of an expression on the whole grid at once
    recurrences             definitions that read themselves, an element at a time
    vertices, edges         graphs and vertex functions, vertex by vertex; children in lists of any length
    loops                   repeat, scan, while and case, round by round
    elements, scalars       operators and functions of elements; types, wrapping, rounding, conversions
    tape                    tensors that know how they were computed; gradients, whose own gradients can be formed
    duals, derivatives      dual numbers in place of arrays: derivatives in forward mode (tests/derivatives)
    calls, gradients        functions, their own gradients, `grad`
    training, outputs       optimizers, updates, entries
    randoms                 rand() and random initial values
    compare, library        neoc on the same values
    selftest                numbers that were worked out by hand

Floats are computed in float64 and rounded where a type is narrower than f32; sums of f16 and bf16 are exact and then
rounded. So a comparison allows for the rounding of the model's types (compare.py), and values on both sides of a
jump (`floor`, a comparison) are safe only where both compute them exactly: inputs are drawn as eighths.

Left out: `rand()` in rounds, in vertex functions and in definitions that read themselves, `grad` in functions that are
called with indices, but for what belongs to each of their points.
"""

import argparse
import sys

sys.dont_write_bytecode = True
import numpy as np  # noqa: E402

from evaluator import ExprError, evaluate_all  # noqa: E402


def pair(text):
    name, sign, value = text.partition("=")
    if not sign:
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=VALUE")
    return name, value


def size(text):
    name, value = pair(text)
    return name, int(value)


def value(text):
    """@file.npy, @file.npz:name, random:SEED:[shape], or a number or nested list."""
    if text.startswith("@"):
        path, _, member = text[1:].partition(":")
        data = np.load(path)
        return data[member or data.files[0]] if hasattr(data, "files") else data
    if text.startswith("random:"):
        _, seed, shape = text.split(":")
        extents = [int(n) for n in shape.strip("[]").split(",") if n]
        return np.random.default_rng(int(seed)).integers(-16, 17, extents) / 8
    names = {"inf": np.inf, "nan": np.nan, "true": True, "false": False}
    return np.array(eval(text, {"__builtins__": {}}, names))


def common(parser):
    parser.add_argument("-D", "--define", type=size, action="append", default=[], metavar="NAME=N")
    parser.add_argument("-I", "--include", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--size", type=size, action="append", default=[], metavar="NAME=N")
    parser.add_argument("--entry", metavar="NAME")


def run(arguments):
    parser = argparse.ArgumentParser(prog="main.py")
    common(parser)
    parser.add_argument("model")
    parser.add_argument("values", nargs="*", type=pair, metavar="NAME=VALUE")
    parser.add_argument("-o", "--output", metavar="FILE.npz")
    parser.add_argument("--step", type=int, default=0, help="finished training steps")
    parser.add_argument("--seed", type=int, default=0, help="of rand() and initial values")
    o = parser.parse_args(arguments)
    inputs = {name: value(text) for name, text in o.values}
    results, changed = evaluate_all(o.model, inputs, dict(o.define + o.size), o.entry or "forward", o.include, o.step,
                                    o.seed)
    results.update({f"after:{n}": a for n, a in changed.items()})
    if o.output:
        np.savez(o.output, **results)
    for name, data in results.items():
        print(name, list(data.shape))
        print(np.array2string(data, threshold=40, precision=9))
    return 0


def compare(arguments):
    from evaluator.compare import Comparison
    parser = argparse.ArgumentParser(prog="main.py compare")
    common(parser)
    parser.add_argument("models", nargs="+")
    parser.add_argument("--neoc", default="neoc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--value", type=pair, action="append", default=[], metavar="NAME=VALUE",
                        help="in place of drawn ones")
    parser.add_argument("--slack", type=float, default=1.0, help="so much more is allowed: for deep models")
    parser.add_argument("-v", "--verbose", action="store_true", help="print all differences")
    o = parser.parse_args(arguments)
    wrong = 0
    for model in o.models:
        try:
            sizes, values = remarks(model)
            values.update({n: value(v) for n, v in o.value})
            comparison = Comparison(o.neoc, model, dict(o.define), {**sizes, **dict(o.size)}, o.seed, o.include,
                                    verbose=o.verbose, given=values, slack=o.slack)
            comparison.run([o.entry] if o.entry else None)
            print(comparison.summary(), flush=True)
            wrong += comparison.wrong
        except ExprError as problem:
            print(f"{model}: {problem}")
            wrong += 1
    return 1 if wrong else 0


def remarks(model):
    """(sizes, values) that a model asks for in lines such as `# size E=0` and `# value x=[1,nan]`."""
    sizes, values = {}, {}
    with open(model, encoding="utf-8") as file:
        for line in file:
            if line.startswith("# size "):
                sizes.update([size(line[7:].strip())])
            elif line.startswith("# value "):
                name, text = pair(line[8:].strip())
                values[name] = value(text)
    return sizes, values


def selftest(_):
    from evaluator import selftest as tests
    return 1 if tests.run() else 0


def main():
    commands = {"compare": compare, "selftest": selftest}
    words = sys.argv[1:]
    command = commands.get(words[0]) if words else None
    try:
        return command(words[1:]) if command else run(words)
    except (ExprError, OSError) as problem:
        print(f"main.py: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
