/* Random programs of run-time cases, by integers and bools, nested, in the forward and the
 * backward pass, beside the interpreter. A kernel of a branch that is not taken writes nothing:
 * the paths to products are known, and what values the conditions had. */
#include "tests/effort.h"
#include "tests/pick.h"
#include "tests/pipeline/plan_world.h"
#include <string.h>

enum { MOST_ON_PATH = 8, MOST_PRODUCTS = 18, MOST_CHOICES = 24, MOST_LABELS = 3, DEPTH = 3 };

/* ---- programs */

typedef struct {     /* a side of a case */
  const char *value; /* name of the scalar, or of the tensor whose element `element` it is */
  int32_t element;
  int64_t label[MOST_LABELS];
  uint32_t n; /* labels before it and its own; `otherwise`: it is none of them */
  bool otherwise;
} side;

typedef struct {
  side at[MOST_ON_PATH];
  uint32_t n;
} path;

typedef struct { /* a scalar that a case may look at */
  const char *name, *text;
  int32_t element;
  bool is_bool;
  int64_t lo, hi; /* of an integer: labels */
  bool bounded;   /* they are all values that there can be */
} choice;

typedef struct {
  neo_arena *a;
  uint64_t seed;
  neo_str text, params;
  choice choices[MOST_CHOICES];
  uint32_t n_choices;
  path products[MOST_PRODUCTS]; /* of product number k: "p<k>" */
  uint32_t n_products, n_names;
  bool calls_random;
} drawing;

static bool chance(drawing *d, int64_t percent) {
  return neo_pick(&d->seed, 1, 100) <= percent;
}

static const char *fresh(drawing *d, const char *prefix) {
  return neo_arena_printf(d->a, "%s%u", prefix, d->n_names++);
}

static const char *spaces(const drawing *d, uint32_t depth) {
  return neo_arena_printf(d->a, "%*s", 2 * (int)depth, "");
}

static void add_choice(drawing *d, choice c) {
  if (d->n_choices < MOST_CHOICES)
    d->choices[d->n_choices++] = c;
}

/* A matrix product, whose number is in its name. */
static const char *draw_product(drawing *d, const char *x, const path *p, uint32_t depth) {
  if (d->n_products == MOST_PRODUCTS)
    return x;
  uint32_t k = d->n_products++;
  const char *name = neo_arena_printf(d->a, "p%u", k), *to = fresh(d, "v");
  d->products[k] = *p;
  neo_str_addf(&d->params, "param W%u[6, 6] = glorot(6, 6)\n", k);
  neo_str_addf(&d->text, "%s%s[b, j < 6] = sum[i] %s[b, i]*W%u[i, j]\n", spaces(d, depth), name, x,
               k);
  neo_str_addf(&d->text, "%s%s[b, j] = %s\n", spaces(d, depth), to,
               neo_arena_printf(d->a,
                                chance(d, 50)   ? "tanh(%s[b, j])"
                                : chance(d, 50) ? "%s[b, j]*0.5 + 1"
                                                : "max(%s[b, j], 0.1)",
                                name));
  return to;
}

static const char *draw_scan(drawing *d, const char *x, const path *p, uint32_t depth) {
  if (d->n_products == MOST_PRODUCTS)
    return x;
  uint32_t k = d->n_products++;
  const char *to = fresh(d, "v"), *in = spaces(d, depth);
  d->products[k] = *p;
  neo_str_addf(&d->params, "param W%u[6, 6] = glorot(6, 6)\n", k);
  neo_str_addf(&d->text,
               "%sh%u = scan t < 3 from h%u[b < B, j < 6] = 0 {\n"
               "%s  p%u[b, j < 6] = sum[i] h%u[b, i]*W%u[i, j]\n"
               "%s  next h%u[b, j] = tanh(p%u[b, j] + %s[b, j])\n%s}\n",
               in, k, k, in, k, k, k, in, k, k, x, in);
  neo_str_addf(&d->text, "%s%s[b, j] = h%u[b, j]\n", in, to, k);
  return to;
}

static const char *draw_gather(drawing *d, const char *x, uint32_t depth) {
  const char *to = fresh(d, "v"), *at = fresh(d, "q"), *in = spaces(d, depth);
  neo_str_addf(&d->text, "%s%s[b] = argmax[j] %s[b, j]\n", in, at, x);
  neo_str_addf(&d->text, "%s%s[b, j < 6] = %s[b, %s[b]] - X[b, j]\n", in, to, x, at);
  return to;
}

static void draw_scalar(drawing *d, const char *x, uint32_t depth) {
  const char *name = fresh(d, "s"), *in = spaces(d, depth);
  switch (neo_pick(&d->seed, 0, 4)) {
  case 0:
    neo_str_addf(&d->text, "%s%s = %s[0, 1] > 0.2\n", in, name, x);
    add_choice(d, (choice){name, name, -1, true, 0, 1, true});
    break;
  case 1:
    neo_str_addf(&d->text, "%s%s = (sum[b, j] %s[b, j]) < 1\n", in, name, x);
    add_choice(d, (choice){name, name, -1, true, 0, 1, true});
    break;
  case 2:
    neo_str_addf(&d->text, "%s%s = argmax[j where j < 3] %s[0, j]\n", in, name, x);
    add_choice(d, (choice){name, name, -1, false, 0, 2, false});
    break;
  case 3:
    neo_str_addf(&d->text, "%s%s = (k0 + k1)*2 - 1\n", in, name);
    add_choice(d, (choice){name, name, -1, false, -2, 3, false});
    break;
  default:
    neo_str_addf(&d->text, "%s%s = k0 == K[1] or f0\n", in, name);
    add_choice(d, (choice){name, name, -1, true, 0, 1, true});
  }
}

static const char *draw_block(drawing *d, const char *x, const path *p, uint32_t depth);

static void draw_side(drawing *d, const char *to, const char *x, const path *p, uint32_t depth) {
  const char *y = draw_block(d, x, p, depth + 1);
  neo_str_addf(&d->text, "%s  %s[b, j] = %s\n%s}\n", spaces(d, depth), to,
               neo_arena_printf(d->a, chance(d, 70) ? "%s[b, j]" : "%s[b, j] + X[b, j]", y),
               spaces(d, depth));
}

static const char *label_text(const drawing *d, const choice *c, int64_t x) {
  return c->is_bool ? (x ? "true" : "false") : neo_arena_printf(d->a, "%lld", (long long)x);
}

static const char *draw_case(drawing *d, const char *x, const path *p, uint32_t depth) {
  const choice c = d->choices[neo_pick(&d->seed, 0, d->n_choices - 1)];
  const char *to = fresh(d, "v");
  uint32_t visible = d->n_choices;
  int64_t all = c.hi - c.lo + 1, n = neo_pick(&d->seed, 1, all < MOST_LABELS ? all : MOST_LABELS);
  bool covers = c.bounded && n == all;
  side s = {.value = c.name, .element = c.element};
  neo_str_addf(&d->text, "%s%s = case %s {\n", spaces(d, depth), to, c.text);
  for (int64_t first = neo_pick(&d->seed, 0, all - 1); s.n < (uint32_t)n;) {
    path q = *p;
    s.label[s.n] = c.lo + (first + s.n) % all;
    neo_str_addf(&d->text, "%s%s {\n", spaces(d, depth + 1), label_text(d, &c, s.label[s.n++]));
    q.at[q.n++] = s;
    draw_side(d, to, x, &q, depth + 1);
    d->n_choices = visible;
  }
  if (!covers) {
    path q = *p;
    s.otherwise = true;
    q.at[q.n++] = s;
    neo_str_addf(&d->text, "%selse {\n", spaces(d, depth + 1));
    draw_side(d, to, x, &q, depth + 1);
    d->n_choices = visible;
  }
  neo_str_addf(&d->text, "%s}\n", spaces(d, depth));
  return to;
}

static const char *draw_block(drawing *d, const char *x, const path *p, uint32_t depth) {
  for (int64_t n = neo_pick(&d->seed, 0, 2); n >= 0; n--) {
    int64_t what = neo_pick(&d->seed, 0, 99);
    if (what < 35 && p->n < DEPTH)
      x = draw_case(d, x, p, depth);
    else if (what < 70)
      x = draw_product(d, x, p, depth);
    else if (what < 76)
      x = draw_scan(d, x, p, depth);
    else if (what < 84)
      x = draw_gather(d, x, depth);
    else if (what < 96)
      draw_scalar(d, x, depth);
    else
      d->calls_random = true;
  }
  return x;
}

static const char *draw_program(drawing *d, uint64_t seed) {
  const path none = {.n = 0};
  d->seed = seed;
  neo_str_init(&d->text, d->a);
  neo_str_init(&d->params, d->a);
  add_choice(d, (choice){"k0", "k0", -1, false, 0, 2, true});
  add_choice(d, (choice){"k1", "k1", -1, false, -1, 2, false});
  add_choice(d, (choice){"K", "K[2]", 2, false, 0, 3, true});
  add_choice(d, (choice){"f0", "f0", -1, true, 0, 1, true});
  const char *x = draw_case(d, "X", &none, 0);
  for (int64_t n = neo_pick(&d->seed, 0, 2); n > 0; n--)
    x = chance(d, 60) ? draw_case(d, x, &none, 0) : draw_product(d, x, &none, 0);
  return neo_arena_printf(
      d->a,
      "dim B <= 3\ninput X[B, 6]\ninput T[B, 6]\ninput k0 : i32 < 3\n"
      "input k2 : i32 < 4\ninput K[3] : i32 < 4\ninput f0 : bool\nparam W[6, 6] = glorot(6, 6)\n"
      "%sk1 = k2 - 1\n%sy[b, j] = sum[i] %s[b, i]*W[i, j]\nstate S[6] = 0\n"
      "update S[j] = 0.5*S[j] + %s[0, j]\n"
      "loss = mean[b, j] (y[b, j] - T[b, j])^2\noutput y, %s\noutput seen: y update S\n"
      "optimizer step(w[..] : real, g[..] : real) { update w[..] = w[..] - 0.1*g[..] }\n"
      "train loss using step()\n",
      neo_str_text(&d->params), neo_str_text(&d->text), x, x, x);
}

/* ---- which branches were taken */

static int64_t value_of(plan_world *w, const side *s) {
  neo_tensor t = neo_tensor_find(w->c.module, s->value);
  for (int k = 0; k < 2 && !t.i;
       k++) /* what a block defines has the name of its result before it */
    for (uint32_t i = 1; i < w->c.module->tensors.n && !t.i; i++) {
      const char *name = neo_name_text(w->c.names, w->c.module->tensors.at[i].name);
      const char *dot = strrchr(name, '.');
      if (dot && strcmp(dot + 1, s->value) == 0)
        t.i = i;
    }
  assert_true(t.i);
  return neo_interp_tensor(w->interp, t)->at[s->element < 0 ? 0 : s->element].i;
}

static bool is_side_taken(plan_world *w, const side *s) {
  int64_t x = value_of(w, s);
  for (uint32_t k = 0; k < s->n; k++)
    if (s->label[k] == x)
      return !s->otherwise && k + 1 == s->n;
  return s->otherwise;
}

static bool is_taken(plan_world *w, const path *p) {
  for (uint32_t k = 0; k < p->n; k++)
    if (!is_side_taken(w, &p->at[k]))
      return false;
  return true;
}

/* The product that the definition makes, or is a gradient of; -1: none. */
static int product_of(const plan_world *w, neo_def d) {
  const neo_def_rec *r = neo_def_at(w->c.module, d);
  const char *name = neo_name_text(
      w->c.names,
      neo_tensor_at(w->c.module, (neo_tensor){neo_list_at(w->c.module, r->out, 0)})->name);
  const char *dot = strrchr(name, '.');
  int k = -1, n = 0;
  name = dot ? dot + 1 : name;
  return sscanf(name, "p%d%n", &k, &n) == 1 && !name[n] ? k : -1;
}

/* Is the group made of what branches that are not taken need? */
static bool is_idle(plan_world *w, const drawing *d, const neo_group *g) {
  bool any = false;
  for (size_t k = 0; k < g->members.n; k++) {
    int p = product_of(w, g->members.at[k].def);
    if (p < 0 || g->members.at[k].place == NEO_PLACE_INLINE)
      continue;
    any = true;
    if (is_taken(w, &d->products[p]))
      return false;
  }
  return any && !g->cached;
}

static bool has(const plan_world *w, size_t group, uint32_t kernel) {
  const neo_plan_tree *tree = &w->c.tree_of_group.at[group];
  bool runs = !tree->root && w->c.kernel_of_group.at[group] == kernel;
  for (size_t k = 0; k < tree->marks.n && !runs; k++)
    runs = tree->marks.at[k].kernel == kernel;
  return runs;
}

/* Kernels all of whose groups are idle have written nothing. Returns how many there are. */
static int expect_idle(plan_world *w, const drawing *d) {
  int n = 0;
  for (uint32_t k = 0; k < w->c.kernels.n; k++) {
    bool idle = false;
    for (size_t g = 0; g < w->c.grouping.groups.n; g++) {
      if (!has(w, g, k))
        continue;
      idle = is_idle(w, d, &w->c.grouping.groups.at[g]);
      if (!idle)
        break;
    }
    if (idle && w->writes[k])
      fail_msg("kernel %s wrote %lld elements of a branch that is not taken\n%s",
               w->c.kernels.at[k].symbol, (long long)w->writes[k], w->text);
    n += idle;
  }
  return n;
}

/* ---- tests */

/* Returns how many kernels were idle. */
static int check_program(uint64_t seed, kernel_kind kind) {
  enum { ROUNDS = 4 };
  plan_world w;
  world_open(&w);
  drawing d = {.a = &w.c.arena};
  int idle = 0;
  w.seed = seed;
  w.c.options.check_facts = true;
  if (kind == KERNELS_EMULATED)
    w.c.options.target = "nvptx:sm_90a+host";
  world_source(&w, draw_program(&d, seed));
  world_begin(&w, kind, NULL);
  w.writes = NEO_NEW_ARRAY(&w.c.arena, int64_t, w.c.kernels.n + 1);
  for (uint64_t round = 0; round < ROUNDS; round++) {
    memset(w.writes, 0, w.c.kernels.n * sizeof *w.writes);
    world_draw(&w, seed * 100 + round);
    world_check(&w, 1);
    if (kind == KERNELS_INTERPRETED)
      idle += expect_idle(&w, &d);
  }
  world_close(&w);
  return idle;
}

static uint64_t first_seed(void) {
  const char *first = getenv("NEO_SEED");
  return first ? strtoull(first, NULL, 10) : 1;
}

static void random_cases_run_the_branch_taken_alone(void **state) {
  (void)state;
  int idle = 0;
  for (uint64_t k = 0; k < neo_test_count(16); k++)
    idle += check_program(first_seed() + k, KERNELS_INTERPRETED);
  assert_true(idle > 0);
}

static void random_cases_have_the_interpreters_values(void **state) {
  (void)state;
  for (uint64_t k = 0; k < neo_test_count(8); k++)
    (void)check_program(first_seed() + 1000 + k, KERNELS_COMPILED);
}

static void random_cases_have_the_interpreters_values_on_a_gpu(void **state) {
  (void)state;
  for (uint64_t k = 0; k < neo_test_count(3); k++)
    (void)check_program(first_seed() + 2000 + k, KERNELS_EMULATED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_cases_run_the_branch_taken_alone),
      cmocka_unit_test(random_cases_have_the_interpreters_values),
      cmocka_unit_test(random_cases_have_the_interpreters_values_on_a_gpu),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
