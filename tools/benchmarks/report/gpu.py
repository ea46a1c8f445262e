"""The text of the results of `tools/bench gpu`."""
from report.table import held, mean
from rows.gpu import PARTS

MEANS = ("best", "torch eager", "torch compile", "jax", "bandwidth")


def values_text(v):
    far = f"{v['apart']:.1e}" if v["apart"] >= 0 else "not comparable"
    return (f"{'equal' if v['equal'] else 'DIFFER'}: {v['farthest']} {far} of {v['agree']:g}, "
            f"{v['elements']} elements of {v['tensors']} tensors")


def ratio_text(name, ratio, must):
    text = f"{name} {ratio:.2f}"
    if must:
        text += f" (must {must[0]:g}: {held(ratio >= must[0])}, stretch {must[1]:g})"
    return text


def line(r):
    said = [values_text(r["values"])] if "values" in r else []
    if "ours" in r.get("times", ()):
        graph = f" in graphs of {r['graph']}" if r.get("graph") else ""
        timed = f" ({r['timed']})" if r.get("timed") else ""
        said.append(f"{r['times']['ours']['median_us']:.1f} us{graph}{timed}")
    said += [ratio_text(name, ratio, r["musts"].get(name)) for name, ratio in r["ratios"].items()]
    said += [f"{name}: {why}" for name, why in r["missing"].items()]
    if r.get("paths"):
        said.append("by " + ", ".join(r["paths"]))
    return f"{r['name']:36}  " + "; ".join(s for s in said if s)


def group_lines(results):
    for group in dict.fromkeys(r["group"] for r in results):
        for key in MEANS:
            ratios = [r["ratios"][key] for r in results if r["group"] == group and
                      key in r["ratios"] and r.get("values", {}).get("equal")]
            if len(ratios) > 1:
                yield (f"{group}: {key} {mean(ratios):.2f}, the geometric mean of "
                       f"{len(ratios)}, worst {min(ratios):.2f}")


def table(results):
    """Rows by parts, geometric means of groups (of rows whose values are right), what was tuned."""
    lines = []
    for part, name in PARTS.items():
        of = [r for r in results if r.get("part") == part]
        lines += ["", f"{part} {name}: {len(of)} rows" if of else
                  f"{part} {name}: nothing measured", *map(line, of), *group_lines(of)]
    lines += [f"tuned {r['tuned']}: {r['said']}" for r in results if "tuned" in r]
    wrong = [r["name"] for r in results if differs(r)]
    unknown = [r["name"] for r in results if "part" in r and "values" not in r]
    lines += ["", "DIFFER: " + ", ".join(wrong) if wrong else "no value differs"]
    lines += ["not checked: " + ", ".join(unknown)] if unknown else []
    return "\n".join(lines)


def differs(r):
    return not r.get("values", {}).get("equal", True)
