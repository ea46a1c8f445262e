/* Memory over time, as a picture: the steps of an entry to the right, bytes of its frame upwards,
 * each tensor a rectangle at its planned offset, from the step that writes it to the last one that
 * reads it. A line shows the bytes that are alive at each step; its largest value is the lower
 * bound of any plan, and the frame's size is the upper edge. Below, on the same axis, the model's
 * time of each step. */
#include "tools/neoc/explain/page.h"
#include <string.h>

#define WIDTH 1060.0
#define LEFT 84.0
#define RIGHT 12.0
#define TOP 44.0
#define HEIGHT 300.0
#define GAP 30.0
#define BARS 64.0

typedef struct {
  page *p;
  const neo_rt_entry *e;
  int32_t number;     /* number of the entry */
  neoc_passes passes; /* passes of a training entry; else null */
  double *alive;      /* bytes at each step */
  double top;         /* bytes at the upper edge */
} picture;

static double x_of(const picture *f, double step) {
  return LEFT + (WIDTH - LEFT - RIGHT) * step / f->e->n_steps;
}

static double y_of(const picture *f, double bytes) {
  return TOP + HEIGHT * (1 - bytes / f->top);
}

static const char *number(const picture *f, double x) {
  return neo_arena_printf(f->p->a, "%.2f", x);
}

static void put_rect(const picture *f, const char *class, double x, double y, double w, double h) {
  neoc_html_empty(f->p->out, "rect", "class", class, "x", number(f, x), "y", number(f, y), "width",
                  number(f, w), "height", number(f, h), NULL);
}

static void put_text(const picture *f, const char *class, double x, double y, const char *text) {
  neoc_html_leaf(f->p->out, "text", text, "class", class, "x", number(f, x), "y", number(f, y),
                 NULL);
}

static void put_line(const picture *f, const char *class, double x0, double y0, double x1,
                     double y1) {
  neoc_html_empty(f->p->out, "line", "class", class, "x1", number(f, x0), "y1", number(f, y0), "x2",
                  number(f, x1), "y2", number(f, y1), NULL);
}

/* ---- axes */

/* The distance of tick marks in bytes: a power of two, so that there are at most six. */
static int64_t byte_tick(double top) {
  int64_t tick = 1;
  while ((double)tick * 6 < top)
    tick *= 2;
  return tick;
}

/* The distance of tick marks in steps: 1, 2 or 5 times a power of ten, so that there are at most
 * twenty. */
static int32_t step_tick(int32_t n) {
  int32_t tick = 1;
  for (int k = 0; tick * 20 < n; k++)
    tick = k % 3 == 1 ? tick / 2 * 5 : tick * 2;
  return tick;
}

static void put_axes(const picture *f) {
  neo_arena *a = f->p->a;
  int64_t bytes = byte_tick(f->top);
  int32_t steps = step_tick(f->e->n_steps);
  for (int64_t k = 0; (double)k <= f->top; k += bytes) {
    put_line(f, "grid", LEFT, y_of(f, (double)k), WIDTH - RIGHT, y_of(f, (double)k));
    put_text(f, "end", LEFT - 8, y_of(f, (double)k) + 4, neoc_bytes_text(a, k));
  }
  for (int32_t k = 0; k < f->e->n_steps; k += steps)
    put_text(f, "mid", x_of(f, k + 0.5), TOP + HEIGHT + 16, neo_arena_printf(a, "%d", k));
}

/* ---- tensors */

static const char *class_of(const picture *f, neo_tensor t) {
  if (!f->passes.forward || !f->passes.forward[t.i])
    return f->passes.forward ? "backward" : "forward";
  return f->passes.saved[t.i] ? "saved" : "forward";
}

static const char *life_text(const picture *f, const neo_plan_place *x) {
  int64_t hi = x->offset + x->size_bytes;
  return neo_arena_printf(f->p->a, "%s: %s (%lld bytes), at %lld to %lld, steps %d to %d",
                          page_tensor_name(f->p, x->tensor),
                          neoc_bytes_text(f->p->a, x->size_bytes), (long long)x->size_bytes,
                          (long long)x->offset, (long long)hi, x->first, x->last);
}

static void put_name(const picture *f, const neo_plan_place *x, double w, double h) {
  enum { LETTER = 7, LINE = 13 };
  const char *name = page_tensor_name(f->p, x->tensor);
  if (w < (double)strlen(name) * LETTER + 6 || h < LINE)
    return;
  double y = y_of(f, (double)x->offset + (double)x->size_bytes / 2) + 4;
  put_text(f, "name", x_of(f, x->first) + 4, y, name);
}

static void put_place(const picture *f, const neo_plan_place *x) {
  int32_t g = page_step_group(f->p, f->e, x->first);
  double w = x_of(f, x->last + 1) - x_of(f, x->first);
  double h = HEIGHT * (double)x->size_bytes / f->top;
  const char *of = g < 0 ? NULL : neo_arena_printf(f->p->a, "%d", g);
  neoc_html_open(f->p->out, "a", "href", g < 0 ? NULL : page_href(f->p, "g", (uint32_t)g), "data-g",
                 of, NULL);
  neoc_html_leaf(f->p->out, "title", life_text(f, x), NULL);
  put_rect(f, class_of(f, x->tensor), x_of(f, x->first),
           y_of(f, (double)(x->offset + x->size_bytes)), w, h < 0.5 ? 0.5 : h);
  put_name(f, x, w, h);
  neo_str_add(f->p->out, "</a>\n");
}

static void put_places(const picture *f) {
  const neo_plan *plan = f->p->c->plan;
  for (size_t k = 0; k < plan->places.n; k++)
    if (plan->places.at[k].entry == f->number && plan->places.at[k].size_bytes > 0)
      put_place(f, &plan->places.at[k]);
}

/* ---- live bytes, their peak, and the bound */

static void find_alive(picture *f) {
  const neo_plan *plan = f->p->c->plan;
  f->alive = NEO_NEW_ARRAY(f->p->a, double, (size_t)f->e->n_steps + 1);
  for (size_t i = 0; i < plan->places.n; i++) {
    const neo_plan_place *x = &plan->places.at[i];
    for (int32_t k = x->first; x->entry == f->number && k <= x->last; k++)
      f->alive[k] += (double)x->size_bytes;
  }
}

static int32_t fullest(const picture *f) {
  int32_t best = 0;
  for (int32_t k = 1; k < f->e->n_steps; k++)
    best = f->alive[k] > f->alive[best] ? k : best;
  return best;
}

static void put_alive(const picture *f) {
  neo_str d = neo_str_in(f->p->a);
  for (int32_t k = 0; k < f->e->n_steps; k++) {
    double y = y_of(f, f->alive[k]);
    neo_str_addf(&d, "%s%.2f %.2fH%.2f", k ? "L" : "M", x_of(f, k), y, x_of(f, k + 1));
  }
  neoc_html_empty(f->p->out, "path", "class", "alive", "d", neo_str_text(&d), NULL);
}

static void put_marks(const picture *f) {
  neo_arena *a = f->p->a;
  double frame = (double)f->e->frame_bytes, bound = (double)f->e->lower_bound_bytes;
  int32_t k = fullest(f), g = page_step_group(f->p, f->e, k);
  put_line(f, "peak", LEFT, y_of(f, frame), WIDTH - RIGHT, y_of(f, frame));
  put_line(f, "bound", LEFT, y_of(f, bound), WIDTH - RIGHT, y_of(f, bound));
  put_text(f, "peak", LEFT, TOP - 26,
           neo_arena_printf(a, "planned peak %s (%lld bytes)",
                            neoc_bytes_text(a, f->e->frame_bytes), (long long)f->e->frame_bytes));
  put_text(f, "bound", WIDTH - RIGHT, TOP - 26,
           neo_arena_printf(a, "lower bound %s (%lld bytes), ratio %.3f",
                            neoc_bytes_text(a, f->e->lower_bound_bytes),
                            (long long)f->e->lower_bound_bytes, bound > 0 ? frame / bound : 1));
  double x = x_of(f, k + 0.5), y = y_of(f, f->alive[k]);
  neoc_html_open(f->p->out, "g", NULL);
  neoc_html_leaf(f->p->out, "title",
                 neo_arena_printf(a, "fullest at step %d, %s", k,
                                  g < 0 ? "a copy" : f->p->c->grouping.groups.at[g].name),
                 NULL);
  neoc_html_empty(f->p->out, "path", "class", "mark", "d",
                  neo_arena_printf(a, "M%.2f %.2fl-5 -8h10z", x, y - 1), NULL);
  neoc_html_close(f->p->out, "g");
}

/* ---- time of each step */

static void put_bar(const picture *f, int32_t k, double most, double total) {
  int32_t g = page_step_group(f->p, f->e, k);
  double t = page_step_seconds(f->p, f->e, k);
  if (g < 0 || !(t > 0))
    return;
  double h = BARS * t / most, x = x_of(f, k), w = x_of(f, k + 1) - x;
  neoc_html_open(f->p->out, "a", "href", page_href(f->p, "g", (uint32_t)g), "data-g",
                 neo_arena_printf(f->p->a, "%d", g), NULL);
  neoc_html_leaf(f->p->out, "title",
                 neo_arena_printf(f->p->a, "step %d, %s: %s, %s", k,
                                  f->p->c->grouping.groups.at[g].name, page_seconds(f->p, t),
                                  page_percent(f->p, t / total)),
                 NULL);
  put_rect(f, "bar", x + w * 0.08, TOP + HEIGHT + GAP + BARS - h, w * 0.84, h);
  neo_str_add(f->p->out, "</a>\n");
}

static void put_bars(const picture *f) {
  double most = 0, total = page_entry_seconds(f->p, f->e);
  for (int32_t k = 0; k < f->e->n_steps; k++) {
    double t = page_step_seconds(f->p, f->e, k);
    most = t > most ? t : most;
  }
  for (int32_t k = 0; k < f->e->n_steps; k++)
    put_bar(f, k, most, total);
  put_line(f, "grid", LEFT, TOP + HEIGHT + GAP + BARS, WIDTH - RIGHT, TOP + HEIGHT + GAP + BARS);
  put_text(f, "end", LEFT - 8, TOP + HEIGHT + GAP + 12, page_seconds(f->p, most));
  put_text(f, "end", LEFT - 8, TOP + HEIGHT + GAP + BARS, "time");
  put_text(f, "end", LEFT - 8, TOP + HEIGHT + 16, "step");
}

/* ---- the whole */

static void put_legend(const picture *f) {
  neo_str *out = f->p->out;
  neo_str_add(out, "<figcaption>");
  neoc_html_leaf(out, "span", "forward pass", "class", "key forward", NULL);
  if (f->passes.forward) {
    neoc_html_leaf(out, "span", "read again by the backward pass", "class", "key saved", NULL);
    neoc_html_leaf(out, "span", "backward pass", "class", "key backward", NULL);
  }
  neoc_html_leaf(out, "span", "sum of what is alive", "class", "key alive", NULL);
  neo_str_add(out, "</figcaption>\n");
}

/* The module's entry for an entry of the plan; null for that of initial values. */
static const neo_entry_rec *entry_of(const page *p, const neo_rt_entry *e) {
  const neo_module *m = p->c->module;
  for (size_t k = 0; k < m->entries.n && e->kind != NEO_RT_ENTRY_INIT; k++)
    if (neo_streq(neo_name_text(m->names, m->entries.at[k].name), e->name))
      return &m->entries.at[k];
  return NULL;
}

void page_put_memory(page *p, const neo_rt_entry *e) {
  picture f = {.p = p, .e = e, .number = (int32_t)(e - p->c->plan->entries.at)};
  const neo_entry_rec *rec = entry_of(p, e);
  if (!e->n_steps)
    return;
  if (e->kind == NEO_RT_ENTRY_TRAIN && rec && rec->outputs.n)
    f.passes = neoc_passes_of(p->c, p->a, rec);
  f.top = e->frame_bytes > 0 ? (double)e->frame_bytes : 1;
  find_alive(&f);
  const char *box = neo_arena_printf(p->a, "0 0 %.0f %.0f", WIDTH, TOP + HEIGHT + GAP + BARS + 8);
  neo_str_add(p->out, "<figure>\n");
  neoc_html_open(p->out, "svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox", box, "role",
                 "img", "class", "memory", NULL);
  neoc_html_leaf(p->out, "title", neo_arena_printf(p->a, "memory of %s over its steps", e->name),
                 NULL);
  put_axes(&f);
  put_places(&f);
  put_alive(&f);
  put_marks(&f);
  put_bars(&f);
  neo_str_add(p->out, "</svg>\n");
  put_legend(&f);
  neo_str_add(p->out, "</figure>\n");
}
