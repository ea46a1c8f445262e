"""Charts of simulated devices as SVG that stands alone: a line for each device, a bar for each piece of
work. Forward, backward and update differ in colour and in height, so that a chart in grey tells them
apart, too."""
import html

WIDTH, LEFT, TOP, PITCH, HEIGHT = 900, 70, 46, 30, 24
PARTS = (("forward", 1.0), ("backward", 0.8), ("update", 0.5))
MOST = 1200  # bars of a chart
STYLE = """
  svg { --panel: #ffffff; --text: #24292f; --quiet: #6a7078; --forward: #2a6fb0;
        --backward: #c4591b; --update: #3c8a4e }
  @media (prefers-color-scheme: dark) {
    svg { --panel: #15181c; --text: #dfe3e8; --quiet: #98a1ab; --forward: #5aa2e0;
          --backward: #e58b4f; --update: #67b97b }
  }
  text { font: 12px system-ui, sans-serif; fill: var(--text) } .quiet { fill: var(--quiet) }
  rect { stroke: var(--panel); stroke-width: .5px }
  .forward { fill: var(--forward) } .backward { fill: var(--backward) } .update { fill: var(--update) }
"""


def read(path):
    """(device, node, part, instance, begin, end) of the second half of a run, when prices are known."""
    spans = []
    with open(path) as f:
        for line in f:
            device, node, part, instance, begin, end, _ = line.split()
            spans.append((int(device), int(node), int(part), int(instance), float(begin), float(end)))
    return [s for s in spans[len(spans) // 2:] if s[5] > s[4]][:MOST]


def bar(span, start, scale):
    device, node, part, instance, begin, end = span
    name, share = PARTS[part]
    height = HEIGHT * share
    y = TOP + device * PITCH + (HEIGHT - height) / 2
    return (f'  <rect class="{name}" x="{LEFT + (begin - start) * scale:.2f}" y="{y:.1f}" '
            f'width="{max((end - begin) * scale, 0.3):.2f}" height="{height:.1f}"><title>instance '
            f'{instance}, node {node}, {name}, {1e3 * (end - begin):.4g} ms</title></rect>')


def legend(title):
    yield f'  <text x="{LEFT}" y="16">{html.escape(title)}</text>'
    for k, (name, _) in enumerate(PARTS):
        x = LEFT + 90 * k
        yield f'  <rect class="{name}" x="{x}" y="26" width="12" height="12"/>'
        yield f'  <text class="quiet" x="{x + 16}" y="36">{name}</text>'


def draw(spans, path, title):
    """Writes the chart of a file of spans."""
    found = read(spans)
    start, end = min(s[4] for s in found), max(s[5] for s in found)
    devices = 1 + max(s[0] for s in found)
    scale = (WIDTH - LEFT - 10) / (end - start)
    height = TOP + devices * PITCH + 24
    names = [f'  <text x="6" y="{TOP + k * PITCH + 16}">device {k}</text>' for k in range(devices)]
    axis = (f'  <text class="quiet" x="{LEFT}" y="{height - 6}">{1e3 * (end - start):.4g} ms of virtual '
            'time</text>')
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join([
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
            f"  <title>{html.escape(title)}</title>", f"  <style>{STYLE}</style>",
            f'  <rect width="{WIDTH}" height="{height}" style="fill: var(--panel)"/>', *legend(title),
            *names, *(bar(s, start, scale) for s in found), axis, "</svg>", ""]))
