/* Sums inside of sums: attention (large.h). */
#include "tests/random/large_parts.h"
#include <string.h>

typedef struct {
  lg_writer *w;
  lg_axis head, row, key, inner, value;
  const char *type;
  bool turned; /* heads are the outermost axis */
} attention;

static const char *input_of(attention *t, const char *name, const lg_axis *along,
                            const lg_axis *width, const char *type) {
  lg_dim dim[] = {lg_dim_of(along, 0), lg_dim_of(&t->head, 0), lg_dim_of(width, 0)};
  lg_dim turned[] = {dim[1], dim[0], dim[2]};
  return lg_given(t->w, name, type, t->turned ? turned : dim, 3);
}

/* Some leave nothing of a row. */
static const char *mask_of(attention *t) {
  lg_writer *w = t->w;
  int64_t kind = lg_pick(w, 0, 7), width = lg_pick(w, 1, 60);
  if (kind < 3)
    return "";
  if (kind < 5)
    return neo_arena_printf(w->a, " where j <= i + %lld", (long long)(kind == 3 ? 0 : width));
  if (kind == 5)
    return neo_arena_printf(w->a, " where j <= i + %lld and i - j < %lld", (long long)width / 4,
                            (long long)width);
  if (kind == 6) {
    lg_dim dim = lg_dim_of(&t->key, 0);
    return neo_arena_printf(w->a, " where j == 0 or %s", lg_given(w, "M", "bool", &dim, 1));
  }
  return neo_arena_printf(w->a, " where i - j < %lld or j == 0", (long long)width);
}

static attention draw_shape(lg_writer *w) {
  attention t = {.w = w, .type = lg_type(w), .turned = lg_chance(w, 30)};
  bool odd = lg_chance(w, 20);
  int64_t inner = odd ? lg_pick(w, 17, 40) : 8 * lg_pick(w, 2, 6);
  int64_t value = odd ? lg_pick(w, 17, 40) : 8 * lg_pick(w, 2, 6);
  t.head = (lg_axis){"h", lg_pick(w, 1, 2), NULL};
  t.row = lg_axis_of(w, "i", lg_extent(w, 64, 96), 25);
  t.key = lg_axis_of(w, "j", lg_extent(w, 64, 128), 25);
  t.inner = (lg_axis){"d", inner, NULL};
  t.value = (lg_axis){"e", value, NULL};
  return t;
}

void lg_attention(lg_writer *w) {
  attention t = draw_shape(w);
  const char *q = lg_f32(w, t.type, input_of(&t, "Q", &t.row, &t.inner, t.type));
  const char *k = lg_f32(w, t.type, input_of(&t, "K", &t.key, &t.inner, t.type));
  const char *v = lg_f32(w, t.type, input_of(&t, "V", &t.key, &t.value, t.type));
  const char *h = lg_range(w, &t.head), *i = lg_range(w, &t.row), *j = lg_range(w, &t.key);
  const char *mask = mask_of(&t);
  neo_str_addf(&w->text, "S[%s, %s, %s] = 0.5*(sum[%s] %s * %s)\n", h, i, j, lg_range(w, &t.inner),
               q, k);
  neo_str_addf(&w->text, "Z[%s, %s] = logsumexp[%s%s] S[h, i, j]\n", h, i, j, mask);
  neo_str_addf(&w->text, "Y[%s, %s, %s] = sum[%s%s] exp(S[h, i, j] - Z[h, i]) * %s\n", i, h,
               lg_range(w, &t.value), j, mask, v);
  if (!lg_chance(w, 35)) {
    neo_str_add(&w->text, "output Y\n");
    return;
  }
  lg_dim dim[] = {lg_dim_of(&t.row, 0), lg_dim_of(&t.head, 0), lg_dim_of(&t.value, 0)};
  lg_given(w, "G", "f32", dim, 3);
  neo_str_add(&w->text, "dQ, dK, dV = grad(Y, Q, K, V, seed = G)\noutput dQ, dK, dV\n");
}
