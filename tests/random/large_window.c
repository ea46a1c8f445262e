/* Convolutions and their gradients (large.h): the image's points are the rows of a product, the
 * filters its columns. */
#include "tests/random/large_parts.h"
#include <string.h>

typedef struct {
  int64_t images, channels, filters, side[2], taps[2], stride, edge, out[2];
} shape;

/* Points of all images, channels times taps, and filters are enough for the matrix units. */
static shape draw_shape(lg_writer *w) {
  enum { LEAST_STEPS = 192 };
  shape s = {.images = lg_pick(w, 1, 2), .filters = lg_extent(w, 64, 100)};
  s.stride = lg_chance(w, 70) ? 1 : 2;
  for (int k = 0; k < 2; k++) {
    s.taps[k] = lg_pick(w, 1, 3);
    s.side[k] = s.stride * lg_pick(w, 8, 10);
  }
  s.edge = lg_pick(w, 0, 1);
  int64_t taps = s.taps[0] * s.taps[1], least = (LEAST_STEPS + taps - 1) / taps;
  s.channels = lg_extent(w, least + 8, least + 16);
  for (int k = 0; k < 2; k++)
    s.out[k] = (s.side[k] + 2 * s.edge - s.taps[k]) / s.stride + 1;
  return s;
}

static const char *point(lg_writer *w, const shape *s, const char *at, const char *tap) {
  const char *stride = s->stride > 1 ? neo_arena_printf(w->a, "%lld*", (long long)s->stride) : "";
  const char *edge = s->edge ? neo_arena_printf(w->a, " - %lld", (long long)s->edge) : "";
  return neo_arena_printf(w->a, "%s%s + %s%s", stride, at, tap, edge);
}

/* Channels are the innermost axis, or where they stand in most frameworks. */
static const char *image_of(lg_writer *w, const shape *s, const char *type) {
  lg_dim n = {"n", s->images, NULL}, c = {"c", s->channels, NULL};
  lg_dim h = {point(w, s, "p", "r"), s->side[0], NULL},
         v = {point(w, s, "q", "s"), s->side[1], NULL};
  lg_dim inner[] = {n, h, v, c}, outer[] = {n, c, h, v};
  const char *e = lg_given(w, "X", type, lg_chance(w, 60) ? inner : outer, 4);
  return lg_f32(w, type, s->edge ? neo_arena_printf(w->a, "(%s else 0)", e) : e);
}

static const char *filter_of(lg_writer *w, const shape *s, const char *type) {
  lg_dim dim[] = {{"f", s->filters, NULL},
                  {"c", s->channels, NULL},
                  {"r", s->taps[0], NULL},
                  {"s", s->taps[1], NULL}};
  lg_dim turned[] = {dim[0], dim[2], dim[3], dim[1]};
  return lg_f32(w, type, lg_given(w, "F", type, lg_chance(w, 60) ? dim : turned, 4));
}

void lg_window(lg_writer *w) {
  shape s = draw_shape(w);
  const char *type = lg_type(w), *x = image_of(w, &s, type), *f = filter_of(w, &s, type);
  lg_dim n = {"n", s.images, NULL}, p = {"p", s.out[0], NULL}, q = {"q", s.out[1], NULL};
  lg_dim m = {"f", s.filters, NULL}, inner[] = {n, p, q, m}, outer[] = {n, m, p, q};
  bool is_inner = lg_chance(w, 50), gradients = lg_chance(w, 35);
  const char *points =
      neo_arena_printf(w->a, "p < %lld, q < %lld", (long long)s.out[0], (long long)s.out[1]);
  const char *filters = neo_arena_printf(w->a, "f < %lld", (long long)s.filters);
  const char *left = neo_arena_printf(w->a, "n < %lld, %s, %s", (long long)s.images,
                                      is_inner ? points : filters, is_inner ? filters : points);
  if (gradients)
    lg_given(w, "G", "f32", is_inner ? inner : outer, 4);
  const char *bias = lg_chance(w, 30) ? lg_given(w, "C", "f32", &m, 1) : "0";
  neo_str_addf(&w->text, "Y[%s] = (sum[c < %lld, r < %lld, s < %lld] %s * %s) + %s\n", left,
               (long long)s.channels, (long long)s.taps[0], (long long)s.taps[1], x, f, bias);
  neo_str_add(&w->text,
              gradients ? "dX, dF = grad(Y, X, F, seed = G)\noutput dX, dF\n" : "output Y\n");
}
