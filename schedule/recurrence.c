/* See recurrence.h. */
#include "schedule/recurrence.h"

typedef struct {
  neo_module *m;
  neo_arena *a;
  const neo_machine
      *in_blocks; /* the machine, as kernels in loops over blocks of rows may use it */
  neo_segment_schedule *choose;
  void *ctx;
  const neo_recurrence *of;
  NEO_VEC(neo_schedule) chosen;
} chooser;

static void choose_groups(chooser *x, const neo_recurrence_segment *s, const neo_machine *machine) {
  for (size_t k = 0; k < s->groups.n; k++) {
    const neo_group *g = &s->groups.at[k];
    neo_schedule y =
        x->choose ? x->choose(x->ctx, x->m, g, machine) : neo_schedule_default(x->m, g, machine);
    NEO_PUSH(x->a, &x->chosen, y);
  }
}

static void choose_tree(chooser *x, const neo_tree *t, const neo_machine *machine) {
  if (t->kind == NEO_TREE_LEAF)
    choose_groups(x, &x->of->segments.at[t->leaf.number], machine);
  if (t->kind == NEO_TREE_BAND && t->band.rows.first.i)
    machine = x->in_blocks;
  for (size_t k = 0; k < t->children.n; k++)
    choose_tree(x, t->children.at[k], machine);
}

const neo_schedule *neo_recurrence_schedules(neo_module *m, const neo_recurrence *r,
                                             const neo_machine *machine,
                                             neo_segment_schedule *choose, void *ctx,
                                             neo_arena *a) {
  neo_machine in_blocks = *machine;
  in_blocks.warpgroups = false; /* a persistent kernel takes none (codegen/plan/cooperative.c) */
  in_blocks.few_rows = true;
  chooser x = {.m = m, .a = a, .of = r, .in_blocks = &in_blocks, .choose = choose, .ctx = ctx};
  choose_tree(&x, r->tree.root, machine);
  return x.chosen.at;
}
