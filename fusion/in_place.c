/* In-place results, which overwrite an operand:
 *
 *     y[i, j] = 0.9*x[i, j] + p[i, j]           y in the memory of x, if nobody reads x afterwards
 *
 * The kernel has to read an element of the operand where it makes the same element of the result,
 * before the store. So only elementwise definitions read the operand, each at its own element; no
 * reduction of the kernel depends on it, since it might read elements that other iterations have
 * written; and the kernel has one result, since another one might read the operand afterwards. */
#include "fusion/form/steps.h"
#include "fusion/group.h"

typedef struct {
  neo_module *m;
  neo_tensor t;
  bool is;    /* all reads of t are at the definition's own element */
  bool reads; /* t is read */
} own_reads;

static void look(void *ctx, neo_expr e) {
  own_reads *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (!neo_node_is_load(n) || n->attr != c->t.i)
    return;
  c->reads = true;
  c->is = c->is && n->op == NEO_OP_LOAD;
  for (uint32_t k = 0; c->is && k < n->arg.n; k++)
    c->is = neo_list_at(c->m, n->arg, k) == neo_axis_ref(c->m, k).i;
}

static bool reads(const neo_module *m, neo_expr e, neo_tensor t) {
  own_reads c = {(neo_module *)(uintptr_t)m, t, true, false};
  if (e.i)
    neo_expr_visit(m, e, look, &c);
  return c.reads;
}

/* Is it elementwise, with axes that are, in order, the indices of its result? */
static bool is_pointwise(const neo_module *m, const neo_def_rec *d) {
  neo_tensor t = {d->out.n ? neo_list_at(m, d->out, 0) : 0};
  return d->reducer == NEO_RED_NONE && d->out.n == 1 && !d->out_map.n &&
         neo_tensor_at(m, t)->pieces.n == 1 && neo_tensor_rank(m, t) == d->n_out;
}

static bool makes(const neo_module *m, const neo_def_rec *d, neo_tensor t) {
  return d->out.n == 1 && neo_list_at(m, d->out, 0) == t.i;
}

static bool own_element(neo_module *m, const neo_group *g, neo_tensor t, uint32_t depth);

/* Do readers of the member's value, if it is no result, read at their own element too? */
static bool member_reads_own(neo_module *m, const neo_group *g, const neo_member *x, neo_tensor t,
                             uint32_t depth) {
  const neo_def_rec d = *neo_def_at(m, x->def);
  own_reads c = {m, t, true, false};
  neo_def_visit(m, x->def, look, &c);
  if (!c.reads)
    return true;
  if (!c.is || !is_pointwise(m, &d))
    return false;
  neo_tensor out = {neo_list_at(m, d.out, 0)};
  if (out.i == g->roots.at[0].i)
    return true;
  return x->place == NEO_PLACE_INLINE && own_element(m, g, out, depth + 1);
}

static bool own_element(neo_module *m, const neo_group *g, neo_tensor t, uint32_t depth) {
  enum { MOST_DEPTH = 32 };
  if (depth == MOST_DEPTH)
    return false;
  for (size_t k = 0; k < g->members.n; k++)
    if (!member_reads_own(m, g, &g->members.at[k], t, depth))
      return false;
  for (size_t k = 0; k < g->when.n; k++)
    if (reads(m, g->when.at[k], t))
      return false;
  return true;
}

/* Do both tensors have equal types and extents? */
static bool is_like(const neo_module *m, neo_tensor a, neo_tensor b) {
  const neo_tensor_rec *x = neo_tensor_at(m, a), *y = neo_tensor_at(m, b);
  bool is = x->role == NEO_ROLE_TEMP && y->role == NEO_ROLE_TEMP && x->type == y->type &&
            x->extent.n == y->extent.n && x->extent.n;
  const neo_tensor_rec *both[] = {x, y};
  for (int k = 0; k < 2; k++)
    is = is && !both[k]->partial && !both[k]->terms && !both[k]->rows.i && !both[k]->moves &&
         !both[k]->within.i;
  for (uint32_t k = 0; is && k < x->extent.n; k++)
    is = neo_list_at(m, x->extent, k) == neo_list_at(m, y->extent, k);
  return is;
}

static bool makes_root(const neo_module *m, const neo_group *g) {
  for (size_t k = 0; k < g->members.n; k++) {
    const neo_def_rec *d = neo_def_at(m, g->members.at[k].def);
    if (makes(m, d, g->roots.at[0]))
      return is_pointwise(m, d);
  }
  return false;
}

/* Do later groups of the same entries read it? */
static bool is_read_after(const neo_grouping *all, size_t at, neo_tensor t) {
  for (size_t g = at + 1; g < all->groups.n; g++)
    for (size_t k = 0; k < all->groups.at[g].reads.n; k++)
      if (all->groups.at[g].entry == all->groups.at[at].entry &&
          all->groups.at[g].reads.at[k].i == t.i)
        return true;
  return false;
}

void neo_grouping_find_over(neo_module *m, neo_grouping *all) {
  for (size_t at = 0; at < all->groups.n; at++) {
    neo_group *g = &all->groups.at[at];
    if (!neo_group_has_form(g) || g->cached || g->roots.n != 1 || !makes_root(m, g))
      continue;
    for (size_t k = 0; k < g->reads.n && !g->over.i; k++)
      if (is_like(m, g->reads.at[k], g->roots.at[0]) && !is_read_after(all, at, g->reads.at[k]) &&
          own_element(m, g, g->reads.at[k], 0))
        g->over = g->reads.at[k];
    if (g->over.i)
      neo_form_key(m, g, g->key);
  }
}
