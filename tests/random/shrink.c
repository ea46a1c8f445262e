/* The shrinker: a list of numbered simplifications, each tried on a fresh copy; one that still
 * fails becomes the program, until none helps.
 *
 * The copy is the text, printed and parsed again, so that what is tried also says that the text of
 * a failing program is enough to see the failure. */
#include "ir/print.h"
#include "ir/order.h"
#include "tests/random/gen_parts.h"
#include <string.h>

typedef struct {
  neo_gen_program *g;
  neo_module *m;
  uint64_t left; /* simplifications to skip before the one to apply */
  bool applied;
} edit;

/* Is it this one's turn? */
static bool turn(edit *e) {
  if (e->applied || e->left-- > 0)
    return false;
  e->applied = true;
  return true;
}

/* ---- outputs and definitions */

static neo_list without(neo_module *m, neo_list l, uint32_t k) {
  uint32_t at[64], n = 0;
  for (uint32_t j = 0; j < l.n && n < 64; j++)
    if (j != k)
      at[n++] = neo_list_at(m, l, j);
  return neo_list_new(m, at, n);
}

static void drop_entries(edit *e) {
  for (size_t k = 0; k < e->m->entries.n && e->m->entries.n > 1 && !e->applied; k++) {
    if (!turn(e))
      continue;
    for (size_t j = k; j + 1 < e->m->entries.n; j++)
      e->m->entries.at[j] = e->m->entries.at[j + 1];
    e->m->entries.n--;
  }
}

static void drop_outputs(edit *e) {
  for (size_t j = 0; j < e->m->entries.n; j++) {
    neo_entry_rec *entry = &e->m->entries.at[j];
    for (uint32_t k = 0; k < entry->updates.n && !e->applied; k++)
      if (turn(e))
        entry->updates = without(e->m, entry->updates, k);
    for (uint32_t k = 0; k < entry->outputs.n && entry->outputs.n > 1 && !e->applied; k++) {
      if (!turn(e))
        continue;
      entry->outputs = without(e->m, entry->outputs, k);
      entry->names = without(e->m, entry->names, k);
    }
  }
}

/* A computed tensor that is no output becomes an input. */
static void make_inputs(edit *e) {
  for (uint32_t t = (uint32_t)e->m->tensors.n - 1; t > 0 && !e->applied; t--) {
    neo_tensor_rec *r = &e->m->tensors.at[t];
    bool output = false;
    for (size_t j = 0; j < e->m->entries.n; j++)
      for (uint32_t k = 0; k < e->m->entries.at[j].outputs.n; k++)
        output = output || neo_list_at(e->m, e->m->entries.at[j].outputs, k) == t;
    if (r->role != NEO_ROLE_TEMP || output || !r->pieces.n || !turn(e))
      continue;
    for (uint32_t k = 0; k < r->pieces.n; k++) {
      neo_def_rec *d = neo_def_at(e->m, (neo_def){neo_list_at(e->m, r->pieces, k)});
      for (uint32_t j = 0; j < d->out.n && d->out.n > 1; j++)
        if (neo_list_at(e->m, d->out, j) == t) {
          d->out = without(e->m, d->out, j);
          d->finish = without(e->m, d->finish, j);
        }
    }
    r->role = NEO_ROLE_INPUT;
    r->pieces.n = 0;
  }
}

/* Tensors that no output needs lose their definitions; the text leaves those out. */
static void sweep(neo_module *m) {
  neo_arena scratch;
  neo_arena_init(&scratch, neo_alloc_default, NULL);
  neo_tensor *roots = NEO_NEW_ARRAY(&scratch, neo_tensor, 1024);
  neo_def *order;
  size_t n = 0;
  bool cycle;
  for (size_t j = 0; j < m->entries.n; j++) {
    const neo_entry_rec *e = &m->entries.at[j];
    for (uint32_t k = 0; k < e->outputs.n; k++)
      roots[n++].i = neo_list_at(m, e->outputs, k);
    for (uint32_t k = 0; k < e->updates.n; k++)
      roots[n++].i = neo_list_at(m, e->updates, k);
  }
  size_t n_order = neo_module_topo(m, roots, n, &scratch, &order, &cycle);
  bool *needed = NEO_NEW_ARRAY(&scratch, bool, m->tensors.n);
  for (size_t k = 0; k < n_order; k++) {
    const neo_def_rec *d = neo_def_at(m, order[k]);
    for (uint32_t j = 0; j < d->out.n; j++)
      needed[neo_list_at(m, d->out, j)] = true;
  }
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (!needed[t])
      m->tensors.at[t].pieces.n = 0;
  neo_arena_free(&scratch);
}

/* ---- expressions */

/* A number, or one of the arguments, in place of the node. */
static neo_expr simpler(edit *e, neo_module *m, neo_expr x) {
  neo_node n = *neo_expr_node(m, x);
  neo_type t = (neo_type)n.type;
  if (n.op == NEO_OP_CONST || n.op == NEO_OP_ACC || n.op == NEO_OP_AXIS || n.op == NEO_OP_SIZE)
    return x;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    neo_expr arg = neo_list_expr(m, n.arg, k);
    if (neo_expr_type(m, arg) == t && n.op != NEO_OP_LOAD && turn(e))
      return arg;
  }
  if (turn(e))
    return t == NEO_BOOL_T ? neo_const_bool(m, true) : neo_const_int(m, t, 1);
  if (turn(e))
    return t == NEO_BOOL_T ? neo_const_bool(m, false) : neo_const_int(m, t, 0);
  return x;
}

static neo_expr simplify_node(void *ctx, neo_module *m, neo_expr x) {
  edit *e = ctx;
  return e->applied ? x : simpler(e, m, x);
}

static neo_expr zero_axis(void *ctx, neo_module *m, neo_expr x) {
  uint32_t k = *(uint32_t *)ctx;
  const neo_node *n = neo_expr_node(m, x);
  if (n->op != NEO_OP_AXIS || n->attr < k)
    return x;
  return n->attr == k ? neo_const_int(m, NEO_I64_T, 0) : neo_axis_ref(m, n->attr - 1);
}

static void simplify_reduction(edit *e, neo_def id) {
  neo_def_rec *d = neo_def_at(e->m, id);
  if (d->where.i && turn(e))
    d->where.i = 0;
  for (uint32_t k = d->n_out; k < d->axes.n && d->axes.n > d->n_out + 1 && !e->applied; k++) {
    if (!turn(e))
      continue;
    d->axes = without(e->m, d->axes, k);
    neo_def_rewrite(e->m, id, zero_axis, &k);
  }
}

static void simplify_defs(edit *e) {
  for (uint32_t k = (uint32_t)e->m->defs.n - 1; k > 0 && !e->applied; k--) {
    if (!neo_def_at(e->m, (neo_def){k})->out.n)
      continue;
    simplify_reduction(e, (neo_def){k});
    if (!e->applied)
      neo_def_rewrite(e->m, (neo_def){k}, simplify_node, e);
  }
}

/* ---- extents */

typedef struct {
  int64_t from, to;
} resize;

static neo_expr resize_constant(void *ctx, neo_module *m, neo_expr x) {
  const resize *r = ctx;
  int64_t c;
  bool hit = neo_expr_is_int(m, x, &c) && neo_expr_type(m, x) == NEO_I64_T && c == r->from;
  return hit ? neo_const_int(m, NEO_I64_T, r->to) : x;
}

/* Everywhere: extents of tensors, bounds, axes; an index that no longer fits voids the attempt. */
static void resize_all(neo_module *m, resize r) {
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    uint32_t at[16];
    neo_list l = m->tensors.at[t].extent;
    for (uint32_t k = 0; k < l.n; k++)
      at[k] = neo_expr_rewrite(m, neo_list_expr(m, l, k), resize_constant, &r).i;
    m->tensors.at[t].extent = neo_list_new(m, at, l.n);
    m->tensors.at[t].bound = neo_expr_rewrite(m, m->tensors.at[t].bound, resize_constant, &r);
  }
  for (uint32_t d = 1; d < m->defs.n; d++)
    neo_def_rewrite(m, (neo_def){d}, resize_constant, &r);
}

static void shrink_extents(edit *e) {
  for (uint32_t t = 1; t < e->m->tensors.n && !e->applied; t++)
    for (uint32_t k = 0; k < e->m->tensors.at[t].extent.n && !e->applied; k++) {
      int64_t n;
      if (!neo_expr_is_int(e->m, neo_tensor_extent(e->m, (neo_tensor){t}, k), &n) || n < 2)
        continue;
      int64_t to[] = {1, 2, n / 2, n - 1};
      for (int j = 0; j < 4 && !e->applied; j++)
        if (to[j] < n && turn(e))
          resize_all(e->m, (resize){n, to[j]});
    }
}

static void shrink_sizes(edit *e) {
  for (uint32_t k = 1; k < e->m->sizes.n; k++) {
    neo_size_rec *s = &e->m->sizes.at[k];
    if (s->kind != NEO_SIZE_RUNTIME)
      continue;
    int64_t now = e->g->sizes[k], to[] = {s->lo, s->lo + 1, now / 2, now - 1};
    for (int j = 0; j < 4 && !e->applied; j++)
      if (to[j] < now && to[j] >= s->lo && turn(e))
        e->g->sizes[k] = to[j];
  }
}

/* ---- search */

static neo_gen_program copy_of(neo_arena *a, const neo_gen_program *g) {
  neo_str s;
  neo_str_init(&s, a);
  neo_gen_print(g, &s);
  return neo_gen_parse(a, neo_str_text(&s), s.n);
}

static bool valid(neo_arena *a, const neo_gen_program *g) {
  neo_str why;
  neo_str_init(&why, a);
  if (neo_module_check(g->m, &why))
    return false;
  neo_interp *p = neo_gen_interp(a, g);
  for (uint32_t k = 0; k < g->m->entries.n; k++)
    if (neo_interp_run(p, k, &why))
      return false;
  return true;
}

static bool apply(edit *e) {
  drop_entries(e);
  drop_outputs(e);
  make_inputs(e);
  shrink_sizes(e);
  simplify_defs(e);
  shrink_extents(e);
  return e->applied;
}

/* Applies simplification k to a copy; false when there is no such one. *ok: it still fails. */
static bool attempt(neo_arena *a, const neo_gen_program *g, uint64_t k, neo_gen_fails *fails,
                    void *ctx, neo_gen_program *out, bool *ok) {
  *out = copy_of(a, g);
  *ok = false;
  edit e = {.g = out, .m = out->m, .left = k};
  if (!out->m || !apply(&e))
    return false;
  gen_derive_sizes(out);
  sweep(out->m);
  *out = copy_of(a, out);
  *ok = out->m && valid(a, out) && fails(ctx, out);
  return true;
}

/* The text without the line at `from`. */
static char *without_line(neo_arena *a, const char *text, size_t from) {
  const char *end = strchr(text + from, '\n');
  return neo_arena_printf(a, "%.*s%s", (int)from, text, end ? end + 1 : "");
}

/* Declarations that nothing needs: those without which the text still parses. */
static neo_gen_program tidy(neo_arena *a, const neo_gen_program *g) {
  static const char *const roles[] = {"input ", "temp ",  "const ", "init ",
                                      "param ", "state ", "sites "};
  neo_str s;
  neo_str_init(&s, a);
  neo_gen_print(g, &s);
  const char *text = neo_str_text(&s);
  for (size_t at = 0; text[at];) {
    bool declares = false;
    for (size_t k = 0; k < sizeof roles / sizeof *roles; k++)
      declares = declares || strncmp(text + at, roles[k], strlen(roles[k])) == 0;
    const char *shorter = declares ? without_line(a, text, at) : NULL;
    if (shorter && neo_gen_parse(a, shorter, strlen(shorter)).m)
      text = shorter;
    else
      at += strcspn(text + at, "\n") + (strchr(text + at, '\n') != NULL);
  }
  return neo_gen_parse(a, text, strlen(text));
}

neo_gen_program neo_gen_shrink(neo_arena *a, const neo_gen_program *g, neo_gen_fails *fails,
                               void *ctx, size_t budget) {
  neo_gen_program best = copy_of(a, g);
  bool helped = false;
  for (uint64_t k = 0; budget > 0; budget--) {
    neo_arena scratch;
    neo_gen_program next;
    bool ok;
    neo_arena_init(&scratch, neo_alloc_default, NULL);
    bool exists = attempt(&scratch, &best, k, fails, ctx, &next, &ok);
    if (ok)
      best = copy_of(a, &next);
    neo_arena_free(&scratch);
    helped = helped || ok;
    if (!exists && !helped)
      break;
    if (exists && !ok)
      k++;
    if (!exists)
      k = 0, helped = false;
  }
  neo_gen_program small = tidy(a, &best);
  return valid(a, &small) && fails(ctx, &small) ? small : best;
}
