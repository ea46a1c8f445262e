"""Bad values, by the form that `--help` gives a value."""

import re

_COUNTS = ["", "abc", "-1", "1.5", "1e3", "0x10", "99999999999999999999999", "1,2", " 1", "1 ", "+", "nan"]
_FILES = ["", "missing/file", "folder"]
_NAMES = ["", "nothing", "1", "a b", "x=", ","]
_NUMBERS = ["", "abc", "nan", "1e", "--1", "1,2"]
_PAIRS = ["", "x", "=", "=1", "x=", "nothing=1", "nothing=abc"]

# By option where the form does not say enough; what is listed is refused by each command that has the option.
_BY_OPTION = {
    "--define": ["", "N", "N=", "N=abc", "N=1.5", "N=-1", "N=99999999999999999999999", "=1", "nothing=1", "N=9"],
    "--include": ["missing"],
    "--skip-pass": ["", "nothing", "cse,nothing", ",", "cse,,cse"],
    "--passes": ["nothing", "cse,nothing", ","],
    "--dump-after": ["", "nothing", "ALL"],
    "--after": ["", "nothing", "ALL"],
    "--no-fuse": ["", "nothing", "rows,nothing", ","],
    "--memory": ["", "quick", "-1", "1.5.5", "1Q", "K", "1KK", "abc"],
    "--target": ["", "nothing", "nvptx", "nvptx:", "nvptx:sm_1", "nvptx:7", "cpu+", "x86-64"],
    "--mcpu": ["", "nothing", "x86-64-v9", "native,generic"],
    "--records": ["missing", "binary", "folder"],
    "--profile": ["", "missing", "binary", "folder", "empty"],
    "--load": ["", "missing", "binary", "folder", "empty"],
    "--rename": ["", "missing", "binary", "folder", "text"],
    "--only": [",", "nothing", "[", ""],
    "--size": ["", "N", "N=", "N=abc", "N=-1", "N=1.5", "=1", "nothing=1", "N=99999999999999999999999"],
    "--set": _PAIRS + ["lr=", "lr=abc", "lr=1e39", "W=1", "lr=1,2"],
    "--entry": _NAMES,
    "--grad": ["", "nothing", "W,nothing", ","],
    "--wrt": ["nothing", "h.W,nothing", ","],
    "--emit": ["", "nothing", "ptx", "obj,nothing", ","],
    "--prefix": ["", "1a", "a-b", "a b"],
    "--kernel": ["[", "(", "*"],
    "--data": ["", "D", "D=", "D=missing,Y=Y.npy", "D=D.npy", "nothing=D.npy", "D=binary,Y=Y.npy", "D=Y.npy,Y=D.npy",
               "D=D.npy,Y=Y.npy,Y=Y.npy", "D=empty,Y=Y.npy", "D=folder,Y=Y.npy"],
    "--test": ["", "D", "D=", "D=missing,Y=Y.npy", "nothing=D.npy", "D=binary,Y=Y.npy"],
    "--test-entry": _NAMES,
    "--entries": ["", "nothing", "train:0", "train:abc", "train:-1", ",", "train:1:2"],
    "--mean-over": _PAIRS,
    "--scale": _PAIRS + ["D=abc", "D=nan", "D="],
    "--import": ["missing", "binary", ""],
    "--unroll": [v for v in _COUNTS],
    "--threads": _COUNTS + ["100000"],
    "--order": _COUNTS + ["0"],
    "--samples": _COUNTS,
    "--batch": _COUNTS + ["0"],
    "--candidates": _COUNTS,
    "--nodes": _COUNTS + ["0", "3"],  # without --network
    "--save-every": _COUNTS,
    "--eps": _NUMBERS + ["0", "-1", "inf"],
    "--rtol": _NUMBERS + ["-1"],
    "--atol": _NUMBERS + ["-1"],
    "--tune": ["", "abc", "-1s", "1x", "s", "1.5.5s"],
    "--time": ["", "abc", "-1s", "1x", "s", "1.5.5s"],
    "--html": ["", "missing/file.html", "folder"],
    "--depfile": ["", "missing/file", "folder"],
    "--trace": ["", "missing/file", "folder"],
    "--save": ["", "missing/file", "folder"],
    "--output": ["net.expr/out"],
    "--data-memory": ["", "quick", "-1", "1.5.5", "1Q", "K", "abc"],
    "--history": ["", "missing/file", "folder"],
    "--curve": ["", "missing/file", "folder"],
    "--tensorboard": ["", "net.expr/out"],
    "--history-every": _COUNTS,
    "--early-stop": _COUNTS,
    "--from": ["", "nothing", "cells", "bert.expr", "../std/nn", "BERT"],
    "--best": ["", "min", "min:", ":loss", "mean:loss", "min:nothing"],
    "--progress": ["", "abc", "-1", "nan"],
    "--name": ["", "W1", "W1=", "=x", "nothing=x", "W1=\x01"],
    "--async": ["", "key:4", "keys", "keys:", "keys:0", "keys:-1", "keys:1.5", "keys:99999999999", "keys:1,keys:2",
                "every:0", "rows:0", "rows:99999", "nodes:0", "workers:0", "place:actors", "workers:1,place:here",
                "workers:2,order:1", "order:-1", "log:", "log:missing/file", "replay:missing", "replay:empty",
                "workers:1,replay:binary", "keys:1,,every:1"],
    "--cache": [""],  # a folder that cannot be used is a remark
    }


# By command too: `tune` makes the files that it writes.
_BY_COMMAND = {("tune", "--records"): ["", "folder"], ("tune", "--log"): ["", "folder"], ("tune", "--emit"): ["", "net.expr/out"]}


def bad_values(command, option, form):
    """The values that the option refuses. KeyError: nobody has thought about values of that form."""
    if (command, option) in _BY_COMMAND:
        return _BY_COMMAND[command, option]
    if option in _BY_OPTION:
        return _BY_OPTION[option]
    if "|" in form and re.fullmatch(r"[\w|]+", form) and form == form.lower():
        return ["", "nothing", form, form.split("|")[0].upper(), form.split("|")[0] + " "]
    return {"N": _COUNTS, "FILE": _FILES, "AUG.expr": _FILES, "NAME": _NAMES, "DIR": ["net.expr/out"]}[form]


BAD_ARRAYS = [(name, value) for name in ("x", "k", "D", "Y") for value in (
    "", "[", "]", "[1", "[1,", "[[1],2]", "[[1],[2,3]]", "abc", "@", "@missing", "@folder", "@binary", "@empty", "1,2", "[abc]",
    "[1;2]", "[1e]", "[0x]", "[--1]", "[1.2.3]", "zeros:", "zeros:2", "zeros:[]x", "zeros:[-1]", "zeros:[1.5]",
    "zeros:[9999999999999999999]", "zeros:[1099511627776,1099511627776]", "ones:[a]", "full:[2]", "full::[2]", "full:abc:[2]", "full:1:",
    "full:1:2:[2]", "random:[2]", "random::[2]", "random:abc:[2]", "random:1.5:[2]", "random:1:", "random:1:[a]", "[[[1]]]", "[nan",
    "{}", "[1]]", "[1][2]", "[1],[2]", "zeros:[2] ", "nothing:[2]")]
BAD_ARRAYS += [("k", v) for v in ("[1.5,2]", "[-1,2]", "[5,2]", "[1e3,2]", "[nan,1]", "[inf,1]", "[2147483648,1]", "[1,2,3]", "[9223372036854775808,1]")]
BAD_ARRAYS += [("x", v) for v in ("[1,2,3]", "[1e39,1]", "[1]", "[1,2,3,4,5,6,7,8,9]", "zeros:[2,2]", "zeros:[9]")]
BAD_ARRAYS += [("D", v) for v in ("[1,2,3]", "[[1,2]]", "[[1,2,3,4]]", "zeros:[0,3]", "zeros:[65,3]", "zeros:[1,3,1]", "[[1,2,3],[1,2,3]]")]
BAD_ARRAYS += [("Y", v) for v in ("[2]", "[-1]", "[0,0]", "[[0]]", "[0.5]")]
BAD_ARRAYS += [("t", v) for v in ("9", "-1", "1.5", "abc", "", "[1,2]", "1e1", "3000000000")]
BAD_ARRAYS += [("nothing", "1"), ("y", "[1,2]"), ("N", "2"), ("W", "[[1]]"), ("W", "zeros:[2,3]"), ("W", "zeros:[6]"), ("s", "[1]"), ("s", "[1,2,3,4]"), ("lr", "[1,2]"), ("lr", "abc")]
