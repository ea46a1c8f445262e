/* See compose.h. */
#include "tests/pairs/compose.h"
#include "base/hash.h"
#include "tests/pairs/graph.h"
#include <math.h>
#include <string.h>

enum { MOST_THREADS = 3, MOST_ALONE = 4, MOST_SIZES = 64 };

typedef struct {
  pairs_compilation *x;
  const neo_rt_model *model;
  const pairs_reference *r;
  pairs_run *out;
  neo_arena *a;
  void **
      first; /* of the results of the first call of each entry, what one thread gives; kept ones too */
} composing;

static bool fail(composing *c, const char *why) {
  c->out->verdict = PAIRS_FAILED;
  c->out->why = neo_arena_strdup(c->a, why);
  return false;
}

static size_t bytes_of(const pairs_result *r) {
  return (size_t)r->n * neo_type_bytes(r->type);
}

/* ---- a call */

static neo_rt_ctx *open(composing *c, int threads) {
  neo_rt_ctx *ctx = NULL;
  neo_rt_config config = {
      .struct_size = sizeof config, .threads = threads, .seed = c->r->program->seed};
  if (neo_rt_create(c->model, &config, &ctx))
    (void)fail(c, ctx ? neo_rt_error(ctx) : "no context");
  return c->out->verdict ? NULL : ctx;
}

/* Calls the entry of results first.. with these inputs; what it gives goes to got[first..]. */
static bool call(composing *c, neo_rt_ctx *ctx, size_t first, const pairs_program *p,
                 const pairs_result *inputs, void **got) {
  const neo_rt_model *m = c->model;
  neo_arena *a = &c->x->c.arena;
  int32_t found = neo_rt_find_entry(m, c->r->results.at[first].entry);
  const neo_rt_entry *e = &m->entries[found];
  int64_t sizes[MOST_SIZES], *all = pairs_sizes(c->x, p);
  void **args = NEO_NEW_ARRAY(a, void *, (size_t)e->n_args + 1);
  for (int32_t k = 0; k < e->n_sizes; k++)
    sizes[k] = all[m->entry_sizes[e->sizes + k] + 1];
  for (int32_t k = 0; k < e->n_inputs; k++)
    for (size_t i = 0; i < c->r->inputs.n; i++)
      if (strcmp(inputs[i].name, m->tensors[m->entry_args[e->args + k]].name) == 0)
        args[k] = pairs_input_bytes(a, &inputs[i]);
  for (int32_t k = e->n_inputs; k < e->n_args; k++) {
    size_t at = first + (size_t)(k - e->n_inputs);
    args[k] = got[at] = NEO_NEW_ARRAY(a, double, c->r->results.at[at].n + 1);
  }
  return !neo_rt_call(ctx, found, sizes, args) || fail(c, neo_rt_error(ctx));
}

/* ---- differences */

static bool is_nan(neo_type t, const void *p) {
  return neo_type_is_float(t) && isnan(neo_value_read(t, p).f);
}

/* The first of n elements whose bits differ, or n. */
static int64_t differs(neo_type t, const char *x, const char *y, int64_t n) {
  size_t size = neo_type_bytes(t);
  int64_t k = 0;
  while (k < n && (memcmp(x + (size_t)k * size, y + (size_t)k * size, size) == 0 ||
                   (is_nan(t, x + (size_t)k * size) && is_nan(t, y + (size_t)k * size))))
    k++;
  return k;
}

static double number(neo_type t, const char *p, int64_t k) {
  neo_value v = neo_value_read(t, p + (size_t)k * neo_type_bytes(t));
  return neo_type_is_float(t) ? v.f : (double)v.i;
}

/* ---- threads */

static bool same_result(composing *c, size_t k, const void *got, int threads) {
  const pairs_result *r = &c->r->results.at[k];
  int64_t at = differs(r->type, c->first[k], got, r->n);
  if (at == r->n)
    return true;
  c->out->verdict = PAIRS_DIFFERS;
  c->out->why = neo_arena_printf(c->a, "%s[%lld] of '%s' is %.17g by %d threads, %.17g by one",
                                 r->name, (long long)at, r->entry, number(r->type, got, at),
                                 threads, number(r->type, c->first[k], at));
  return false;
}

static bool is_first(const pairs_reference *r, size_t k) {
  return k == 0 ||
         (!r->results.at[k].kept &&
          (r->results.at[k - 1].kept || r->results.at[k].entry != r->results.at[k - 1].entry));
}

/* The calls of the reference, one after the other. */
static bool run_all(composing *c, neo_rt_ctx *ctx, int threads) {
  const pairs_reference *r = c->r;
  void **got = NEO_NEW_ARRAY(&c->x->c.arena, void *, r->results.n + 1);
  bool good = true;
  for (size_t k = 0; good && k < r->results.n; k++) {
    const pairs_result *want = &r->results.at[k];
    if (is_first(r, k))
      good = call(c, ctx, k, r->program, r->inputs.at, got);
    int32_t tensor = want->kept ? neo_rt_find(c->model, want->name) : -1;
    if (want->kept) {
      got[k] = NEO_NEW_ARRAY(&c->x->c.arena, char, bytes_of(want) + 1);
      good = good && (tensor < 0 || !neo_rt_get(ctx, tensor, got[k], bytes_of(want)) ||
                      fail(c, neo_rt_error(ctx)));
    }
    if (threads == 1)
      c->first[k] = got[k];
    good = good && same_result(c, k, got[k], threads);
  }
  return good;
}

static bool compare_threads(composing *c) {
  bool good = true;
  for (int threads = 1; good && threads <= MOST_THREADS; threads++) {
    neo_rt_ctx *ctx = open(c, threads);
    good = ctx && run_all(c, ctx, threads);
    if (ctx)
      neo_rt_destroy(ctx);
  }
  return good;
}

/* ---- batches */

typedef struct {
  pairs_links *links;
  pairs_arrangement *to;
  const char *text;
} batch;

static void set_size(pairs_program *p, const char *name, int64_t n) {
  for (size_t k = 0; name && k < p->sizes.n; k++)
    if (strcmp(p->sizes.at[k].name, name) == 0)
      p->sizes.at[k].now = n;
}

static pairs_program resized(composing *c, const batch *b) {
  pairs_program p = *c->r->program;
  p.sizes.at = neo_arena_copy(c->a, p.sizes.at, (p.sizes.n + 1) * sizeof *p.sizes.at);
  for (uint32_t k = 0; k < p.graphs.n; k++) {
    set_size(&p, p.graphs.at[k].vertices, b->to[k].n);
    set_size(&p, p.graphs.at[k].roots, b->to[k].n_roots);
  }
  return p;
}

/* Which row of the program's batch each row of the arrangement is; their number is returned. */
static int64_t rows_of(const batch *b, const pairs_rows *of, const int64_t **from,
                       int64_t *before) {
  const pairs_arrangement *to = &b->to[of->graph];
  *from = of->of_roots ? to->row : to->vertex;
  *before = of->of_roots ? b->links[of->graph].n_roots : b->links[of->graph].n;
  return of->of_roots ? to->n_roots : to->n;
}

static const pairs_rows *has_rows(const pairs_program *p, const char *name) {
  for (size_t k = 0; k < p->rows.n; k++)
    if (strcmp(p->rows.at[k].name, name) == 0)
      return &p->rows.at[k];
  return NULL;
}

static pairs_result moved(composing *c, const batch *b, pairs_result x, const pairs_rows *of) {
  const int64_t *from;
  int64_t before, n = rows_of(b, of, &from, &before), each = before ? x.n / before : 0;
  neo_value *at = NEO_NEW_ARRAY(c->a, neo_value, (size_t)(n * each) + 1);
  for (int64_t k = 0; k < n; k++)
    memcpy(&at[k * each], &x.at[from[k] * each], (size_t)each * sizeof *at);
  x.at = at;
  x.n = n * each;
  return x;
}

/* Children and roots are where their vertices are now. */
static pairs_result linked(composing *c, const batch *b, pairs_result x, uint32_t graph,
                           bool roots) {
  pairs_rows of = {.name = x.name, .graph = graph, .of_roots = roots};
  pairs_result y = moved(c, b, x, &of);
  neo_value *at = neo_arena_copy(c->a, y.at, ((size_t)y.n + 1) * sizeof *y.at);
  for (int64_t k = 0; k < y.n; k++)
    if (at[k].i >= 0)
      at[k].i = b->to[graph].place[at[k].i];
  y.at = at;
  return y;
}

static pairs_result arranged(composing *c, const batch *b, const pairs_result *x) {
  const pairs_program *p = c->r->program;
  const pairs_rows *of = has_rows(p, x->name);
  for (uint32_t k = 0; k < p->graphs.n; k++) {
    const pairs_graph *g = &p->graphs.at[k];
    bool roots = g->root && strcmp(g->root, x->name) == 0;
    if (roots || strcmp(g->child, x->name) == 0)
      return linked(c, b, *x, k, roots);
  }
  return of ? moved(c, b, *x, of) : *x;
}

static bool same_rows(composing *c, const batch *b, size_t k, const char *got) {
  const pairs_result *r = &c->r->results.at[k];
  const pairs_rows *of = has_rows(c->r->program, r->name);
  if (!of)
    return true;
  const int64_t *from;
  int64_t before, n = rows_of(b, of, &from, &before), each = before ? r->n / before : 0;
  size_t size = (size_t)each * neo_type_bytes(r->type);
  for (int64_t i = 0; i < n; i++) {
    const char *want = (const char *)c->first[k] + (size_t)from[i] * size,
               *row = got + (size_t)i * size;
    int64_t at = differs(r->type, want, row, each);
    if (at == each)
      continue;
    c->out->verdict = PAIRS_DIFFERS;
    c->out->why = neo_arena_printf(
        c->a, "%s, element %lld of row %lld, is %.17g %s, as row %lld, but %.17g in the batch",
        r->name, (long long)at, (long long)from[i], number(r->type, row, at), b->text, (long long)i,
        number(r->type, want, at));
    return false;
  }
  return true;
}

static bool compare_batch(composing *c, pairs_arranging how, uint64_t which, const char *text) {
  const pairs_program *p = c->r->program;
  pairs_links links[4];
  pairs_arrangement to[4];
  batch b = {links, to, text};
  for (uint32_t k = 0; k < p->graphs.n; k++) {
    links[k] = pairs_links_of(c->a, p, k);
    to[k] = pairs_arrange(c->a, &links[k], how, which);
  }
  pairs_program q = resized(c, &b);
  size_t n = c->r->inputs.n;
  pairs_result *inputs = NEO_NEW_ARRAY(c->a, pairs_result, n + 1);
  for (size_t k = 0; k < n; k++)
    inputs[k] = arranged(c, &b, &c->r->inputs.at[k]);
  void **got = NEO_NEW_ARRAY(c->a, void *, c->r->results.n + 1);
  neo_rt_ctx *ctx = open(c, 1 + (int)(which % 2));
  bool good = ctx && call(c, ctx, 0, &q, inputs, got);
  for (size_t k = 0; good && k < c->r->results.n && got[k]; k++)
    good = same_rows(c, &b, k, got[k]);
  if (ctx)
    neo_rt_destroy(ctx);
  return good;
}

void pairs_compose(pairs_compilation *x, const neo_rt_model *model, const pairs_reference *r,
                   pairs_run *out, neo_arena *a) {
  composing c = {.x = x, .model = model, .r = r, .out = out, .a = a};
  c.first = NEO_NEW_ARRAY(a, void *, r->results.n + 1);
  uint64_t seed = neo_hash_mix(r->program->seed, 0xc0);
  uint32_t instances = 0;
  if (!r->results.n || !compare_threads(&c) || r->program->listed)
    return;
  for (uint32_t k = 0; k < r->program->graphs.n; k++) {
    uint32_t n = pairs_links_of(a, r->program, k).instances;
    instances = n > instances ? n : instances;
  }
  bool good =
      compare_batch(&c, PAIRS_MERGED, seed, "with the instances interleaved") &&
      (r->program->ordered || compare_batch(&c, PAIRS_SORTED, seed + 1, "in another order")) &&
      compare_batch(&c, PAIRS_REVERSED, seed + 2, "with the last instance first");
  for (uint32_t k = 0; good && !r->program->whole && k < instances && k < MOST_ALONE; k++)
    good = compare_batch(&c, PAIRS_SINGLE, instances > MOST_ALONE ? seed + k : k, "alone");
}
