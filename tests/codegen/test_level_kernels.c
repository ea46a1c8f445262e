/* The kernels that order a graph by levels (codegen/lower/levels) beside the reference (ir/level_schedule.h), over graphs
 * of all sizes, lists, slots and kinds, and in whatever order the threads of a block run. */
#include "codegen/lower/levels/levels.h"
#include "ir/level_schedule.h"
#include "ir/print.h"
#include "loop_support.h"
#include "tests/pick.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MOST = 1300, MOST_SLOTS = 5, UNWRITTEN = -77 };

typedef struct {
  int64_t n, kinds, slots[2];
  uint32_t n_lists;
  bool parents, lists; /* lists: the children of the first are in lists of any length */
} shape;

typedef struct {
  neo_module *m;
  neo_group g;
  neo_value *of[64]; /* by tensor: what the reference makes; of children and kinds, what is given */
  int64_t n_of[64];
} world;

/* ---- the definition */

static bool is_list(const shape *x, uint32_t i) {
  return x->lists && i == 0;
}

static void declare_list(neo_str *s, const shape *x, uint32_t i) {
  int slots = (int)x->slots[i];
  if (is_list(x, i))
    neo_str_addf(s,
                 "size E 0..%d\ninput begin : i32 [N + 1] < E + 1 offsets begin\n"
                 "input c0 : i32 [E] < N offsets begin\ntemp placed0 : i32 [E]\n"
                 "temp end0 : i32 [N]\ntemp edge0 : i32 [E]\ntemp parent0 : i32 [E]\n",
                 MOST * MOST_SLOTS);
  else
    neo_str_addf(s,
                 "input c%u : %s [N, %d] in -1..d0\ntemp placed%u : i32 [N, %d] in -1..d0\n"
                 "temp end%u : i32 [N]\ntemp edge%u : i32 [N * %d]\n",
                 i, i ? "i64" : "i32", slots, i, slots, i, i, slots);
}

static void declare(neo_str *s, const shape *x) {
  neo_str_addf(s, "neo-ir 1\nmodule t\nsize N 0..%d\ninput kind : i32 [N] < %d\n", MOST,
               (int)x->kinds);
  for (uint32_t i = 0; i < x->n_lists; i++)
    declare_list(s, x, i);
  neo_str_addf(s,
               "temp level : i32 [N]\ntemp first : i32 [N * %d + 1]\n"
               "temp place : i32 [N]\ntemp vertex : i32 [N]\ntemp row_kind : i32 [N]\n",
               (int)x->kinds);
}

static void define(neo_str *s, const shape *x) {
  neo_str_add(s, "def @1 levels (level, first, place, vertex, row_kind");
  for (uint32_t i = 0; i < x->n_lists; i++) {
    neo_str_addf(s, x->parents ? "; placed%u, end%u, edge%u" : "; placed%u, -, -", i, i, i);
    neo_str_add(s, !is_list(x, i) ? "" : x->parents ? ", parent0, begin" : ", -, begin");
  }
  neo_str_addf(s, ") kinds %d [v: N", (int)x->kinds);
  for (uint32_t i = 0; i < x->n_lists; i++)
    neo_str_addf(s, is_list(x, i) ? ", k%u: E" : ", k%u: %d", i, (int)x->slots[i]);
  neo_str_add(s, "] = ");
  for (uint32_t i = 0; i < x->n_lists; i++)
    neo_str_addf(s, is_list(x, i) ? "%sc%u[k%u]" : "%sc%u[v, k%u]", i ? ", " : "", i, i);
  neo_str_add(s, x->kinds > 1 ? ", kind[v]" : "");
  neo_str_add(s, x->lists ? ", begin[v]\nentry forward f: p = place\n"
                          : "\nentry forward f: p = place\n");
}

static neo_tensor named(const world *w, const char *name, uint32_t i) {
  char text[16];
  snprintf(text, sizeof text, i == UINT32_MAX ? "%s" : "%s%u", name, i);
  return neo_tensor_find(w->m, text);
}

static neo_value *hold(loop_fix *f, world *w, neo_tensor t, int64_t n) {
  w->of[t.i] = NEO_NEW_ARRAY(&f->arena, neo_value, n + 1);
  w->n_of[t.i] = n;
  for (int64_t k = 0; k < n; k++)
    w->of[t.i][k].i = UNWRITTEN;
  return w->of[t.i];
}

static world world_of(loop_fix *f, const shape *x) {
  world w = {0};
  neo_str s;
  neo_str_init(&s, &f->arena);
  declare(&s, x);
  define(&s, x);
  w.m = neo_module_parse(&f->arena, neo_names_new(&f->arena), f->diags, "t", neo_str_text(&s), s.n);
  if (!w.m)
    fail_msg("%s", neo_str_text(&s));
  bool all[64];
  memset(all, 1, sizeof all);
  NEO_PUSH(&f->arena, &w.g.members, ((neo_member){.def = {1}}));
  neo_group_finish_levels(w.m, &f->arena, &w.g, all);
  return w;
}

/* ---- values */

static int64_t edges_of(const world *w, const shape *x, uint32_t i) {
  return is_list(x, i) ? w->of[named(w, "begin", UINT32_MAX).i][x->n].i : x->n * x->slots[i];
}

static int64_t edge_of(const world *w, const shape *x, uint32_t i, int64_t v) {
  return is_list(x, i) ? w->of[named(w, "begin", UINT32_MAX).i][v].i : v * x->slots[i];
}

/* Lists have up to so many edges as there are slots; the first vertex has none. */
static void fill_begin(loop_fix *f, world *w, const shape *x, uint64_t *seed) {
  neo_value *begin = hold(f, w, named(w, "begin", UINT32_MAX), x->n + 1);
  begin[0].i = 0;
  for (int64_t v = 0; v < x->n; v++)
    begin[v + 1].i = begin[v].i + (v ? neo_pick(seed, 0, x->slots[0]) : 0);
}

/* reach: how far back children are. */
static void fill_children(loop_fix *f, world *w, const shape *x, uint32_t i, uint64_t *seed,
                          int64_t reach) {
  neo_value *c = hold(f, w, named(w, "c", i), edges_of(w, x, i));
  for (int64_t v = 0; v < x->n; v++)
    for (int64_t e = edge_of(w, x, i, v); e < edge_of(w, x, i, v + 1); e++) {
      int64_t from = v - reach > 0 ? v - reach : 0;
      bool is = v > 0 && (reach == 1 || is_list(x, i) || neo_pick(seed, 0, 2) > 0);
      c[e].i = is ? neo_pick(seed, from, v - 1) : -1;
    }
}

static void fill(loop_fix *f, world *w, const shape *x, uint64_t *seed, int64_t reach) {
  neo_value *kind = hold(f, w, named(w, "kind", UINT32_MAX), x->n);
  for (int64_t v = 0; v < x->n; v++)
    kind[v].i = neo_pick(seed, 0, x->kinds - 1);
  if (x->lists)
    fill_begin(f, w, x, seed);
  for (uint32_t i = 0; i < x->n_lists; i++)
    fill_children(f, w, x, i, seed, reach);
}

static neo_level_list list_of(loop_fix *f, world *w, const shape *x, uint32_t i) {
  int64_t edges = edges_of(w, x, i);
  return (neo_level_list){
      .slots = x->slots[i],
      .child = w->of[named(w, "c", i).i],
      .begin = is_list(x, i) ? w->of[named(w, "begin", UINT32_MAX).i] : NULL,
      .placed = hold(f, w, named(w, "placed", i), edges),
      .end = x->parents ? hold(f, w, named(w, "end", i), x->n) : NULL,
      .edge = x->parents ? hold(f, w, named(w, "edge", i), edges) : NULL,
      .parent = x->parents && is_list(x, i) ? hold(f, w, named(w, "parent", i), edges) : NULL};
}

static void refer(loop_fix *f, world *w, const shape *x) {
  neo_level_list list[2];
  for (uint32_t i = 0; i < x->n_lists; i++)
    list[i] = list_of(f, w, x, i);
  neo_level_schedule all = {x->n,
                            x->kinds,
                            x->kinds > 1 ? w->of[named(w, "kind", UINT32_MAX).i] : NULL,
                            hold(f, w, named(w, "level", UINT32_MAX), x->n),
                            hold(f, w, named(w, "first", UINT32_MAX), x->n * x->kinds + 1),
                            hold(f, w, named(w, "place", UINT32_MAX), x->n),
                            hold(f, w, named(w, "vertex", UINT32_MAX), x->n),
                            hold(f, w, named(w, "row_kind", UINT32_MAX), x->n),
                            x->n_lists,
                            list};
  neo_level_schedule_make(&all);
}

/* Each equation of the definition holds. */
static void check_reference(const world *w, const shape *x) {
  const neo_value *level = w->of[named(w, "level", UINT32_MAX).i];
  const neo_value *place = w->of[named(w, "place", UINT32_MAX).i];
  for (int64_t v = 0; v < x->n; v++) {
    int64_t before = 0, most = -1;
    for (int64_t u = 0; u < x->n; u++)
      before += level[u].i < level[v].i || (level[u].i == level[v].i && u < v);
    assert_int_equal(place[v].i, before);
    for (uint32_t i = 0; i < x->n_lists; i++)
      for (int64_t e = edge_of(w, x, i, v); e < edge_of(w, x, i, v + 1); e++) {
        int64_t child = w->of[named(w, "c", i).i][e].i;
        int64_t is = child < 0 ? -1 : level[child].i / x->kinds;
        most = is > most ? is : most;
      }
    assert_int_equal(level[v].i / x->kinds, most + 1);
  }
}

static void compare(const world *w, const shape *x, neo_tensor t, const neo_value *got) {
  const neo_value *want = w->of[t.i];
  int64_t last = w->n_of[t.i] - 1;
  bool rises = t.i == named(w, "first", UINT32_MAX).i;
  for (int64_t k = 0; k <= last; k++) {
    bool read =
        !rises || k < NEO_SATURATED || k == last || want[k].i < x->n || (k && want[k - 1].i < x->n);
    if (read && want[k].i != UNWRITTEN && want[k].i != got[k].i)
      fail_msg("%s[%lld] is %lld, not %lld",
               neo_name_text(w->m->names, neo_tensor_at(w->m, t)->name), (long long)k,
               (long long)got[k].i, (long long)want[k].i);
  }
}

/* Tensors lie where the kernels before have left them. */
static void run_kernels(loop_fix *f, const world *w, const shape *x, bool gpu, uint64_t seed) {
  neo_kernels kernels = {0};
  neo_value *of[64] = {0};
  neo_str why;
  neo_str_init(&why, &f->arena);
  if (neo_lower_levels(w->m, &w->g, gpu, &f->arena, &kernels, &why))
    fail_msg("%s", neo_str_text(&why));
  for (size_t i = 0; i < kernels.n; i++) {
    const neo_kernel *k = kernels.at[i];
    neo_value *bufs[64];
    int64_t n_elems[64];
    for (uint32_t b = 0; b < k->bufs.n; b++) {
      uint32_t t = k->bufs.at[b].tensor.i;
      n_elems[b] = t ? w->n_of[t] : k->bufs.at[b].scratch_elems;
      bufs[b] = NEO_NEW_ARRAY(&f->arena, neo_value, n_elems[b] + 1);
      if (t && k->bufs.at[b].use == NEO_BUF_READ)
        bufs[b] = w->of[t];
      else if (t)
        bufs[b] = of[t] = of[t] ? of[t] : bufs[b];
    }
    const int64_t sizes[] = {x->n, x->lists ? edges_of(w, x, 0) : 0};
    neo_kernel_run r = {.bufs = bufs,
                        .n_elems = n_elems,
                        .sizes = sizes,
                        .hi = neo_kernel_units(k, sizes),
                        .seed = seed};
    if (neo_kernel_interp(k, &r, &why))
      fail_msg("%s", neo_str_text(&why));
  }
  for (size_t k = 0; k < w->g.roots.n; k++)
    compare(w, x, w->g.roots.at[k], of[w->g.roots.at[k].i]);
}

static void check(loop_fix *f, const shape *x, int64_t reach, uint64_t seed) {
  world w = world_of(f, x);
  fill(f, &w, x, &seed, reach);
  refer(f, &w, x);
  if (x->n <= 200)
    check_reference(&w, x);
  run_kernels(f, &w, x, false, 0);
  run_kernels(f, &w, x, true, seed);
}

static void graphs_of_all_shapes_have_the_order_of_the_reference(void **state) {
  static const int64_t sizes[] = {0, 1, 2, 7, 65, 200, 511, 512, 513, MOST};
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
    for (uint64_t seed = 1; seed < 9; seed++) {
      shape x = {.n = sizes[s], .kinds = 1 << seed % 3, .n_lists = seed % 2 + 1};
      x.slots[0] = (int64_t)seed % MOST_SLOTS + 1;
      x.slots[1] = 9 - (int64_t)seed;
      x.parents = seed != 4;
      x.lists = seed % 3 == 2;
      check(*state, &x, seed % 2 ? 12 : MOST, seed);
    }
}

/* Every pass over a window settles one vertex, and there are as many levels as vertices. */
static void a_chain_is_longer_than_a_window(void **state) {
  shape x = {.n = 700, .kinds = 1, .n_lists = 1, .slots = {1, 1}, .parents = true};
  check(*state, &x, 1, 3);
  x.kinds = 4;
  x.slots[0] = 2;
  check(*state, &x, 1, 4);
  x.lists = true;
  check(*state, &x, 1, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(graphs_of_all_shapes_have_the_order_of_the_reference,
                                      loop_setup, loop_teardown),
      cmocka_unit_test_setup_teardown(a_chain_is_longer_than_a_window, loop_setup, loop_teardown),
  };
  return cmocka_run_group_tests_name("level_kernels", tests, NULL, NULL);
}
