/* Reads between rows and the lists of rows (definitions that run by owner, ir/order.h): which row
 * an element belongs to.
 *
 *     h[v] = sum[e: begin[v] .. begin[v + 1]] s[e]     s[e] is in the list of the current row v
 *     s[e] = f(h[child[e]])                            row child[e] is in an earlier block */
#include "fusion/recurrence/internal.h"
#include "ir/lists.h"

/* The load that index e converts; null: e is another expression. */
static const neo_node *load_of(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_CAST)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  return n->op == NEO_OP_LOAD ? n : NULL;
}

/* Is `row` the owner of the reader's element, owner[e]? */
static bool is_own_row(const neo_module *m, const neo_order_member *reader, neo_expr row) {
  const neo_node *n = load_of(m, row);
  const neo_node *at = n ? neo_expr_node(m, neo_list_expr(m, n->arg, 0)) : NULL;
  return at && n->attr == reader->owner.i && at->op == NEO_OP_AXIS && at->attr == reader->axis;
}

bool outline_reads_list(const outliner *o, const neo_order_member *reader,
                        const neo_order_member *made, neo_expr at) {
  neo_module *m = o->m;
  neo_def_rec d = *neo_def_at(m, reader->def);
  neo_expr row;
  if (!made->owner.i)
    return reader->owner.i && is_own_row(m, reader, at);
  const neo_node *n = neo_expr_node(m, at), *listed = load_of(m, at);
  if (listed && neo_tensor_at(m, (neo_tensor){listed->attr})->row_role == NEO_ROW_LISTED) {
    const neo_node *axis = neo_expr_node(m, neo_list_expr(m, listed->arg, 0));
    return axis->op == NEO_OP_AXIS && axis->attr >= d.n_out;
  }
  if (n->op != NEO_OP_AXIS || n->attr < d.n_out)
    return false;
  neo_tensor begin = neo_list_run(m, neo_def_axis(m, &d, n->attr), &row);
  return begin.i && begin.i == neo_tensor_at(m, made->owner)->offsets.i &&
         (reader->owner.i ? is_own_row(m, reader, row) : row.i == neo_axis_ref(m, reader->axis).i);
}
