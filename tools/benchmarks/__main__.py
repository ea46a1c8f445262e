"""python3 tools/benchmarks MODULE ARGUMENT... runs a module of this folder, a command by its name.

    commands/   what tools/bench and tools/records run, a module each
    rows/       what is measured: rows of the processor, of recurrences, of dynamic structures, of
                a GPU, in one form (row.py); the data of those that need some
    models/     programs of these rows, those of recurrences in a folder of their own
    measure/    compiles what a row's sides run, starts them, checks that they agree, times them
    sides/      our side, programs in C; serve.h is how a side answers
    peers/      the peers' sides, and where their interpreters are
    gpu/        the file that runs where a GPU is; kernels that are read without one
    report/     results as files, tables, figures and docs/benchmarks.md
    results/    stored results
    alloc/      the memory planner on instances in files
"""
import os
import runpy
import sys

if len(sys.argv) < 2:
    sys.exit(__doc__)
ORACLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "oracle")
sys.dont_write_bytecode = True
sys.path.append(ORACLE)  # networks, trees and batches of them in Python
module = sys.argv.pop(1)
module = module if "." in module else "commands." + module
runpy.run_module(module, run_name="__main__", alter_sys=True)
