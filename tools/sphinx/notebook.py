"""Notebooks as pages of the site: notebook.py FILE.ipynb... writes FILE.md beside each, cells with what they showed."""
import json
import sys


def fenced(language, text):
    return f"```{language}\n{text.rstrip()}\n```\n" if text.strip() else ""


def shown(output):
    """The output's picture if it has one, else its text."""
    data = output.get("data", {})
    if "image/svg+xml" in data:
        return "".join(data["image/svg+xml"]) + "\n"
    return fenced("text", "".join(output.get("text") or data.get("text/plain") or []))


def page(book):
    parts = []
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source + "\n")
            continue
        parts.append(fenced("python", source))
        parts += [shown(o) for o in cell["outputs"]]
    return "\n".join(p for p in parts if p)


if __name__ == "__main__":
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            text = page(json.load(file))
        with open(path.removesuffix("ipynb") + "md", "w", encoding="utf-8") as file:
            file.write(text)
