/* Memory of alternatives: tensors of which a definition chooses one (ir/choice.h), such as the
 * results of a `case`'s branches. If at most one of them is computed in a call, all share the
 * memory of the result, and the choice needs no step:
 *
 *   a = f(x)  when c            a, b and y are one buffer
 *   b = g(x)  when not c   ->
 *   y = select(c, a, b)         no step
 *
 * Parts of a concatenation (fusion/concat.h) are in its memory, too. */
#include "codegen/plan/planner.h"
#include "ir/choice.h"

/* The conditions under which t is written, which are the same for all of its pieces. */
static bool written_where(const planner *q, neo_tensor t, neo_conditions *when) {
  bool found = false;
  for (size_t i = 0; i < q->order.n; i++)
    for (size_t k = 0; k < group_at(q, i)->roots.n; k++) {
      neo_conditions here = conditions_at(q, i);
      if (group_at(q, i)->roots.at[k].i != t.i)
        continue;
      if (group_at(q, i)->cached || (found && !neo_conditions_same(when, &here)))
        return false;
      *when = here;
      found = true;
    }
  return found;
}

/* Does the group only choose one of several tensors, each of which may share the memory of the
 * result? */
static bool is_choice(planner *q, size_t at, neo_choice *c) {
  const neo_group *g = group_at(q, at);
  neo_conditions *when = NEO_NEW_ARRAY(q->scratch, neo_conditions, NEO_MOST_CHOICES);
  int32_t buf;
  if (g->members.n != 1 || g->roots.n != 1 || g->cached || tree_at(q, at)->root ||
      !neo_group_has_form(g) || !neo_choice_of(q->m, g->members.at[0].def, c) ||
      c->of.i != g->roots.at[0].i)
    return false;
  for (uint32_t k = 0; k < c->n; k++)
    if (has_buf(q, c->from[k], &buf) || is_output(q, c->from[k]) || is_update(q, c->from[k]) ||
        neo_map_get(&q->same_place, c->from[k].i, NULL) || !written_where(q, c->from[k], &when[k]))
      return false;
  return neo_choice_is_exclusive(q->m, c, when);
}

static void find_parts(planner *q) {
  for (size_t i = 0; i < q->order.n; i++) {
    const neo_group *g = group_at(q, i);
    for (size_t k = 0; g->in_parts && k < g->reads.n; k++)
      neo_map_set(&q->same_place, g->reads.at[k].i, g->roots.at[0].i);
  }
}

void plan_find_choices(planner *q) {
  neo_choice *c = NEO_NEW(q->scratch, neo_choice);
  q->taken = NEO_NEW_ARRAY(q->scratch, bool, q->order.n + 1);
  find_parts(q);
  for (size_t i = q->order.n; i-- > 0;) {
    q->taken[i] = is_choice(q, i, c);
    for (uint32_t k = 0; k < c->n && q->taken[i]; k++)
      neo_map_set(&q->same_place, c->from[k].i, c->of.i);
  }
}
