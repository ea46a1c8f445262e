/* Construction of a group's form: members in order, each as the stages that reduce it and the one
 * that stores it; then the steps that normalise the form (steps.h). */
#include "fusion/form/builder.h"
#include "ir/out_map.h"
#include "ir/row_blocks.h"
#include <assert.h>

static neo_expr store_offset(neo_module *m, const neo_def_rec *d, neo_tensor t) {
  neo_expr index[NEO_DEF_AXES];
  assert(d->n_out < NEO_DEF_AXES);
  for (uint32_t k = 0; k < d->n_out; k++)
    index[k] = neo_def_out_index(m, d, k);
  return neo_flat_offset(m, t, index);
}

static uint32_t shared_axes(const neo_form_builder *b) {
  uint32_t n = UINT32_MAX;
  for (size_t k = 0; k < b->g->members.n; k++) {
    const neo_member *x = &b->g->members.at[k];
    uint32_t n_out = neo_def_at(b->m, x->def)->n_out;
    if (x->place != NEO_PLACE_INLINE && n_out < n)
      n = n_out;
  }
  return n == UINT32_MAX ? 0 : n;
}

/* Maps the member's output axes to the form's: shared ones first, then its own. */
static void place_axes(neo_form_builder *b, const neo_member *x, const neo_def_rec *d) {
  uint32_t n = (uint32_t)b->f->axes.n;
  uint64_t shared = 0;
  b->n_own = 0;
  assert(d->n_out < NEO_DEF_AXES);
  for (uint32_t k = 0; k < d->n_out; k++)
    b->axis[k] = (neo_expr){0};
  for (uint32_t s = 0; s < n; s++) {
    uint32_t k = x->shared ? (uint32_t)x->shared[s] : s;
    shared |= 1ULL << k;
    b->axis[k] = neo_axis_ref(b->m, s);
  }
  for (uint32_t k = 0; k < d->n_out; k++)
    if (!(shared >> k & 1)) {
      b->axis[k] = neo_axis_ref(b->m, n + b->n_own);
      b->own[b->n_own++] = k;
    }
}

static neo_expr in_form(neo_form_builder *b, const neo_def_rec *d, neo_expr e) {
  return neo_expr_subst_axes(b->m, e, b->axis, d->n_out);
}

/* The stage that stores one member: that of the member before, if both store at all points of the
 * same axes. */
static neo_stage *store_stage(neo_form_builder *b, const neo_def_rec *d) {
  neo_form *f = b->f;
  neo_stage s = {.first_acc = f->n_accs};
  for (uint32_t k = 0; k < b->n_own; k++)
    NEO_PUSH(b->m->arena, &s.axes, *neo_def_axis(b->m, d, b->own[k]));
  neo_form_end_stage(b, s);
  return &f->stages.at[f->stages.n - 1];
}

static void add_outs(neo_form_builder *b, const neo_member *x, const neo_def_rec *d,
                     const neo_expr *value) {
  place_axes(b, x, d);
  neo_stage *s = store_stage(b, d);
  for (uint32_t k = 0; k < d->out.n; k++) {
    neo_tensor t = {neo_list_at(b->m, d->out, k)};
    neo_expr at = in_form(b, d, store_offset(b->m, d, t));
    neo_form_out out = {t, at, neo_form_flatten(b, s, in_form(b, d, value[k])), 0};
    NEO_PUSH(b->m->arena, &s->outs, out);
  }
}

/* Adds a sum over row blocks of the last shared axis: each point adds its row. Output axes are the
 * shared ones, with the block's number in place of the last, and one more. */
static void add_row_block(neo_form_builder *b, const neo_member *x) {
  neo_module *m = b->m;
  neo_def_rec d = *neo_def_at(m, x->def);
  neo_row_block block;
  neo_expr index[NEO_DEF_AXES];
  bool is_block = neo_row_block_of(m, x->def, &block);
  assert(is_block && block.at + 1 == b->f->axes.n && "found by fusion/search/columns.c");
  (void)is_block;
  for (uint32_t k = 0; k < d.n_out; k++)
    index[k] = neo_axis_ref(m, k);
  index[block.at] = neo_op2(m, NEO_OP_DIV, index[block.at], neo_const_i64(m, block.length));
  neo_stage s = {.first_acc = b->f->n_accs};
  NEO_PUSH(m->arena, &s.axes, *neo_def_axis(m, &d, d.n_out - 1));
  neo_tensor t = {neo_list_at(m, d.out, 0)};
  neo_expr value = neo_form_flatten(b, &s, neo_form_put_in(b, block.body));
  NEO_PUSH(m->arena, &s.outs, (neo_form_out){t, neo_flat_offset(m, t, index), value, block.length});
  neo_form_end_stage(b, s);
}

static void add_member(neo_form_builder *b, const neo_member *x) {
  neo_def_rec d = *neo_def_at(b->m, x->def);
  neo_expr value[16];
  if (x->row_block) {
    add_row_block(b, x);
    return;
  }
  if (x->place == NEO_PLACE_INLINE && d.reducer != NEO_RED_NONE) {
    neo_map_set(&b->nested, neo_list_at(b->m, d.out, 0), x->def.i);
    return;
  }
  b->acc[0] = b->acc[1] = (neo_expr){0};
  assert(d.finish.n <= 16);
  neo_form_reduce(b, &d);
  for (uint32_t k = 0; k < d.finish.n; k++)
    value[k] = neo_form_put_in(b, neo_list_expr(b->m, d.finish, k));
  if (x->place == NEO_PLACE_ROOT)
    add_outs(b, x, &d, value);
  if (!d.out_map.n)
    for (uint32_t k = 0; k < d.out.n; k++)
      neo_map_set(&b->value, neo_list_at(b->m, d.out, k), value[k].i);
}

/* Adds the shared axes, those of a member that has no others. */
static void add_shared(neo_form_builder *b) {
  uint32_t n = shared_axes(b);
  for (size_t k = 0; k < b->g->members.n && b->f->axes.n < n; k++) {
    const neo_member *x = &b->g->members.at[k];
    const neo_def_rec *d = neo_def_at(b->m, x->def);
    if (x->place == NEO_PLACE_INLINE || d->n_out != n)
      continue;
    for (uint32_t i = 0; i < n; i++)
      NEO_PUSH(b->m->arena, &b->f->axes, *neo_def_axis(b->m, d, i));
  }
}

static neo_form *build(neo_module *m, const neo_group *g) {
  neo_form_builder b = {.m = m, .p = neo_prover_new(m), .g = g, .f = NEO_NEW(m->arena, neo_form)};
  neo_map_init(&b.value, m->arena);
  neo_map_init(&b.nested, m->arena);
  neo_prover_at(b.p, g->members.n ? neo_def_at(m, g->members.at[0].def)->span : 0);
  b.f->in_order = g->in_order;
  add_shared(&b);
  for (size_t k = 0; k < g->members.n; k++)
    add_member(&b, &g->members.at[k]);
  if (!neo_form_is_nested(b.f)) { /* nested stages share axes, which stay */
    neo_form_fuse_stages(m, b.f);
    neo_form_terms(m, b.f);
    neo_form_drop_unit_axes(m, b.f);
    neo_form_strip_mine(m, b.f);
    neo_form_fuse_axes(m, b.f);
    neo_form_interchange(m, b.f);
  }
  neo_form_rebase(m, b.p, g, b.f);
  neo_prover_free(b.p);
  return b.f;
}

const neo_form *neo_group_form(neo_module *m, const neo_group *g) {
  neo_group *own = (neo_group *)g; /* const but for its cached form */
  if (!g->form)
    own->form = build(m, g);
  return g->form;
}
