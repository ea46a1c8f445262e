/* --curve: rows as a picture, one SVG that needs no other file. Panels are one below the other over
 * one axis of steps: the losses, with that of --test if there is one, and a panel for each other
 * value of --test. An axis whose values are positive and differ by more than 30 times is
 * logarithmic.
 *
 * The file also has the rows, as the text of <metadata>, so that a training that continues has the
 * earlier rows. */
#include "base/file.h"
#include "tools/neoc/train/log.h"
#include <errno.h>
#include <math.h>
#include <string.h>

enum {
  WIDTH = 760,
  HEIGHT = 230,
  LEFT = 74,
  RIGHT = 20,
  TOP = 40,
  BOTTOM = 34,
  MOST_PANELS = 12,
  MOST_TICKS = 20
};
static const char begin_rows[] = "<metadata id=\"neoc-history\">\n", end_rows[] = "</metadata>";
static const char *const colours[] = {"#1f77b4", "#d62728", "#2ca02c",
                                      "#9467bd", "#ff7f0e", "#8c564b"};
enum { N_COLOURS = sizeof colours / sizeof *colours };

typedef struct {
  const neoc_log *l;
  neo_str *out;
  const char *name;
  double lo, hi; /* range of values; of their logarithms if `log` */
  bool log;
  double first, last; /* steps */
  double top;         /* position of the panel's upper edge */
} panel;

static void put_text(neo_str *out, const char *text) {
  for (; *text; text++)
    if (*text == '<' || *text == '&')
      neo_str_add(out, *text == '<' ? "&lt;" : "&amp;");
    else
      neo_str_addc(out, *text);
}

/* ---- scales */

static bool in_panel(const panel *p, size_t column) {
  const char *name = p->l->panel[column];
  return name && neo_streq(name, p->name);
}

static bool usable(const neoc_log_value *v) {
  return v->has && isfinite(v->x);
}

static void choose_scale(panel *p) {
  double lo = INFINITY, hi = -INFINITY;
  for (size_t r = 0; r < p->l->n_rows; r++)
    for (size_t k = 0; k < p->l->columns.n; k++) {
      const neoc_log_value *v = &p->l->rows[r].value[k];
      if (!in_panel(p, k) || !usable(v))
        continue;
      lo = fmin(lo, v->x);
      hi = fmax(hi, v->x);
    }
  if (!(lo <= hi))
    lo = 0, hi = 1;
  p->log = lo > 0 && hi > 30 * lo;
  if (p->log)
    lo = log10(lo), hi = log10(hi);
  double pad = hi > lo ? 0.04 * (hi - lo) : fabs(hi) > 0 ? 0.5 * fabs(hi) : 0.5;
  p->lo = lo - pad;
  p->hi = hi + pad;
}

static double x_of(const panel *p, double step) {
  double range = p->last > p->first ? p->last - p->first : 1;
  return LEFT + (step - p->first) / range * (WIDTH - LEFT - RIGHT);
}

static double y_of(const panel *p, double value) {
  double v = p->log ? log10(value) : value;
  return p->top + TOP + (p->hi - v) / (p->hi - p->lo) * (HEIGHT - TOP - BOTTOM);
}

/* ---- axes */

/* 1, 2 or 5 times a power of ten, such that about n fit. */
static double tick_step(double range, int n) {
  double raw = range / n, power = pow(10, floor(log10(raw))), rest = raw / power;
  return power * (rest <= 1 ? 1 : rest <= 2 ? 2 : rest <= 5 ? 5 : 10);
}

static void put_y_tick(const panel *p, double value) {
  double y = y_of(p, value);
  neo_str_addf(p->out,
               "<line class=\"grid\" x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\"/>"
               "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.6g</text>\n",
               LEFT, y, WIDTH - RIGHT, y, LEFT - 6, y + 4, value);
}

static void put_log_ticks(const panel *p) {
  static const double parts[] = {1, 2, 5};
  size_t n = p->hi - p->lo > 2.5 ? 1 : 3;
  for (int power = (int)floor(p->lo); power <= (int)ceil(p->hi); power++)
    for (size_t k = 0; k < n; k++) {
      double v = parts[k] * pow(10, power);
      if (log10(v) >= p->lo && log10(v) <= p->hi)
        put_y_tick(p, v);
    }
}

static void put_y_axis(const panel *p) {
  if (p->log) {
    put_log_ticks(p);
    return;
  }
  double step = tick_step(p->hi - p->lo, 5);
  double first = ceil(p->lo / step);
  for (int k = 0; k < MOST_TICKS && (first + k) * step <= p->hi; k++)
    put_y_tick(p, (first + k) * step);
}

static void put_x_axis(const panel *p) {
  double step = fmax(1, tick_step(fmax(1, p->last - p->first), 8));
  double bottom = p->top + HEIGHT - BOTTOM;
  double first = ceil(p->first / step);
  for (double k = first; k < first + MOST_TICKS && k * step <= p->last; k++)
    neo_str_addf(p->out,
                 "<line class=\"axis\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>"
                 "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.0f</text>\n",
                 x_of(p, k * step), bottom, x_of(p, k * step), bottom + 4, x_of(p, k * step),
                 bottom + 16, k * step);
  neo_str_addf(
      p->out,
      "<rect class=\"axis\" x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" fill=\"none\"/>\n"
      "<text x=\"%d\" y=\"%.1f\" text-anchor=\"middle\">step</text>\n",
      LEFT, p->top + TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM,
      LEFT + (WIDTH - LEFT - RIGHT) / 2, bottom + 30);
  double middle = p->top + TOP + (HEIGHT - TOP - BOTTOM) / 2.0;
  neo_str_addf(
      p->out, "<text x=\"16\" y=\"%.1f\" text-anchor=\"middle\" transform=\"rotate(-90 16 %.1f)\">",
      middle, middle);
  put_text(p->out, p->name);
  neo_str_add(p->out, p->log ? " (log scale)</text>\n" : "</text>\n");
}

/* ---- lines */

/* Draws a column as a line. The line has a gap only where a row that could have the value lacks it,
 * or has one that is not finite: a value of --test is joined over the rows between epochs. */
static void put_line(const panel *p, size_t column, const char *colour) {
  bool open = false;
  size_t points = 0;
  neo_str_addf(p->out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" d=\"", colour);
  for (size_t r = 0; r < p->l->n_rows; r++) {
    const neoc_log_row *row = &p->l->rows[r];
    const neoc_log_value *v = &row->value[column];
    if (v->has && !usable(v))
      open = false;
    if (!usable(v))
      continue;
    neo_str_addf(p->out, "%c%.1f %.1f", open ? 'L' : 'M', x_of(p, (double)row->step),
                 y_of(p, v->x));
    open = true;
    points++;
  }
  neo_str_add(p->out, "\"/>\n");
  for (size_t r = 0; r < p->l->n_rows && points <= 60; r++) {
    const neoc_log_value *v = &p->l->rows[r].value[column];
    if (usable(v))
      neo_str_addf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" fill=\"%s\"/>",
                   x_of(p, (double)p->l->rows[r].step), y_of(p, v->x), colour);
  }
}

static void put_lines(const panel *p) {
  double at = LEFT;
  size_t n = neo_streq(p->name, "loss") ? 0 : 1; /* the first colour is that of training */
  for (size_t k = 0; k < p->l->columns.n; k++) {
    if (!in_panel(p, k))
      continue;
    const char *colour = colours[n++ % N_COLOURS], *name = p->l->columns.at[k];
    put_line(p, k, colour);
    neo_str_addf(p->out,
                 "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"3\" fill=\"%s\"/>"
                 "<text x=\"%.1f\" y=\"%.1f\">",
                 at, p->top + TOP - 12, colour, at + 19, p->top + TOP - 8);
    put_text(p->out, name);
    neo_str_add(p->out, "</text>\n");
    at += 40 + 7.0 * (double)strlen(name);
  }
}

static void put_panel(panel *p) {
  choose_scale(p);
  put_y_axis(p);
  put_x_axis(p);
  put_lines(p);
}

/* ---- the file */

/* The names of panels, in the order of their first columns. */
static size_t find_panels(const neoc_log *l, const char *names[MOST_PANELS]) {
  size_t n = 0;
  for (size_t k = 0; k < l->columns.n; k++) {
    bool known = !l->panel[k];
    for (size_t i = 0; i < n && !known; i++)
      known = neo_streq(names[i], l->panel[k]);
    if (!known && n < MOST_PANELS)
      names[n++] = l->panel[k];
  }
  return n;
}

static void put_head(const neoc_log *l, size_t panels, neo_str *out) {
  neo_str_addf(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
      "viewBox=\"0 0 %d %zu\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n<title>",
      WIDTH, panels * HEIGHT + 28, WIDTH, panels * HEIGHT + 28);
  put_text(out, l->title);
  neo_str_addf(out, "</title>\n%s", begin_rows);
  neoc_table_put_head(l, out);
  for (size_t r = 0; r < l->n_rows; r++)
    neoc_table_put_row(l, &l->rows[r], out);
  neo_str_addf(out,
               "%s\n<style>.grid{stroke:#ddd}.axis{stroke:#555}</style>\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
               "<text x=\"%d\" y=\"22\" font-size=\"15\">",
               end_rows, LEFT);
  put_text(out, l->title);
  neo_str_add(out, "</text>\n");
}

static void put_picture(const neoc_log *l, neo_str *out) {
  const char *names[MOST_PANELS];
  size_t n = find_panels(l, names);
  put_head(l, n, out);
  for (size_t k = 0; k < n; k++) {
    panel p = {.l = l, .out = out, .name = names[k], .top = 20.0 + HEIGHT * (double)k};
    p.first = l->n_rows ? (double)l->rows[0].step : 0;
    p.last = l->n_rows ? (double)l->rows[l->n_rows - 1].step : 1;
    put_panel(&p);
  }
  neo_str_add(out, "</svg>\n");
}

neoc_exit neoc_curve_write(neoc_log *l) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, l->cli->arena->on_fail);
  neo_str text = neo_str_in(&a);
  put_picture(l, &text);
  errno = 0;
  neoc_exit e = neo_file_write(&neo_io_default, l->curve_path, neo_str_text(&text), text.n)
                    ? neoc_log_failed(l, l->curve_path)
                    : NEOC_OK;
  neo_arena_free(&a);
  l->drawn = time(NULL);
  return e;
}

/* Continues an existing picture. One with other columns is replaced, as a picture is no record. */
neoc_exit neoc_curve_open(neoc_log *l) {
  char *text;
  size_t n;
  bool there = l->goes_on && !l->n_rows && neo_path_exists(l->curve_path) &&
               neo_file_read(&neo_io_default, l->cli->arena, l->curve_path, 0, &text, &n) == NEO_OK;
  const char *rows = there ? strstr(text, begin_rows) : NULL;
  if (rows)
    (void)neoc_table_parse(l, rows + sizeof begin_rows - 1);
  return NEOC_OK;
}
