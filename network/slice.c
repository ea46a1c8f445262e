/* Slices of stacked parameters: `repeat` stacks the parameters of its iterations along a first
 * dimension, and each iteration reads its own.
 *
 *     param W[3, 4, 4]                          param W@0[4, 4], W@1[4, 4], W@2[4, 4]
 *     h1 = sum X[b, i]*W[0, i, j]               h1 = sum X[b, i]*W@0[i, j]
 *     W.next[n, i, j] = W[n, i, j] - ..         W@0.next[i, j] = W@0[i, j] - ..   ...
 *
 * The result is a copy of the training step, which is cut instead of it: iterations then are of
 * several actors. A parameter is sliced with all that its updates compute of it (a family), if
 *
 * - the forward pass reads it at constant first indices alone: each of them somewhere, and no
 *   definition two of them;
 * - all other definitions read the family at AXIS 0, which is their first output axis, and nothing
 *   they make is outside of the family;
 * - only the request of the step differentiates by it.
 *
 * So a norm over all gradients, or of a stack, leaves the parameter whole. */
#include "network/slice.h"
#include "ir/import.h"
#include <string.h>

enum { MOST_SLICES = 4096 };

typedef struct {
  neo_module *m; /* the copy */
  neo_network *n;
  neo_arena *a;
  uint32_t *family;            /* by tensor: its parameter; 0: none */
  bool *refused;               /* by parameter */
  int64_t *length;             /* by parameter: the number of slices */
  bool *stacked;               /* by definition: it makes tensors of a family */
  NEO_VEC(neo_tensor) * slice; /* by tensor of a family */
  /* facts of the definition that is rewritten */
  int64_t index;
  bool shifts; /* it loses AXIS 0, whose value is `index` */
} slicer;

/* ---- the copy */

static void copy_customs(neo_import *x) {
  const neo_module *from = x->from;
  for (size_t c = 0; c < from->customs.n; c++) {
    neo_custom_rec r = from->customs.at[c];
    r.ins = neo_import_tensors(x, r.ins);
    r.outs = neo_import_tensors(x, r.outs);
    r.dys = neo_import_tensors(x, r.dys);
    r.dxs = neo_import_tensors(x, r.dxs);
    NEO_PUSH(x->to->arena, &x->to->customs, r);
  }
}

static void copy_requests(neo_import *x) {
  for (size_t k = 0; k < x->from->grads.n; k++) {
    neo_grad_rec g = x->from->grads.at[k];
    g.y = neo_import_tensor(x, g.y);
    g.seed = neo_import_tensor(x, g.seed);
    g.wrt = neo_import_tensors(x, g.wrt);
    g.out = neo_import_tensors(x, g.out);
    g.hold = neo_import_tensors(x, g.hold);
    NEO_PUSH(x->to->arena, &x->to->grads, g);
  }
}

static neo_module *copy_of(const neo_module *m, uint32_t entry, neo_arena *kept, neo_arena *a) {
  neo_module *to = neo_module_new(kept, m->names, m->diags, neo_name_text(m->names, m->name));
  neo_import x = neo_import_begin(m, to, NULL, a);
  neo_entry_rec e = m->entries.at[entry];
  neo_import_frame(&x);
  e.outputs = neo_import_tensors(&x, e.outputs);
  e.updates = neo_import_tensors(&x, e.updates);
  copy_customs(&x);
  copy_requests(&x);
  neo_import_finish(&x);
  uint32_t *names = NEO_NEW_ARRAY(a, uint32_t, e.names.n + 1);
  for (uint32_t k = 0; k < e.names.n; k++)
    names[k] = neo_list_at(m, e.names, k);
  e.names = neo_list_new(to, names, e.names.n);
  NEO_PUSH(kept, &to->entries, e);
  return to;
}

/* ---- families */

typedef struct { /* the reads of families by one definition, or initial value */
  const slicer *x;
  uint32_t family; /* the only one; 0: none yet */
  bool mixed;      /* several, or differently */
  bool own;        /* at AXIS 0 */
  bool fixed;      /* at a constant index */
  int64_t index;
} reads;

static void note_read(void *ctx, neo_expr e) {
  reads *r = ctx;
  const neo_module *m = r->x->m;
  const neo_node *n = neo_expr_node(m, e);
  uint32_t family = neo_node_is_load(n) ? r->x->family[n->attr] : 0;
  int64_t index = 0;
  if (!family)
    return;
  neo_expr first = neo_list_expr(m, n->arg, 0);
  const neo_node *at = neo_expr_node(m, first);
  bool own = at->op == NEO_OP_AXIS && at->attr == 0, fixed = neo_expr_is_int(m, first, &index);
  r->mixed = r->mixed || n->op != NEO_OP_LOAD || !(own || fixed) || (own && r->fixed) ||
             (fixed && (r->own || (r->fixed && r->index != index)));
  r->mixed = r->mixed || (fixed && m->tensors.at[n->attr].role != NEO_ROLE_PARAM);
  if (r->family && r->family != family)
    r->mixed = r->mixed || r->x->length[r->family] != r->x->length[family];
  r->family = family;
  r->own = r->own || own;
  r->fixed = r->fixed || fixed;
  r->index = index;
}

static reads reads_of(const slicer *x, neo_def d) {
  reads r = {.x = x};
  neo_def_visit(x->m, d, note_read, &r);
  return r;
}

static void refuse_read(void *ctx, neo_expr e) {
  slicer *x = ctx;
  const neo_node *n = neo_expr_node(x->m, e);
  if (neo_node_is_load(n))
    x->refused[x->family[n->attr]] = true;
}

/* Makes all families one that a definition reads or makes. */
static bool unite(slicer *x, uint32_t a, uint32_t b) {
  if (!a || !b || a == b)
    return false;
  for (uint32_t t = 1; t < x->m->tensors.n; t++)
    if (x->family[t] == b)
      x->family[t] = a;
  x->refused[a] = x->refused[a] || x->refused[b];
  return true;
}

static void unite_read(void *ctx, neo_expr e) {
  reads *r = ctx;
  const neo_node *n = neo_expr_node(r->x->m, e);
  if (neo_node_is_load(n))
    (void)unite((slicer *)r->x, r->family, r->x->family[n->attr]);
}

/* Whether the first output axis has the slices as its points, and makes first indices. */
static bool is_stack(const slicer *x, const neo_def_rec *d, int64_t length) {
  int64_t lo, hi;
  if (!d->n_out || d->out_map.n || neo_def_is_levels(d))
    return false;
  const neo_axis_rec *axis = neo_def_axis(x->m, d, 0);
  return neo_expr_is_int(x->m, axis->lo, &lo) && neo_expr_is_int(x->m, axis->hi, &hi) && !lo &&
         hi == length;
}

/* The definition's results join the family that it reads at AXIS 0. */
static bool join(slicer *x, neo_def d, bool piece) {
  const neo_def_rec *r = neo_def_at(x->m, d);
  reads by = reads_of(x, d);
  bool more = false;
  if (!by.family)
    return false;
  bool wrong = by.mixed || (by.own && !is_stack(x, r, x->length[by.family]));
  if (wrong)
    neo_def_visit(x->m, d, refuse_read, x);
  if (!by.own || wrong)
    return false;
  neo_def_visit(x->m, d, unite_read, &by);
  for (uint32_t k = 0; k < r->out.n; k++) {
    neo_tensor t = neo_list_tensor(x->m, r->out, k);
    bool whole = !piece || neo_tensor_at(x->m, t)->pieces.n == 1;
    uint32_t *family = &x->family[t.i];
    x->refused[by.family] = x->refused[by.family] || !whole;
    more = more || !*family || unite(x, by.family, *family);
    x->length[t.i] = x->length[by.family];
    *family = by.family;
  }
  return more;
}

/* An update is of the family of what it replaces, and the reverse. */
static bool join_updated(slicer *x, neo_tensor t) {
  neo_tensor state = neo_tensor_at(x->m, t)->updates;
  uint32_t *a = &x->family[t.i], *b = &x->family[state.i];
  if (!state.i || *a == *b)
    return false;
  if (*a && *b)
    return unite(x, *a, *b);
  x->length[t.i] = x->length[state.i] = *a ? x->length[t.i] : x->length[state.i];
  *a = *b = *a ? *a : *b;
  return true;
}

static bool grow_once(slicer *x) {
  bool more = false;
  for (uint32_t t = 1; t < x->m->tensors.n; t++) {
    neo_tensor_rec *r = neo_tensor_at(x->m, (neo_tensor){t});
    for (uint32_t k = 0; k < r->pieces.n; k++)
      more = join(x, neo_list_def(x->m, r->pieces, k), true) || more;
    more = (r->init.i && join(x, r->init, false)) || more;
    more = join_updated(x, (neo_tensor){t}) || more;
  }
  return more;
}

/* Definitions that make a part of a family, and do not read it at AXIS 0, are stacks too. */
static void check_makers(slicer *x) {
  for (uint32_t d = 1; d < x->m->defs.n; d++) {
    const neo_def_rec *r = neo_def_at(x->m, (neo_def){d});
    for (uint32_t k = 0; k < r->out.n; k++) {
      neo_tensor t = neo_list_tensor(x->m, r->out, k);
      uint32_t family = x->family[t.i];
      bool whole = neo_tensor_at(x->m, t)->pieces.n <= 1 && r->out.n == 1;
      x->stacked[d] = x->stacked[d] || family;
      if (family && (!whole || !is_stack(x, r, x->length[family])))
        x->refused[family] = true;
    }
  }
}

static bool is_step(const slicer *x, const neo_grad_rec *g) {
  return !g->done && g->y.i == neo_list_at(x->m, x->m->entries.at[0].outputs, 0) && !g->seed.i &&
         !g->n_batch && !g->hold.n;
}

static void refuse_list(slicer *x, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    x->refused[x->family[neo_list_at(x->m, l, k)]] = true;
}

/* Gradients join the families of their parameters. */
static void join_gradients(slicer *x) {
  for (size_t k = 0; k < x->m->grads.n; k++) {
    const neo_grad_rec *g = &x->m->grads.at[k];
    for (uint32_t j = 0; j < g->wrt.n; j++) {
      uint32_t w = neo_list_at(x->m, g->wrt, j), out = neo_list_at(x->m, g->out, j);
      if (!x->family[w])
        continue;
      x->refused[x->family[w]] = x->refused[x->family[w]] || !is_step(x, g);
      x->family[out] = x->family[w];
      x->length[out] = x->length[w];
    }
  }
}

static void refuse_requests(slicer *x) {
  for (size_t k = 0; k < x->m->grads.n; k++) {
    const neo_grad_rec *g = &x->m->grads.at[k];
    x->refused[x->family[g->y.i]] = x->refused[x->family[g->seed.i]] = true;
    refuse_list(x, g->hold);
  }
  for (size_t k = 0; k < x->m->customs.n; k++) {
    refuse_list(x, x->m->customs.at[k].ins);
    refuse_list(x, x->m->customs.at[k].outs);
    refuse_list(x, x->m->customs.at[k].dxs);
  }
  refuse_list(x, x->m->entries.at[0].outputs);
}

static int64_t first_extent(const neo_module *m, neo_tensor t) {
  int64_t n = 0;
  if (neo_tensor_rank(m, t) && !neo_expr_is_int(m, neo_tensor_extent(m, t, 0), &n))
    n = 0;
  return n;
}

/* Parameters of which no slice is unread, and which are not a stack by chance: no definition reads
 * two slices. */
static void refuse_unread(slicer *x) {
  bool **read = NEO_NEW_ARRAY(x->a, bool *, x->m->tensors.n);
  for (uint32_t d = 1; d < x->m->defs.n; d++) {
    reads r = reads_of(x, (neo_def){d});
    neo_tensor *t;
    size_t n = r.fixed && !r.mixed ? neo_def_reads(x->m, (neo_def){d}, x->a, &t) : 0;
    for (size_t k = 0; k < n; k++) {
      uint32_t id = t[k].i;
      if (!x->family[id])
        continue;
      if (!read[id])
        read[id] = NEO_NEW_ARRAY(x->a, bool, x->length[id]);
      if (r.index >= 0 && r.index < x->length[id])
        read[id][r.index] = true;
    }
  }
  for (uint32_t t = 1; t < x->m->tensors.n; t++) {
    bool param = x->m->tensors.at[t].role == NEO_ROLE_PARAM && x->family[t];
    for (int64_t k = 0; param && k < x->length[t]; k++)
      if (!read[t] || !read[t][k])
        x->refused[x->family[t]] = true;
  }
}

static void find_families(slicer *x) {
  size_t n = x->m->tensors.n;
  x->family = NEO_NEW_ARRAY(x->a, uint32_t, n);
  x->refused = NEO_NEW_ARRAY(x->a, bool, n);
  x->length = NEO_NEW_ARRAY(x->a, int64_t, n);
  x->stacked = NEO_NEW_ARRAY(x->a, bool, x->m->defs.n);
  for (uint32_t t = 1; t < n; t++) {
    int64_t length = first_extent(x->m, (neo_tensor){t});
    bool param = x->m->tensors.at[t].role == NEO_ROLE_PARAM;
    if (!param || length < 2 || length > MOST_SLICES)
      continue;
    x->family[t] = t;
    x->length[t] = length;
  }
  join_gradients(x);
  while (grow_once(x))
    ;
  check_makers(x);
  refuse_requests(x);
  refuse_unread(x);
  for (uint32_t t = 1; t < n; t++)
    if (x->refused[x->family[t]])
      x->family[t] = 0;
  for (uint32_t d = 1; d < x->m->defs.n; d++)
    x->stacked[d] = x->stacked[d] && x->family[neo_def_out(x->m, (neo_def){d}, 0).i];
}

/* ---- slices */

static neo_list rest_of(neo_list l) {
  return (neo_list){l.at + 1, l.n - 1};
}

static void add_slices(slicer *x, neo_tensor t) {
  neo_module *m = x->m;
  const char *name = neo_tensor_name(m, t);
  for (int64_t k = 0; k < x->length[t.i]; k++) {
    neo_tensor_rec r = *neo_tensor_at(m, t);
    r.name = neo_name_of(m->names, neo_arena_printf(m->arena, "%s@%lld", name, (long long)k));
    r.extent = rest_of(r.extent);
    r.pieces = (neo_list){0};
    r.init = (neo_def){0};
    neo_tensor slice = neo_tensor_add(m, r);
    NEO_PUSH(x->a, &x->slice[t.i], slice);
    if (r.role == NEO_ROLE_PARAM || r.role == NEO_ROLE_STATE)
      NEO_PUSH(x->n->arena, &x->n->slices,
               (neo_net_slice){.name = r.name,
                               .of = neo_tensor_at(m, t)->name,
                               .index = (uint32_t)k,
                               .n = (uint32_t)x->length[t.i]});
  }
}

static neo_expr sliced(void *ctx, neo_module *m, neo_expr e) {
  slicer *x = ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_expr arg[16];
  if (x->shifts && n.op == NEO_OP_AXIS)
    return n.attr ? neo_axis_ref(m, n.attr - 1) : neo_const_i64(m, x->index);
  if (n.op != NEO_OP_LOAD || !x->family[n.attr])
    return e;
  assert(n.arg.n >= 1 && n.arg.n <= 16);
  for (uint32_t k = 1; k < n.arg.n; k++)
    arg[k - 1] = neo_list_expr(m, n.arg, k);
  neo_tensor slice = x->slice[n.attr].at[x->index];
  return neo_load(m, slice, arg, n.arg.n - 1, n.span);
}

/* The definition for one slice; an initial value, if it is that. */
static void add_def(slicer *x, neo_def d, int64_t index) {
  neo_module *m = x->m;
  neo_def_rec r = *neo_def_at(m, d);
  neo_tensor whole = neo_list_tensor(m, r.out, 0), slice = x->slice[whole.i].at[index];
  bool init = neo_tensor_at(m, whole)->init.i == d.i;
  uint32_t n = r.axes.n - 1;
  neo_axis_rec axis[64];
  x->index = index;
  x->shifts = true;
  for (uint32_t k = 0; k < n; k++) {
    axis[k] = *neo_def_axis(m, &r, k + 1);
    axis[k].lo = neo_expr_rewrite(m, axis[k].lo, sliced, x);
    axis[k].hi = neo_expr_rewrite(m, axis[k].hi, sliced, x);
  }
  r.axes = neo_axes_add(m, axis, n);
  r.n_out--;
  if (r.where.i)
    r.where = neo_expr_rewrite(m, r.where, sliced, x);
  r.body = neo_list_rewrite(m, r.body, sliced, x);
  r.finish = neo_list_rewrite(m, r.finish, sliced, x);
  r.out = neo_list_one(m, slice.i);
  neo_def made = neo_def_add(m, r, !init);
  if (init)
    neo_tensor_at(m, slice)->init = made;
}

static void slice_defs(slicer *x) {
  uint32_t n = (uint32_t)x->m->defs.n;
  for (uint32_t d = 1; d < n; d++) {
    reads r = reads_of(x, (neo_def){d});
    x->shifts = false;
    x->index = r.index;
    if (x->stacked[d])
      for (int64_t k = 0; k < x->length[neo_def_out(x->m, (neo_def){d}, 0).i]; k++)
        add_def(x, (neo_def){d}, k);
    else if (r.fixed)
      neo_def_rewrite(x->m, (neo_def){d}, sliced, x);
  }
}

static neo_list slices_of(slicer *x, neo_list l) {
  NEO_VEC(uint32_t) ids = {0};
  for (uint32_t k = 0; k < l.n; k++) {
    neo_tensor t = neo_list_tensor(x->m, l, k);
    if (!x->family[t.i])
      NEO_PUSH(x->a, &ids, t.i);
    for (size_t j = 0; j < x->slice[t.i].n; j++)
      NEO_PUSH(x->a, &ids, x->slice[t.i].at[j].i);
  }
  return neo_list_new(x->m, ids.at, ids.n);
}

static void slice_all(slicer *x) {
  neo_module *m = x->m;
  uint32_t n = (uint32_t)m->tensors.n;
  x->slice = neo_arena_alloc(x->a, n * sizeof *x->slice);
  memset(x->slice, 0, n * sizeof *x->slice);
  for (uint32_t t = 1; t < n; t++)
    if (x->family[t])
      add_slices(x, (neo_tensor){t});
  for (uint32_t t = 1; t < n; t++)
    for (size_t k = 0; k < x->slice[t].n; k++) {
      uint32_t updates = neo_tensor_at(m, (neo_tensor){t})->updates.i;
      if (updates)
        neo_tensor_at(m, x->slice[t].at[k])->updates = x->slice[updates].at[k];
    }
  slice_defs(x);
  for (size_t k = 0; k < m->grads.n; k++) {
    neo_grad_rec g = m->grads.at[k];
    g.wrt = slices_of(x, g.wrt);
    g.out = slices_of(x, g.out);
    m->grads.at[k] = g;
  }
  m->entries.at[0].updates = slices_of(x, m->entries.at[0].updates);
}

const neo_module *neo_net_sliced(const neo_module *m, uint32_t *entry, neo_network *n,
                                 neo_arena *scratch) {
  bool stacks = false;
  for (uint32_t t = 1; t < m->tensors.n; t++)
    stacks =
        stacks || (m->tensors.at[t].role == NEO_ROLE_PARAM && first_extent(m, (neo_tensor){t}) > 1);
  if (!stacks)
    return m;
  slicer x = {.n = n, .a = scratch};
  x.m = copy_of(m, *entry, n->arena, scratch);
  find_families(&x);
  bool any = false;
  for (uint32_t t = 1; t < x.m->tensors.n; t++)
    any = any || x.family[t];
  if (!any)
    return m;
  slice_all(&x);
  *entry = 0;
  return x.m;
}
