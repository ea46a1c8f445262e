"""The pages of the gallery, from the models and their figures."""
import re
import textwrap

from galleries import pictures


class NotMeasured(Exception):
    """The model that it names has no figures, or figures of another text."""


HEAD = """# Gallery

{n} models and operators, each a text to read, to run and to change; `neoc new mine --from=NAME` starts a project with one. Pages, pictures
and this table are written by `tools/gallery`; times and losses were measured by `tools/gallery --measure` and are kept in
`figures.json`. Operators are `.expr` files of this folder, networks those of `models/zoo`.
"""


def paragraph(text):
    """Lines of a paragraph, none of which begins as an item of a list or a heading does."""
    for width in range(140, 100, -1):
        lines = textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
        if not any(re.match(r"[-+*#>|]|\d+[.)]", line) for line in lines[1:]):
            break
    return "\n".join(lines)


def bytes_text(n):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if n < 1024 or unit == "GiB":
            return f"{n} B" if unit == "B" else f"{n:.1f} {unit}"
        n /= 1024
    return None


def time_text(us):
    return f"{us:.3g} us" if us < 1000 else f"{us/1000:.3g} ms" if us < 1e6 else f"{us/1e6:.3g} s"


def small_text(model):
    sizes = {**model.defines, **model.sizes}
    if not sizes:
        return "at the sizes of the text"
    return "at small sizes (" + ", ".join(f"{name} = {value}" for name, value in sizes.items()) + ")"


def has_curve(f):
    return bool(f.get("loss"))


def images(model, f):
    """The pictures of a model, (file, SVG, what it shows); the first one is also for the index."""
    made = []
    if "rows" in f:
        rows, name = f["rows"], f["result"]
        if len(rows) == 1 and None not in rows[0]:
            image = pictures.curve(model.name, rows[0], f"{name}, element by element", min(rows[0]))
        else:
            image = pictures.field(model.name, rows, name)
        made.append((f"{model.name}.svg", image, f"`{name}`, on drawn inputs, before any training"))
    if has_curve(f):
        file = f"{model.name}-loss.svg" if made else f"{model.name}.svg"
        made.append((file, pictures.curve(model.name, f["loss"], f"loss over {f['steps']} steps", 0),
                     f"the loss while it learns a few drawn samples by heart, {small_text(model)}"))
    return made


def table(model, f):
    rows = [("parameters", f"{f['parameters']:,}"), ("memory of a context", f"{bytes_text(f['memory'])}, one thread, at the largest sizes")]
    measured = f"{small_text(model)}, measured on {f['processor']}, one thread"
    if "step_us" in f:
        rows.append(("a training step", f"{time_text(f['step_us'])} {measured}"))
    if "call_us" in f:
        rows.append(("a call without training", f"{time_text(f['call_us'])} {measured}"))
    return "| | |\n|---|---|\n" + "".join(f"| {a} | {b} |\n" for a, b in rows)


def page(model, f):
    source = model.path.split("/")[-1] if model.kind == "operator" else f"../../{model.path}"
    shown = "".join(f"![{what.split(',')[0]}]({file})\n\n" + paragraph(f"{what[:1].upper()}{what[1:]}.") + "\n\n"
                    for file, _, what in images(model, f))
    comment = "\n\n".join(paragraph(p) for p in model.paragraphs)
    return (f"# {model.name}\n\n{comment}\n\n{shown}{table(model, f)}\n"
            f"The text, [{model.path}]({source}); `neoc new mine --from={model.name}` copies it into a project:\n\n"
            f"```expr\n{model.body}\n```\n\n[All models](README.md)\n")


def index(found, figures):
    parts = [HEAD.format(n=len(found))]
    for kind, title in (("operator", "Operators"), ("network", "Networks")):
        parts.append(f"\n## {title}\n\n| | | |\n|---|---|---|\n")
        for model in (m for m in found if m.kind == kind):
            shown = images(model, figures[model.name])
            image = f'<img src="{shown[0][0]}" width="120" alt="{model.name}">' if shown else ""
            parts.append(f"| {image} | [{model.name}]({model.name}.md) | {model.summary} |\n")
    return "".join(parts)


def make(found, figures):
    """The texts of all pages by file name; may raise NotMeasured."""
    for model in found:
        if figures.get(model.name, {}).get("text") != model.digest:
            raise NotMeasured(model.name)
    files = {"README.md": index(found, figures)}
    for model in found:
        f = figures[model.name]
        files[f"{model.name}.md"] = page(model, f)
        files.update({file: image for file, image, _ in images(model, f)})
    return files
