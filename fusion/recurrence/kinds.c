/* Blocks of rows of one kind each (NEO_ROW_KIND). For each kind the block's steps are written once, and run in
 * blocks of that kind:
 *
 *     h[p, j] = select(kind[p] == 1, a[p, j], b[p, j])
 *     ->
 *     for b: where b % 2 == 0: h[begin .. end - 1, j] = b[..]     and nothing of a
 *            where b % 2 == 1: h[begin .. end - 1, j] = a[..]     and nothing of b
 *
 * What is 0 for all rows of a kind is 0 where it is read, and so are terms of sums that are multiples of it. */
#include "fusion/recurrence/internal.h"

void outline_add_kinds(outliner *o, neo_trees *steps, const neo_order_step *order,
                       const outline_around *block, neo_size index) {
  neo_module *m = o->m;
  int64_t n = neo_blocks_kinds(m, block->blocks);
  neo_expr kinds = outline_number(o, n);
  for (int64_t k = 0; k < n; k++) {
    neo_expr own = neo_op2(m, NEO_OP_MOD, neo_size_ref(m, index), kinds);
    if (n > 1) {
      o->kind = (uint32_t)k + 1;
      o->is_kind = neo_op2(m, NEO_OP_EQ, own, outline_number(o, k));
      o->zero = NEO_NEW_ARRAY(o->a, uint8_t, m->defs.n);
    }
    outline_add_steps(o, steps, order);
    o->kind = 0;
    o->is_kind = (neo_expr){0};
  }
}

/* ---- what is known of a kind */

typedef struct {
  outliner *o;
  neo_expr own;
} kind_look;

enum { UNKNOWN, ZERO, OTHER };

static const neo_order_member *maker_of(const outliner *o, neo_tensor t) {
  const neo_order_step *loop = outline_block_around(o)->order;
  neo_list pieces = neo_tensor_at(o->m, t)->pieces;
  for (uint32_t k = 0; k < loop->n_members && pieces.n == 1; k++)
    if (loop->member[k].def.i == neo_list_at(o->m, pieces, 0))
      return &loop->member[k];
  return NULL;
}

/* Are all elements of the definition 0, for rows of the kind? A row that asks for itself is none. */
static bool is_zero(outliner *o, neo_def d) {
  if (o->zero[d.i])
    return o->zero[d.i] == ZERO;
  o->zero[d.i] = OTHER;
  const outline_instance *y = outline_instance_of(o, d);
  bool is = y->rec.finish.n == 1 && y->rec.reducer == NEO_RED_NONE &&
            neo_expr_is_zero(o->m, neo_list_expr(o->m, y->rec.finish, 0));
  o->zero[d.i] = is ? ZERO : OTHER;
  return is;
}

static neo_expr of_kind(void *ctx, neo_module *m, neo_expr e) {
  const kind_look *l = ctx;
  neo_node n = *neo_expr_node(m, e);
  if (!outline_is_read(&n))
    return e;
  const neo_tensor_rec *t = neo_tensor_at(m, (neo_tensor){n.attr});
  if (t->row_role == NEO_ROW_KIND &&
      neo_tensor_blocks(m, (neo_tensor){n.attr}).i == outline_block_around(l->o)->blocks.i)
    return neo_list_at(m, n.arg, 0) == l->own.i
               ? neo_const_int(m, (neo_type)n.type, (int64_t)l->o->kind - 1)
               : e;
  const neo_order_member *made = maker_of(l->o, (neo_tensor){n.attr});
  bool zero = made && n.op == NEO_OP_LOAD && neo_type_is_float((neo_type)n.type) &&
              neo_list_at(m, n.arg, made->axis) == l->own.i && is_zero(l->o, made->def);
  return zero ? neo_const_float(m, (neo_type)n.type, 0) : e;
}

neo_expr outline_of_kind(outliner *o, neo_expr own, neo_expr e) {
  kind_look l = {o, own};
  return o->kind && own.i ? neo_expr_rewrite(o->m, e, of_kind, &l) : e;
}
