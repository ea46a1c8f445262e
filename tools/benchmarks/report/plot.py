"""Ratios as an SVG that stands alone: for each row a bar from 1 to the ratio to its fastest peer,
on a logarithmic axis, with a line over the range of its bracket on the page, and a ring for each
other peer. Its panel and its colours follow what the viewer prefers, light or dark; blue and orange
differ for all eyes, and a bar's side of 1 says the same as its colour."""
import html
import math

WIDTH, LEFT, RIGHT, TOP, PITCH = 560, 16, 52, 44, 34
STYLE = """
  svg { --panel: #ffffff; --text: #24292f; --quiet: #6a7078; --grid: #d8dce0; --one: #57606a;
        --more: #2a6fb0; --less: #c4591b }
  @media (prefers-color-scheme: dark) {
    svg { --panel: #15181c; --text: #dfe3e8; --quiet: #98a1ab; --grid: #343a41; --one: #8b949e;
          --more: #5aa2e0; --less: #e58b4f }
  }
  text { font: 13px system-ui, sans-serif; fill: var(--text); paint-order: stroke;
         stroke: var(--panel); stroke-width: 4px }
  .quiet { font-size: 12px; fill: var(--quiet) }
  .more { fill: var(--more) } .less { fill: var(--less) }
  .grid { stroke: var(--grid) } .one { stroke: var(--one) } .range { stroke: var(--text) }
  .ring { fill: var(--panel); stroke: var(--quiet); stroke-width: 1.5 }
"""


def ticks(low, high):
    """Powers of two that the axis shows, 1 among them; every second one where there are many."""
    first, last = min(math.floor(math.log2(low)), -1), max(math.ceil(math.log2(high)), 1)
    step = 1 + (last - first) // 8
    return [2.0**k for k in range(first, last + 1) if k % step == 0 or k in (first, last)]


def tick_text(v):
    return f"{v:g}" if v >= 1 else f"1/{1 / v:g}"


def number(v):
    return f"{v:.2f}" if v < 10 else f"{v:.1f}" if v < 100 else f"{v:.0f}"


class Plot:

    def __init__(self, rows):
        shown = [v for _, ratios in rows for r in ratios for v in (r.value, r.low, r.high)]
        self.rows, self.ticks = rows, ticks(min(shown), max(shown))
        self.height = TOP + PITCH * len(rows) + 34
        self.parts = []

    def x(self, v):
        first, last = (math.log(t) for t in (self.ticks[0], self.ticks[-1]))
        share = (math.log(v) - first) / (last - first)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def add(self, tag, text=None, **attributes):
        texts = {k: f"{v:.1f}" if isinstance(v, float) else v for k, v in attributes.items()}
        given = " ".join(f'{k.strip("_").replace("_", "-")}="{v}"' for k, v in texts.items())
        end = "/>" if text is None else f">{html.escape(text)}</{tag}>"
        self.parts.append(f"  <{tag} {given}{end}")

    def axis(self):
        bottom = self.height - 30
        for t in self.ticks:
            self.add("line", class_="one" if t == 1 else "grid", x1=self.x(t), x2=self.x(t), y1=30,
                     y2=bottom)
            self.add("text", tick_text(t), class_="quiet", x=self.x(t), y=24, text_anchor="middle")
        at = self.x(1)
        self.add("text", "faster", class_="quiet", x=min(at + 6, WIDTH - 60.0), y=self.height - 12)
        self.add("text", "slower", class_="quiet", x=at - 6, y=self.height - 12, text_anchor="end")

    def row(self, k, name, ratios):
        y, best, one = TOP + PITCH * k, ratios[0], self.x(1)
        x = self.x(best.value)
        self.add("text", name, x=LEFT, y=y + 10)
        self.add("rect", class_="more" if best.value >= 1 else "less", x=min(x, one), y=y + 16,
                 width=max(abs(x - one), 1.0), height=9)
        if best.high > best.low:
            self.add("line", class_="range", x1=self.x(best.low), x2=self.x(best.high), y1=y + 20.5,
                     y2=y + 20.5)
        for other in ratios[1:]:
            self.add("circle", class_="ring", cx=self.x(other.value), cy=y + 20.5, r=4)
        self.add("text", number(best.value), class_="quiet", x=WIDTH - 8, y=y + 25,
                 text_anchor="end")

    def text(self, title):
        self.axis()
        for k, (name, ratios) in enumerate(self.rows):
            self.row(k, name, ratios)
        body = "\n".join(self.parts)
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                f'width="{WIDTH}" height="{self.height}" role="img">\n'
                f"  <title>{html.escape(title)}</title>\n  <style>{STYLE}  </style>\n"
                f'  <rect width="{WIDTH}" height="{self.height}" rx="6" fill="var(--panel)"/>\n'
                f"{body}\n</svg>\n")


def svg(title, rows):
    """`rows`: a name and its ratios, the fastest peer's first."""
    return Plot(rows).text(title)
