/* Short texts of the page: anchors, times, counts, links to lines. */
#include "base/file.h"
#include "tools/neoc/explain/page.h"

const char *page_href(const page *p, const char *prefix, uint32_t n) {
  return neo_arena_printf(p->a, "#%s%u", prefix, n);
}

static const char *scaled(const page *p, double x, const char *const *unit, int n,
                          const char *gap) {
  int k = 0;
  while (k + 1 < n && x >= 999.5) {
    x /= 1000;
    k++;
  }
  return neo_arena_printf(p->a, "%.3g%s%s", x, *unit[k] ? gap : "", unit[k]);
}

const char *page_seconds(const page *p, double s) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  return scaled(p, 1e9 * s, units, 4, " ");
}

const char *page_count(const page *p, double n) {
  static const char *const units[] = {"", "K", "M", "G", "T", "P"};
  return scaled(p, n, units, 6, " ");
}

const char *page_percent(const page *p, double share) {
  return neo_arena_printf(p->a, share < 0.1 ? "%.1f %%" : "%.0f %%", 100 * share);
}

void page_put_line(page *p, page_line l) {
  const char *of = l.file ? neo_path_stem(p->a, neo_sources_name(p->c->sources, l.file)) : NULL;
  neoc_html_link(p->out, neo_arena_printf(p->a, "#f%u-%u", l.file, l.line),
                 of ? neo_arena_printf(p->a, "%s:%u", of, l.line)
                    : neo_arena_printf(p->a, "%u", l.line));
}
