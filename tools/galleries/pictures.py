"""Small pictures as SVG: a curve, and a field of numbers in shades."""

WIDTH, HEIGHT, EDGE = 240, 150, 8
SHADES = ["#f1f5fb", "#d6e3f3", "#b5cde9", "#8db1dc", "#6492cb", "#4074b4", "#265896", "#123a70"]


def svg(title, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">\n'
            f"<title>{title}</title>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n" + "\n".join(parts) + "\n</svg>\n")


def text(x, y, words, anchor="start"):
    return (f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="10" fill="#444" '
            f'text-anchor="{anchor}" stroke="#fff" stroke-width="3" paint-order="stroke">{words}</text>')


def curve(title, values, caption, least):
    """A curve of the values; the first and the last are labelled. least: lower end of the axis, unless a value is
    below it."""
    low, high = min(least, *values), max(values)
    span = (high - low) or 1
    left, top, width, height = EDGE, 2*EDGE, WIDTH - 2*EDGE, HEIGHT - 5*EDGE
    points = " ".join(f"{left + width*k/max(len(values) - 1, 1):.1f},{top + height*(high - v)/span:.1f}"
                      for k, v in enumerate(values))
    return svg(title, [
        f'<path d="M{left} {top}V{top + height}H{left + width}" fill="none" stroke="#bbb"/>',
        f'<polyline points="{points}" fill="none" stroke="#265896" stroke-width="1.5"/>',
        text(left + 4, top - 4, f"{values[0]:.3g}"), text(left + width, top + height - 5, f"{values[-1]:.3g}", "end"),
        text(left, HEIGHT - 6, caption)])


def field(title, rows, caption):
    """A field of shades, from rows of numbers, top to bottom; large numbers are dark."""
    known = [v for row in rows for v in row if v is not None]
    low, high = (min(known), max(known)) if known else (0, 1)
    span = (high - low) or 1
    high_cell = min((WIDTH - 2*EDGE)/len(rows[0]), (HEIGHT - 4*EDGE)/len(rows))
    wide_cell = min((WIDTH - 2*EDGE)/len(rows[0]), 4*high_cell)
    cells = [[] for _ in SHADES]
    for y, row in enumerate(rows):
        for x, v in enumerate(row):
            if v is not None:
                shade = min(int((v - low)/span*len(SHADES)), len(SHADES) - 1)
                cells[shade].append(f"M{x} {y}h1v1h-1z")
    paths = [f'<path d="{"".join(part)}" fill="{SHADES[k]}"/>' for k, part in enumerate(cells) if part]
    return svg(title, [f'<g transform="translate({EDGE} {EDGE}) scale({wide_cell:.2f} {high_cell:.2f})" shape-rendering="crispEdges">', *paths, "</g>",
                       text(EDGE, HEIGHT - 6, caption), text(WIDTH - EDGE, HEIGHT - 6, f"{low:.3g} to {high:.3g}", "end")])
