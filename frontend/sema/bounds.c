/* Bounds: every read is shown to be in range, or the message gives an example where it is not. */
#include "frontend/sema/parts.h"

/* ---- evaluation at a witness, for the message */

typedef struct {
  const neo_module *m;
  const neo_witness *w;
} spot;

static bool value_at(const spot *s, neo_expr e, int64_t *x);

static bool binary_at(const spot *s, neo_node n, int64_t *x) {
  int64_t a, b;
  if (!value_at(s, neo_list_expr(s->m, n.arg, 0), &a))
    return false;
  if (!value_at(s, neo_list_expr(s->m, n.arg, 1), &b))
    return false;
  bool divides = b != 0 && b != -1; /* the least of i64 by -1 leaves i64 */
  int64_t q = divides ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
  switch ((neo_op)n.op) {
  case NEO_OP_ADD:
    return !__builtin_add_overflow(a, b, x);
  case NEO_OP_SUB:
    return !__builtin_sub_overflow(a, b, x);
  case NEO_OP_MUL:
    return !__builtin_mul_overflow(a, b, x);
  case NEO_OP_DIV:
    *x = q;
    return b != -1;
  case NEO_OP_MOD:
    *x = b ? a - b * q : 0;
    return b != -1;
  case NEO_OP_MIN:
    *x = a < b ? a : b;
    return true;
  case NEO_OP_MAX:
    *x = a > b ? a : b;
    return true;
  default:
    return false;
  }
}

static bool value_at(const spot *s, neo_expr e, int64_t *x) {
  neo_node n = *neo_expr_node(s->m, e);
  if (neo_expr_is_int(s->m, e, x))
    return true;
  if (n.type != NEO_I64_T)
    return false;
  if (n.op == NEO_OP_AXIS && n.attr < s->w->n_axes) {
    *x = s->w->axis[n.attr];
    return true;
  }
  for (uint32_t k = 0; n.op == NEO_OP_SIZE && k < s->w->n_sizes; k++)
    if (s->w->size[k].size.i == n.attr) {
      *x = s->w->size[k].value;
      return true;
    }
  return n.arg.n == 2 && neo_op_is_elementwise((neo_op)n.op) && binary_at(s, n, x);
}

/* ---- the message */

typedef struct {
  const neo_module *m;
  uint64_t sizes;
} size_use;

static void look_size(void *ctx, neo_expr e) {
  size_use *u = ctx;
  const neo_node *n = neo_expr_node(u->m, e);
  if (n->op == NEO_OP_SIZE && n->attr < 64)
    u->sizes |= (uint64_t)1 << n->attr;
}

static void add_setting(neo_str *s, const char *name, int64_t x) {
  if (s->n)
    neo_str_add(s, ", ");
  neo_str_addf(s, "%s = %lld", name, (long long)x);
}

/* "i = 0, N = 1": the axes and sizes that the index uses. */
static const char *settings(neo_frame *f, neo_expr index, neo_expr extent, const neo_witness *w) {
  size_use u = {f->m, 0};
  neo_str s = neo_str_in(f->fe->arena);
  uint64_t axes = neo_expr_axes(f->m, index);
  for (uint32_t k = 0; k < f->n_axes && k < w->n_axes; k++)
    if (axes >> k & 1)
      add_setting(&s, neo_name_text(f->fe->names, f->axis[k].name), w->axis[k]);
  neo_expr_visit(f->m, index, look_size, &u);
  neo_expr_visit(f->m, extent, look_size, &u);
  for (uint32_t k = 0; k < w->n_sizes; k++) {
    neo_size size = w->size[k].size;
    if (size.i < 64 && u.sizes >> size.i & 1)
      add_setting(&s, neo_name_text(f->fe->names, neo_size_at(f->m, size)->name), w->size[k].value);
  }
  return neo_str_text(&s);
}

static const char *shown_name(neo_frame *f, const neo_view *v) {
  return neo_name_text(f->fe->names, neo_tensor_at(f->m, v->tensor)->name);
}

static const char *element_text(neo_frame *f, const neo_view *v, const neo_expr *index,
                                const neo_witness *w) {
  spot s = {f->m, w};
  neo_str t = neo_str_in(f->fe->arena);
  neo_str_addf(&t, "%s[", shown_name(f, v));
  for (uint32_t d = f->in->n_ambient < v->n ? 0 : v->n; d < v->n; d++) {
    int64_t x;
    if (d)
      neo_str_add(&t, ", ");
    if (index[d].i && value_at(&s, index[d], &x))
      neo_str_addf(&t, "%lld", (long long)x);
    else
      neo_str_add(&t, "_");
  }
  neo_str_add(&t, "]");
  return neo_str_text(&t);
}

static void refuted(neo_frame *f, neo_span at, const neo_view *v, const neo_expr *index,
                    uint32_t dim, const neo_witness *w) {
  neo_expr extent = neo_tensor_extent(f->m, v->tensor, dim);
  const char *when = settings(f, index[dim], extent, w);
  const char *name = shown_name(f, v);
  int h = NEO_ERR(f->in, at, OUT_OF_RANGE, name, (int)dim, neo_size_text(f->fe, extent), when,
                  when[0] ? " reads " : "reads ", element_text(f, v, index, w));
  int64_t n, i;
  if (neo_expr_is_int(f->m, index[dim], &i) && i < 0 && neo_expr_is_int(f->m, extent, &n) && n > 0)
    neo_diag_help(f->fe->diags, h, "indices count from 0: the last one is %lld",
                  (long long)(n - 1));
  else
    neo_diag_help(f->fe->diags, h, "guard it with select(...), or write (%s[...] else 0)", name);
}

static void unknown(neo_frame *f, neo_span at, const neo_view *v, const neo_expr *index,
                    uint32_t dim) {
  int64_t lo, hi;
  neo_facts facts = neo_frame_facts(f);
  neo_expr extent = neo_tensor_extent(f->m, v->tensor, dim);
  const char *name = shown_name(f, v);
  neo_interval(f->fe->prover, &facts, index[dim], &lo, &hi);
  int h = NEO_ERR(f->in, at, NOT_PROVED, name, (int)dim, neo_size_text(f->fe, extent));
  bool open = lo == INT64_MIN || hi == INT64_MAX || hi - lo > ((int64_t)1 << 31);
  if (open)
    neo_diag_note(f->fe->diags, h,
                  "nothing bounds this index; an integer tensor that is used as "
                  "an index carries a bound, ': i32 < N'");
  else
    neo_diag_note(f->fe->diags, h, "all that is known is that it lies in [%lld, %lld]",
                  (long long)lo, (long long)hi);
  neo_diag_help(f->fe->diags, h,
                "use clamp(..., 0, N - 1), guard it with select(...), or write (%s[...] else 0)",
                name);
}

void neo_bounds_remember(neo_frame *f, neo_expr index, neo_expr extent) {
  if (f->depth == 0)
    return;
  uint32_t first = (uint32_t)f->proofs.n;
  for (size_t k = 0; k < f->assume.n; k++)
    NEO_PUSH(f->fe->arena, &f->proofs, f->assume.at[k]);
  NEO_PUSH(f->fe->arena, &f->reads, (neo_read){index, extent, first, (uint32_t)f->assume.n});
}

bool neo_bounds_check(neo_frame *f, neo_span at, const neo_view *v, const neo_expr *index,
                      uint32_t dim) {
  neo_witness w = {0};
  neo_expr extent = neo_tensor_extent(f->m, v->tensor, dim);
  neo_facts facts = neo_frame_facts(f);
  neo_span before = neo_prover_at(f->fe->prover, at);
  neo_proof proof = neo_prove_index(f->fe->prover, &facts, index[dim], extent, &w);
  neo_prover_at(f->fe->prover, before);
  switch (proof) {
  case NEO_PROVED:
    neo_bounds_remember(f, index[dim], extent);
    return true;
  case NEO_REFUTED:
    refuted(f, at, v, index, dim, &w);
    return false;
  default:
    unknown(f, at, v, index, dim);
    return false;
  }
}

bool neo_bounds_holds(neo_frame *f, neo_expr goal) {
  neo_facts facts = neo_frame_facts(f);
  return neo_proves(f->fe->prover, &facts, goal);
}

neo_facts neo_frame_facts(const neo_frame *f) {
  return (neo_facts){f->axis, f->n_axes, f->assume.at, (uint32_t)f->assume.n};
}
