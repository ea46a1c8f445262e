/* Mistakes that a comparison of large programs with the reference interpreter would notice
 * (tests/random/large.h): where a kernel took elements of an operand from wrong places, results are
 * off by many times the bound within which they are compared. Mistakes are made here in the inputs:
 * pieces of 16 bytes exchanged, as by a wrong swizzle; elements a block of steps away, as of a
 * wrong stage; another operand's; and, the least, two neighbours exchanged in a few places. */
#include "tests/pipeline/plan_world.h"
#include "tests/random/large.h"
#include "tests/random/seeds.h"
#include <math.h>

enum { N_SEEDS = 2, FAR = 8, PIECE = 8, STAGE = 64, PLACES = 9 };

typedef enum { PIECES, STAGES, OPERANDS, NEIGHBOURS, MISTAKES } mistake;

typedef struct {
  neo_arena *a;
  neo_module *m;
  neo_interp *right, *wrong;
  uint64_t seed;
  const neo_large *program;
} pair;

static bool is_operand(const neo_module *m, uint32_t t) {
  return m->tensors.at[t].role == NEO_ROLE_INPUT &&
         neo_type_is_float((neo_type)m->tensors.at[t].type);
}

static void fill(pair *p, neo_interp *in) {
  for (uint32_t t = 1; t < p->m->tensors.n; t++) {
    if (p->m->tensors.at[t].role != NEO_ROLE_INPUT)
      continue;
    const neo_tensor_rec *r = &p->m->tensors.at[t];
    const char *name = neo_name_text(p->m->names, r->name);
    neo_values *v = neo_interp_tensor(in, (neo_tensor){t});
    for (int64_t k = 0; k < v->n; k++)
      if (is_operand(p->m, t))
        v->at[k].f =
            neo_large_element(p->seed, name, (neo_type)r->type, p->program->narrow, (uint64_t)k);
      else
        v->at[k].i = 1;
  }
}

/* All results follow from it: gradients from G, else from the first operand. */
static neo_tensor operand(const neo_module *m) {
  neo_tensor g = neo_tensor_find(m, "G");
  uint32_t t = 1;
  while (!is_operand(m, t))
    t++;
  return g.i ? g : (neo_tensor){t};
}

static void make(pair *p, mistake what) {
  neo_tensor t = operand(p->m);
  neo_values *v = neo_interp_tensor(p->wrong, t);
  const neo_value *from = neo_interp_tensor(p->right, t)->at;
  neo_type type = (neo_type)neo_tensor_at(p->m, t)->type;
  for (int64_t k = 0; k < v->n; k++) {
    int64_t other = what == PIECES ? k ^ PIECE : what == STAGES ? (k + STAGE) % v->n : k;
    v->at[k] = from[other < v->n ? other : k];
    if (what == OPERANDS)
      v->at[k].f = neo_large_element(p->seed, "another", type, p->program->narrow, (uint64_t)k);
  }
  for (int64_t k = 0; what == NEIGHBOURS && k + 1 < v->n; k += v->n / PLACES) {
    v->at[k] = from[k + 1];
    v->at[k + 1] = from[k];
  }
}

typedef struct {
  int64_t n, far;
} result;

/* Elements of all outputs, and those of them that are far off. */
static result compare(pair *p) {
  neo_entry_rec rec = p->m->entries.at[0];
  result r = {0};
  for (uint32_t k = 0; k < rec.outputs.n; k++) {
    neo_tensor t = {neo_list_at(p->m, rec.outputs, k)};
    const neo_values *x = neo_interp_output(p->right, k), *y = neo_interp_output(p->wrong, k);
    const double *error = neo_interp_errors(p->right, t);
    for (int64_t i = 0; i < x->n; i++)
      r.far += fabs(x->at[i].f - y->at[i].f) > FAR * (error ? error[i] : 0);
    r.n += x->n;
  }
  return r;
}

static void run(neo_interp *in) {
  neo_arena a;
  neo_str why;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&why, &a);
  if (neo_interp_run(in, 0, &why))
    fail_msg("%s", neo_str_text(&why));
  neo_arena_free(&a);
}

static void check_seed(neo_large_kind kind, uint64_t seed, double least) {
  plan_world w;
  world_open(&w);
  neo_large g = neo_large_make(&w.c.arena, kind, seed);
  w.c.options.math = g.math;
  w.seed = seed;
  world_source(&w, g.text);
  assert_int_equal(neo_compile_passes(&w.c), 0);
  int64_t *sizes = NEO_NEW_ARRAY(&w.c.arena, int64_t, w.c.module->sizes.n + 1);
  for (uint32_t k = 1; k < w.c.module->sizes.n; k++)
    sizes[k] = w.c.module->sizes.at[k].hi;
  pair p = {&w.c.arena,
            w.c.module,
            neo_interp_new(&w.c.arena, w.c.module, sizes, seed),
            neo_interp_new(&w.c.arena, w.c.module, sizes, seed),
            seed,
            &g};
  neo_interp_track_errors(p.right, true);
  fill(&p, p.right);
  run(p.right);
  for (mistake what = PIECES; what < MISTAKES; what++) {
    fill(&p, p.wrong);
    make(&p, what);
    run(p.wrong);
    result r = compare(&p);
    if (what == NEIGHBOURS ? r.far < 1 : (double)r.far < least * (double)r.n)
      fail_msg("%s\nmistake %d: %lld of %lld results are far off", g.text, (int)what,
               (long long)r.far, (long long)r.n);
  }
  world_close(&w);
}

static void check_seeds(neo_large_kind kind, double least) {
  neo_seeds s = neo_seeds_of(1, N_SEEDS);
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++)
    check_seed(kind, seed, least);
}

static void a_misplaced_element_of_a_product_is_far_beyond_the_bound(void **state) {
  (void)state;
  check_seeds(NEO_LARGE_PRODUCT, 0.6);
}

static void so_is_one_of_a_window(void **state) {
  (void)state;
  check_seeds(NEO_LARGE_WINDOW, 0.6);
}

static void so_is_one_of_a_sum_in_a_sum(void **state) {
  (void)state;
  check_seeds(NEO_LARGE_ATTENTION, 0.4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_misplaced_element_of_a_product_is_far_beyond_the_bound),
      cmocka_unit_test(so_is_one_of_a_window),
      cmocka_unit_test(so_is_one_of_a_sum_in_a_sum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
