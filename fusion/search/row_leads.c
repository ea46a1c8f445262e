/* What rows need of themselves alone, where they are made in blocks and streaming is off (neo_loop_options).
 *
 *     x[p, e] = T[word[p], e],   z[p, j] = sum[e] x[p, e]*W[e, j]
 *     h[p, j] = tanh(z[p, j] + sum[k, l] (h[placed[p, k], l] else 0)*U[k, l, j])
 *
 * x and z become a part of the recurrence's group, and are made block by block (fusion/recurrence/lead.c). Who else reads
 * them comes after it. What depends on other rows, of this recurrence or another one, stays where it is: no way of
 * running the graph makes it ahead of them. So do numbers of rows, which say what a block is. */
#include "fusion/recurrence.h"
#include "fusion/search/search.h"
#include "ir/component.h"

typedef struct {
  fuser *q;
  uint32_t *own;  /* by definition: the recurrence that it is really of */
  bool *of_rows;  /* by definition: it depends on a recurrence that runs in blocks */
  neo_def *group; /* of the recurrence at hand, and what is taken */
  size_t n_group;
  neo_order_step loop;
  fuse_set set;
} row_leads;

/* ---- the recurrence */

/* Its definitions in the loop: its own, and those of the group that run along its rows. */
static bool find_loop(row_leads *x, uint32_t number) {
  fuser *q = x->q;
  neo_def *in = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  neo_order_step with;
  size_t n = 0;
  x->n_group = 0;
  for (size_t k = 0; k < q->n_order; k++) {
    neo_def d = {q->order[k]};
    if (q->def[d.i].recurrence != number)
      continue;
    x->group[x->n_group++] = d;
    if (x->own[d.i])
      in[n++] = d;
  }
  neo_prover *p = neo_prover_new(q->m);
  bool found = n && neo_order_find(p, in, n, q->a, &x->loop, NULL);
  for (size_t k = 0; k < x->n_group && found; k++) {
    in[n] = x->group[k];
    if (x->own[in[n].i] || neo_order_round_axis(q->m, &x->loop, in[n]) < 0 ||
        !neo_order_find(p, in, n + 1, q->a, &with, NULL))
      continue;
    x->loop = with;
    n++;
  }
  neo_prover_free(p);
  return found && neo_recurrence_has_blocks(q->m, &x->loop);
}

/* ---- what is taken */

static bool is_read_before(const row_leads *x, neo_def d) {
  fuser *q = x->q;
  for (size_t k = 0; k < q->n_order; k++) {
    neo_def reader = {q->order[k]};
    neo_tensor *in;
    if (x->set.member[reader.i] || !x->set.before[reader.i])
      continue;
    for (size_t n = neo_def_reads(q->m, reader, q->a, &in); n-- > 0;)
      for (uint32_t i = 0; i < neo_def_at(q->m, d)->out.n; i++)
        if (in[n].i == neo_def_out(q->m, d, i).i)
          return true;
  }
  return false;
}

static bool is_candidate(const row_leads *x, neo_def d) {
  const fuser *q = x->q;
  neo_list out = neo_def_at(q->m, d)->out;
  bool is = x->set.before[d.i] && !x->set.member[d.i] && !q->def[d.i].recurrence &&
            !q->def[d.i].call_invariant && !x->of_rows[d.i];
  for (uint32_t k = 0; k < out.n && is; k++) {
    const neo_tensor_rec *t = neo_tensor_at(q->m, neo_list_tensor(q->m, out, k));
    is = t->role == NEO_ROLE_TEMP && t->pieces.n == 1 && neo_type_is_float((neo_type)t->type);
  }
  return is;
}

/* Room for as many members as there are definitions. */
static void copy_members(row_leads *x) {
  fuser *q = x->q;
  neo_order_member *all = NEO_NEW_ARRAY(q->a, neo_order_member, x->loop.n_members + q->n_order);
  for (uint32_t k = 0; k < x->loop.n_members; k++)
    all[k] = x->loop.member[k];
  x->loop.member = all;
}

static void take_leads(row_leads *x, uint32_t number) {
  fuser *q = x->q;
  size_t before = x->n_group;
  x->set = fuse_set_new(q);
  copy_members(x);
  for (size_t k = 0; k < x->n_group; k++)
    x->set.member[x->group[k].i] = true;
  fuse_set_find_before(&x->set);
  for (size_t k = q->def[x->group[0].i].at; k-- > 0;) { /* readers first */
    neo_def d = {q->order[k]};
    neo_order_member *to = &x->loop.member[x->loop.n_members];
    if (!is_candidate(x, d) || is_read_before(x, d) ||
        !neo_recurrence_leads(q->m, &x->loop, x->group, x->n_group, d, to))
      continue;
    x->loop.n_members++;
    x->group[x->n_group++] = d;
    x->set.member[d.i] = true;
  }
  if (x->n_group == before)
    return;
  fuse_set_find_after(&x->set);
  fuse_set_join(&x->set, number);
}

/* ---- all recurrences */

void fuse_take_row_leads(fuser *q) {
  uint32_t n = 0;
  row_leads x = {.q = q};
  fuse_set rows = fuse_set_new(q);
  if (!q->recurrences.no_streaming)
    return;
  x.own = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n);
  x.group = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  for (size_t k = 0; k < q->n_order; k++) {
    x.group[k].i = q->order[k];
    n = q->def[q->order[k]].recurrence > n ? q->def[q->order[k]].recurrence : n;
  }
  (void)neo_recurrences(q->m, x.group, q->n_order, q->a, x.own);
  bool *in_blocks = NEO_NEW_ARRAY(q->a, bool, n + 1);
  for (uint32_t number = 1; number <= n; number++) {
    in_blocks[number] = find_loop(&x, number);
    for (size_t k = 0; k < x.n_group; k++)
      rows.member[x.group[k].i] = in_blocks[number];
  }
  fuse_set_find_after(&rows);
  x.of_rows = rows.after;
  for (uint32_t number = 1; number <= n; number++)
    if (in_blocks[number] && find_loop(&x, number))
      take_leads(&x, number);
}
