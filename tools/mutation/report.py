"""The report: a table by folder, and the mutants that no test found, for a person to read."""

from build import is_in


def report(folders, mutants, hunt, seed):
    rows, alive = [], []
    for d in folders:
        here = [m for m in mutants if is_in(m.file, d)]
        found = [m for m in here if hunt.found(m)]
        unreached = [m for m in here if not hunt.found(m) and not hunt.reached(m)]
        rows.append((d, len(here), len(found), len(here) - len(found), len(unreached)))
        alive += [m for m in here if not hunt.found(m)]
    total = tuple(sum(r[k] for r in rows) for k in range(1, 5))
    lines = [f"Seed {seed}, {total[0]} mutants.", "",
             "| folder | mutants | found | alive | of these reached by no test |",
             "|---|---|---|---|---|"]
    lines += ["| " + " | ".join(str(x) for x in r) + " |" for r in rows + [("all",) + total]]
    lines += ["", "Alive:", ""]
    lines += [line(m, hunt) for m in alive]
    return "\n".join(lines) + "\n"


def line(m, hunt):
    reached = len(hunt.reached(m))
    return (f"- {m.id} `{m.file}`, `{m.function}`, line {m.line}: {m.says()} "
            f"({f'{reached} tests reach it' if reached else 'no test reaches it'})")
