"""A table of results with geometric means of groups."""
import math

from rows.cpu import ANALYTIC_OF_TUNED, GROUPS


def number(v, form="%.2f"):
    return "-" if v is None else form % v


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def verdict(row, result):
    """Does what the row itself must hold?"""
    if row.limit_s:
        s = result.get("seconds")
        return "" if s is None else f"{s:.2f} s of {row.limit_s} s: " + held(s <= row.limit_s)
    if row.most:
        return search_verdict(row, result) if "to_99" in result else ""
    said = []
    if result.get("bandwidth") and row.bandwidth:
        share = result["bandwidth"]
        rate = result["bandwidth_gb_s"]
        said.append(f"{share:.0%} of {rate} GB/s: {held(share >= row.bandwidth)}")
    least = row.must or row.worst
    if least and result["ratio"] is not None:
        said.append(f"must {least}: {held(result['ratio'] >= least)}")
    return ", ".join(said)


def search_verdict(row, result):
    """Holds only of a space that was measured nearly whole: some schedules are refused."""
    n, measured, space = (result[k] for k in ("to_99", "measured", "space"))
    text = f"{n} measurements to 99 % of the best, at most {row.most}: "
    whole = measured >= 0.9 * space
    return text + (held(n <= row.most) if whole else f"only {measured} of {space} were measured")


def held(yes):
    return "holds" if yes else "short"


def table(rows, results):
    """Text: rows, then groups."""
    known = {row.name: row for row in rows}
    results = [r for r in results if r["name"] in known]
    width = max([len(r["name"]) for r in results] + [20])
    lines = [f"{'':{width}}  default  tuned  analytic  peer"]
    for row in rows:
        for r in results:
            if r["name"] == row.name:
                lines.append(line(row, r, width))
    lines.append("")
    for column in ("tuned", "analytic"):
        lines += sorted({f"{column}: {r['missing'][key]}" for r in results
                         if (key := "ours " + column) in r["missing"]})
    for group in GROUPS:
        lines += group_lines(group, [r for r in results if r["group"] == group], width)
    return "\n".join(lines)


def line(row, r, width):
    columns = [number(r[k]) for k in ("ratio", "tuned", "analytic")]
    said = [r["peer"] or "", verdict(row, r), *r.get("notes", ())]
    if r.get("tuning"):
        said.append(f"{r['tuning']['covered']:.0%} of the step was tuned")
    said += [f"{name}: {ratio:.2f}, by hand" for name, ratio in r.get("by_hand", {}).items()]
    said += [f"{name}: {why}" for name, why in r["missing"].items()
             if not name.startswith("ours") or name == "ours default"]
    return (f"{r['name']:{width}}  {columns[0]:>7}  {columns[1]:>5}  {columns[2]:>8}  " +
            "; ".join(s for s in said if s)).rstrip()


def group_lines(group, results, width):
    must, must_tuned, stretch = GROUPS[group]
    counted = [r for r in results if r["ratio"] is not None]
    if not counted or must is None:
        return []
    default, tuned, analytic = (mean([r[k] for r in counted])
                                for k in ("ratio", "tuned", "analytic"))
    text = (f"{group:{width}}  {number(default):>7}  {number(tuned):>5}  {number(analytic):>8}  "
            f"geometric mean of {len(counted)}, worst {min(r['ratio'] for r in counted):.2f}; "
            f"must {must:g}: {held(default >= must)}")
    text += f", stretch {stretch:.3g}" if stretch else ""
    if tuned:
        text += f"; tuned must {must_tuned:g}: {held(tuned >= must_tuned)}"
        if analytic:
            share = analytic / tuned
            text += f"; analytic {share:.2f} of tuned: {held(share >= ANALYTIC_OF_TUNED)}"
    return [text]
