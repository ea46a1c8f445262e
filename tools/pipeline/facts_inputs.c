/* Sizes and inputs under which facts are checked. */
#include "base/hash.h"
#include "base/random.h"
#include "tools/pipeline/facts_parts.h"
#include <string.h>

enum { ELEMENTS = 400000, DRAWS = 100, SPREAD = 6 };

/* ---- sizes */

static bool obeys(const neo_module *m, const int64_t *sizes) {
  for (size_t k = 0; k < m->asserts.n; k++)
    if (!neo_size_value(m, m->asserts.at[k].holds, sizes))
      return false;
  return true;
}

static void draw_sizes(const neo_module *m, uint64_t *state, int64_t *sizes) {
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    const neo_size_rec *s = &m->sizes.at[k];
    uint64_t spread = s->hi - s->lo < SPREAD ? (uint64_t)(s->hi - s->lo + 1) : SPREAD + 1;
    sizes[k] = s->lo + (int64_t)(neo_splitmix(state) % spread);
  }
}

int64_t *neo_fact_sizes(neo_arena *a, const neo_module *m, uint64_t seed) {
  int64_t *sizes = NEO_NEW_ARRAY(a, int64_t, m->sizes.n + 1);
  for (int k = 0; k < DRAWS; k++) {
    draw_sizes(m, &seed, sizes);
    if (obeys(m, sizes))
      return sizes;
  }
  return NULL;
}

bool neo_fact_are_large(const neo_module *m, const int64_t *sizes) {
  int64_t sum = 0;
  for (uint32_t t = 1; t < m->tensors.n && sum <= ELEMENTS; t++) {
    int64_t extent[16], n = 1;
    (void)neo_tensor_elements_at(m, (neo_tensor){t}, sizes, extent);
    for (uint32_t d = 0; d < neo_tensor_rank(m, (neo_tensor){t}) && n <= ELEMENTS; d++)
      n = extent[d] ? n * (extent[d] < ELEMENTS ? extent[d] : ELEMENTS + 1) : 0;
    sum += n;
  }
  return sum > ELEMENTS;
}

/* ---- inputs */

typedef struct {
  neo_module *m;
  neo_interp *interp;
  const int64_t *sizes;
  uint32_t number;
  bool impossible;
} drawing;

/* Draws a float, by the number of the choice: multiples of 1/4, whose sums are exact and of which
 * many are equal; any numbers, for which rounding counts; positive numbers; one number only, so
 * that the first of equals counts. There are no infinities, as passes promise little about their
 * results. */
static double draw_float(uint32_t number, uint64_t h) {
  double unit = (double)(h >> 11) * 0x1p-53;
  switch (number) {
  case 0:
    return ((double)(h % 17) - 8) / 4;
  case 1:
    return 2 * unit - 1;
  case 2:
    return 1 - unit;
  default:
    return 0.5;
  }
}

static int64_t draw_between(int64_t least, int64_t below, uint64_t h) {
  return least < below ? least + (int64_t)(h % ((uint64_t)below - (uint64_t)least)) : least;
}

static int64_t draw_int(drawing *e, neo_tensor t, const neo_ends_at *ends, int64_t element,
                        uint64_t h) {
  const neo_tensor_rec *r = neo_tensor_at(e->m, t);
  int64_t least = r->type == NEO_U8_T ? 0 : -9, below = 10;
  if (r->type == NEO_BOOL_T)
    return (int64_t)(h & 1);
  if (ends->given)
    neo_ends_of_element(ends, element, &least, &below);
  if (r->bound.i) {
    int64_t bound = neo_size_value(e->m, r->bound, e->sizes);
    least = ends->given && least > 0 ? least : 0;
    below = ends->given && below < bound ? below : bound;
  }
  e->impossible = e->impossible || least >= below;
  return draw_between(least, below, h);
}

static void draw_tensor(drawing *e, neo_tensor t) {
  neo_tensor_rec r = *neo_tensor_at(e->m, t);
  const char *name = neo_name_text(e->m->names, r.name);
  uint64_t seed = neo_hash(name, strlen(name), e->number);
  neo_ends_at ends = neo_tensor_ends_at(e->m, t, e->sizes);
  neo_values *v = neo_interp_tensor(e->interp, t);
  for (int64_t k = 0; k < v->n; k++) {
    uint64_t h = neo_hash_mix(seed, (uint64_t)k);
    if (neo_type_is_float((neo_type)r.type))
      v->at[k].f = neo_value_round((neo_type)r.type, draw_float(e->number, h));
    else
      v->at[k].i = draw_int(e, t, &ends, k, h);
  }
}

/* Parameters and states of integers stay as their initial values are, which may be positions. */
bool neo_fact_draw(neo_module *m, neo_interp *interp, const int64_t *sizes, uint32_t number) {
  drawing x = {.m = m, .interp = interp, .sizes = sizes, .number = number};
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    const neo_tensor_rec *r = &m->tensors.at[t];
    bool kept = r->role == NEO_ROLE_PARAM || r->role == NEO_ROLE_STATE;
    if (r->role == NEO_ROLE_INPUT || (kept && neo_type_is_float((neo_type)r->type)))
      draw_tensor(&x, (neo_tensor){t});
  }
  return !x.impossible;
}
