/* Wants: indices whose extents are inferred, and the extents that subscripts give them.
 *
 * Unguarded reads decide; reads under select, and, or, where, else count only if there is no other.
 * Several extents of one level must be equal. */
#include "frontend/sema/sweep.h"

bool neo_has_pack_sub(const neo_ast_expr *e) {
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    if (!e->u.ref.subs.at[k].expr)
      return true;
  return false;
}

/* Whether argument k of a call is taken as a tensor, so that its `..` is no index. */
bool neo_is_tensor_arg(neo_frame *f, const neo_ast_expr *call, uint32_t k) {
  neo_sym *fn;
  if (!neo_call_is(f->in, call, &fn))
    return false;
  if (!fn)
    return true; /* grad(…) */
  if (!fn->fn || k >= fn->fn->u.fn.sig.params.n)
    return false;
  return fn->fn->u.fn.sig.params.at[k].indexed;
}

/* ---- wants */

neo_want *neo_sweep_find(const neo_sweep *s, const char *name) {
  for (neo_want *w = s->top; w; w = w->outer)
    if (w->name == name)
      return w;
  return NULL;
}

static bool is_of_pack(const neo_want *w) {
  return w->name[0] == '.';
}

static void candidate(neo_sweep *s, neo_want *w, neo_expr extent, neo_span place, const neo_view *v,
                      int dim, const char *tensor) {
  if (w->bounded || !extent.i)
    return;
  /* a guard does not allow one `..` to read two parameters with different packs */
  bool guarded = s->guarded && !(s->f->in->pack_other && is_of_pack(w));
  bool better = w->extent.i && w->guarded && !guarded;
  if (!w->extent.i || better) {
    w->extent = extent;
    w->guarded = guarded;
    w->place = place;
    w->dim = dim;
    w->tensor = tensor;
    w->tensor2 = NULL;
    return;
  }
  if (w->guarded != guarded || w->tensor2 || neo_size_equal(s->f->fe, w->extent, extent))
    return;
  w->tensor2 = tensor;
  w->extent2 = extent;
  w->place2 = place;
  w->dim2 = dim;
  w->declared2 = neo_tensor_at(s->f->m, v->tensor)->span;
}

void neo_sweep_conflict(neo_sweep *s, neo_want *w) {
  neo_fe *fe = s->f->fe;
  if (!w->tensor2)
    return;
  w->hushed = true;
  if (is_of_pack(w) && neo_pack_differs(s->f->in))
    return;
  int h = NEO_ERR(s->f->in, w->place, EXTENT_CONFLICT, is_of_pack(w) ? ".." : w->name,
                  neo_size_text(fe, w->extent), w->tensor, w->dim, neo_size_text(fe, w->extent2),
                  w->tensor2, w->dim2);
  neo_diag_range(fe->diags, h, w->place2);
  neo_fe_note_place(fe, h, neo_arena_printf(fe->arena, "%s is declared", w->tensor2), w->declared2);
  if (w->guarded)
    neo_diag_help(fe->diags, h,
                  "neither read decides, as both are guarded: bound the index where it is "
                  "introduced, as in '%s < N'",
                  w->name);
}

bool neo_ranges_missing(neo_frame *f, const neo_want *w) {
  if (w->bounded || (w->extent.i && !w->hushed))
    return false;
  if (w->hushed)
    return true;
  bool pack = is_of_pack(w);
  int h = NEO_ERR(f->in, w->span, NO_EXTENT, pack ? ".." : w->name);
  const neo_sym *size = pack ? NULL : neo_scope_find(f->in->scope, w->name);
  if (size)
    neo_diag_help(f->fe->diags, h,
                  "'%s' has a value: as an extent it follows an index, as in 'i < %s'", w->name,
                  w->name);
  else if (!pack)
    neo_diag_help(f->fe->diags, h,
                  "write a bound, as in '%s < N', or subscript a dimension with '%s' alone",
                  w->name, w->name);
  return true;
}

/* ---- subscripts */

void neo_sweep_subs(neo_sweep *s, const neo_ast_expr *e, const neo_view *v, bool is_slice) {
  uint32_t n = e->u.ref.subs.n, d = 0;
  bool pack = neo_has_pack_sub(e);
  uint32_t in_pack = pack ? v->rank + 1 - n : 0;
  const char *tensor = neo_path_text(s->f->fe, &e->u.ref.path);
  if (pack ? n > v->rank + 1 : n != v->rank) {
    neo_check_count(s->f, e, v);
    s->hushed = true;
    return;
  }
  for (uint32_t k = 0; k < n; k++) {
    const neo_ast_sub *sub = &e->u.ref.subs.at[k];
    if (!sub->expr) {
      for (uint32_t j = 0; j < in_pack && d < v->rank; j++, d++) {
        neo_want *w = neo_sweep_find(s, neo_frame_pack_name(s->f->fe, j));
        if (w && s->f->has_pack && !is_slice)
          candidate(s, w, neo_view_extent(s->f->fe, v, d), sub->span, v, (int)d, tensor);
      }
      continue;
    }
    if (d < v->rank && neo_ast_is_bare(sub->expr)) {
      neo_want *w = neo_sweep_find(s, sub->expr->u.ref.path.at[0].text);
      if (w)
        candidate(s, w, neo_view_extent(s->f->fe, v, d), sub->span, v, (int)d, tensor);
    }
    d++;
  }
}

/* ---- calls that use indices */

static void look_mention(void *ctx, const neo_ast_expr *e) {
  struct {
    neo_sweep *s;
    bool found;
  } *c = ctx;
  if (neo_ast_is_bare(e))
    c->found = c->found || neo_sweep_find(c->s, e->u.ref.path.at[0].text) != NULL;
  if (e->kind == NEO_AST_REF && e->u.ref.has_args) {
    for (uint32_t k = 0; k < e->u.ref.args.n; k++) {
      const neo_ast_expr *a = e->u.ref.args.at[k].value;
      if (a->kind == NEO_AST_REF && neo_has_pack_sub(a) && !neo_is_tensor_arg(c->s->f, e, k))
        c->found = true;
    }
  }
  neo_ast_children(e, look_mention, ctx);
}

/* Whether the arguments of a call use indices. */
bool neo_sweep_mentions(neo_sweep *s, const neo_ast_expr *e) {
  struct {
    neo_sweep *s;
    bool found;
  } c = {s, false};
  neo_ast_expr args = *e;
  args.u.ref.subs.n = 0;
  look_mention(&c, &args);
  return c.found;
}

typedef struct {
  neo_sweep *s;
  bool known;
} readiness;

static void look_ready(void *ctx, const neo_ast_expr *e) {
  readiness *r = ctx;
  neo_want *w = neo_ast_is_bare(e) ? neo_sweep_find(r->s, e->u.ref.path.at[0].text) : NULL;
  if (w && !w->bounded && !w->extent.i)
    r->known = false;
  neo_ast_children(e, look_ready, ctx);
}

bool neo_sweep_ready(neo_sweep *s, const neo_ast_expr *call) {
  neo_ast_expr args = *call;
  readiness r = {s, true};
  args.u.ref.subs.n = 0;
  look_ready(&r, &args);
  return r.known;
}

void neo_sweep_set_axes(neo_sweep *s) {
  for (neo_want *w = s->top; w; w = w->outer) {
    int p = neo_frame_axis(s->f, w->name);
    if (p >= 0 && w->extent.i)
      s->f->axis[p].hi = w->extent;
  }
}
