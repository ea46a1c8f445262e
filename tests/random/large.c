/* See large.h: what all families share. */
#include "base/hash.h"
#include "base/random.h"
#include "ir/interp/interp.h"
#include "tests/random/large_parts.h"
#include <string.h>

int64_t lg_pick(lg_writer *w, int64_t lo, int64_t hi) {
  return lo + (int64_t)(neo_splitmix(&w->state) % (uint64_t)(hi - lo + 1));
}

bool lg_chance(lg_writer *w, int percent) {
  return lg_pick(w, 1, 100) <= percent;
}

const char *lg_choose(lg_writer *w, const char *const *of, size_t n) {
  return of[lg_pick(w, 0, (int64_t)n - 1)];
}

int64_t lg_extent(lg_writer *w, int64_t lo, int64_t hi) {
  enum { PIECE = 8 }; /* elements of 2 bytes in 16 */
  int64_t n = lg_pick(w, lo, hi);
  return lg_chance(w, 50) ? n / PIECE * PIECE : n;
}

lg_axis lg_axis_of(lg_writer *w, const char *name, int64_t extent, int percent) {
  lg_axis x = {name, extent, NULL};
  if (!lg_chance(w, percent))
    return x;
  x.size = neo_arena_printf(w->a, "R%s", name);
  neo_str_addf(&w->text, "dim %s <= %lld\n", x.size, (long long)extent);
  return x;
}

const char *lg_range(lg_writer *w, const lg_axis *x) {
  return x->size ? neo_arena_printf(w->a, "%s < %s", x->name, x->size)
                 : neo_arena_printf(w->a, "%s < %lld", x->name, (long long)x->extent);
}

lg_dim lg_dim_of(const lg_axis *x, int64_t more) {
  return (lg_dim){x->name, x->extent + more, x->size};
}

/* ---- inputs */

const char *lg_type(lg_writer *w) {
  static const char *const types[] = {"bf16", "f16", "bf16", "f16", "f32"};
  return LG_CHOOSE(w, types);
}

const char *lg_given(lg_writer *w, const char *name, const char *type, const lg_dim *dim, int n) {
  neo_str at;
  neo_str_init(&at, w->a);
  neo_str_addf(&w->text, "input %s[", name);
  for (int k = 0; k < n; k++) {
    const char *comma = k ? ", " : "";
    neo_str_addf(&at, "%s%s", comma, dim[k].at);
    if (dim[k].size)
      neo_str_addf(&w->text, "%s%s", comma, dim[k].size);
    else
      neo_str_addf(&w->text, "%s%lld", comma, (long long)dim[k].room);
  }
  neo_str_addf(&w->text, "] : %s\n", type);
  return neo_arena_printf(w->a, "%s[%s]", name, neo_str_text(&at));
}

const char *lg_input(lg_writer *w, const char *name, const char *type, lg_dim *dim, int n,
                     int aligned) {
  enum { PIECE = 8 };
  bool always = aligned == 100;
  for (int k = n - 1; k > 0; k--) {
    int64_t j = lg_pick(w, 0, k);
    lg_dim x = dim[k];
    dim[k] = dim[j];
    dim[j] = x;
  }
  for (int k = 0; always && k < n - 1 && (dim[n - 1].size || dim[n - 1].room < PIECE); k++) {
    lg_dim x = dim[n - 1];
    dim[n - 1] = dim[k];
    dim[k] = x;
  }
  if (!dim[n - 1].size && lg_chance(w, aligned))
    dim[n - 1].room = (dim[n - 1].room + PIECE - 1) / PIECE * PIECE;
  return lg_given(w, name, type, dim, n);
}

const char *lg_f32(lg_writer *w, const char *type, const char *element) {
  return strcmp(type, "f32") == 0 ? element : neo_arena_printf(w->a, "f32(%s)", element);
}

/* ---- values */

double neo_large_element(uint64_t seed, const char *name, neo_type t, bool narrow, uint64_t k) {
  uint64_t h = neo_hash_mix(neo_hash(name, strlen(name), seed), k);
  double x = (double)(h >> 11) * 0x1p-52 - 1;
  return neo_value_round(t, narrow ? neo_value_round(NEO_BF16_T, x) : x);
}

/* ---- programs */

/* Products of f32 are rounded, or three; those of narrower types do not care. */
static neo_precision precision_of(uint64_t seed) {
  static const neo_precision math[] = {NEO_PRECISION_TF32, NEO_PRECISION_BF16, NEO_PRECISION_BF16,
                                       NEO_PRECISION_TF32, NEO_PRECISION_3XTF32};
  return math[seed % (sizeof math / sizeof *math)];
}

neo_large neo_large_make(neo_arena *a, neo_large_kind kind, uint64_t seed) {
  static const char *const names[] = {"product", "window", "attention"};
  static const char *const maths[] = {"f32", "bf16", "tf32", "3xtf32"};
  static void (*const write[])(lg_writer *) = {lg_product, lg_window, lg_attention};
  lg_writer w = {
      .a = a, .state = neo_hash_mix(seed, (uint64_t)kind + 1), .math = precision_of(seed)};
  neo_large g = {.store = seed / 5 % 4 == 0 ? NEO_PRECISION_BF16 : NEO_PRECISION_F32};
  neo_str_init(&w.text, a);
  write[kind](&w);
  g.math = w.math;
  g.narrow = w.rounds || w.math == NEO_PRECISION_BF16;
  g.text = neo_arena_printf(a, "# %s, seed %llu, --math=%s --store=%s\n%s", names[kind],
                            (unsigned long long)seed, maths[g.math], maths[g.store],
                            neo_str_text(&w.text));
  return g;
}
