/* Prices of a network's work for virtual time, from calls that were measured: for each node and
 * part a line a + b*x, where x is the first run-time size that varies; where none does, b is 0. A
 * few calls that something else held up do not count: those far from the line. */
#ifndef NEO_TOOLS_PRICES_H
#define NEO_TOOLS_PRICES_H
#include "tools/benchmarks/sides/bench.h"
#include <math.h>
#include <neo/neo_net.h>

enum { PRICES_PARTS = 3, PRICES_CALLS = 2000 };

typedef struct {
  int32_t n;
  double *x, *s; /* [PRICES_CALLS] */
  double at_0, slope;
} price_line;

typedef struct {
  const neo_rt_net *net;
  int32_t size;     /* x */
  price_line *line; /* [nodes][PARTS] */
} price_table;

static inline price_line *price_at(const price_table *p, int32_t node, int32_t part) {
  return &p->line[PRICES_PARTS * node + part];
}

static inline price_table prices_new(const neo_rt_net *net, int32_t size) {
  price_table p = {.net = net, .size = size};
  p.line = calloc((size_t)(PRICES_PARTS * net->n_nodes), sizeof *p.line);
  if (!p.line)
    bench_die("memory", "out of memory");
  return p;
}

/* Takes a call. */
static inline void prices_take(price_table *p, const neo_rt_net_work *w) {
  price_line *l = price_at(p, w->node, w->part);
  if (l->n == PRICES_CALLS)
    return;
  if (!l->s) {
    l->x = calloc(PRICES_CALLS, sizeof *l->x);
    l->s = calloc(PRICES_CALLS, sizeof *l->s);
    if (!l->x || !l->s)
      bench_die("memory", "out of memory");
  }
  l->x[l->n] = w->sizes && p->net->n_sizes ? (double)w->sizes[p->size] : 0;
  l->s[l->n++] = w->measured_s;
}

static inline void price_fit(price_line *l, const bool *use) {
  double n = 0, x = 0, s = 0, xx = 0, xs = 0;
  for (int32_t k = 0; k < l->n; k++) {
    if (use && !use[k])
      continue;
    n++;
    x += l->x[k];
    s += l->s[k];
    xx += l->x[k] * l->x[k];
    xs += l->x[k] * l->s[k];
  }
  double variance = n * xx - x * x;
  l->slope = variance > 1e-9 * n * n ? (n * xs - x * s) / variance : 0;
  l->slope = l->slope > 0 ? l->slope : 0;
  l->at_0 = n > 0 ? (s - l->slope * x) / n : 0;
}

static inline double price_of_line(const price_line *l, double x) {
  double s = l->at_0 + l->slope * x;
  return s > 0 ? s : 0;
}

/* Fits twice, the second time without the calls that are furthest from the first line. */
static inline void price_settle(price_line *l) {
  double *off = calloc((size_t)l->n + 1, sizeof *off),
         *sorted = calloc((size_t)l->n + 1, sizeof *off);
  bool *use = calloc((size_t)l->n + 1, sizeof *use);
  if (!off || !sorted || !use)
    bench_die("memory", "out of memory");
  price_fit(l, NULL);
  for (int32_t k = 0; k < l->n; k++)
    sorted[k] = off[k] = fabs(l->s[k] - price_of_line(l, l->x[k]));
  double middle = l->n ? bench_median(sorted, l->n) : 0;
  for (int32_t k = 0; k < l->n; k++)
    use[k] = off[k] <= 2 * middle;
  price_fit(l, use);
  free(off);
  free(sorted);
  free(use);
}

static inline void prices_write(const price_table *p, const char *path) {
  FILE *f = fopen(path, "w");
  if (!f)
    bench_die(path, "cannot be written");
  fprintf(f, "%d\n", p->size);
  for (int32_t k = 0; k < PRICES_PARTS * p->net->n_nodes; k++) {
    price_settle(&p->line[k]);
    fprintf(f, "%.17g %.17g\n", p->line[k].at_0, p->line[k].slope);
  }
  fclose(f);
}

static inline void prices_read(price_table *p, const char *path) {
  FILE *f = fopen(path, "r");
  bool good = f && fscanf(f, "%d", &p->size) == 1;
  for (int32_t k = 0; good && k < PRICES_PARTS * p->net->n_nodes; k++)
    good = fscanf(f, "%lf %lf", &p->line[k].at_0, &p->line[k].slope) == 2;
  if (!good)
    bench_die(path, "has no prices of this network");
  fclose(f);
}

static inline double price_of_work(const price_table *p, const neo_rt_net_work *w) {
  double x = w->sizes && p->net->n_sizes ? (double)w->sizes[p->size] : 0;
  return price_of_line(price_at(p, w->node, w->part), x);
}

#endif
