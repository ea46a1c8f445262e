/* The kernels of groups: one for each group, unless another group computes the same. */
#include "tools/pipeline/lower.h"
#include "base/hash.h"
#include "codegen/lower/levels/levels.h"
#include "codegen/make.h"
#include "codegen/recurrence.h"
#include "schedule/space.h"
#include "tools/pipeline/searched.h"
#include <string.h>

neo_status neo_compile_lower(neo_compilation *c, const neo_group *g, const neo_schedule *s,
                             neo_kernel **out, const char **why) {
  neo_str text = neo_str_in(&c->arena);
  neo_status status = neo_kernel_make(c->module, g, s, &c->machine, &c->arena, out, &text);
  if (status)
    *why = neo_arena_printf(&c->arena, "kernel %s: %s", g->name, neo_str_text(&text));
  return status;
}

/* Lowers the group to vectors of f32, for a system that does not give out the tiles that the
 * schedule wants, and for a processor without dots. */
static neo_status lower_without_pairs(neo_compilation *c, const neo_group *g, neo_kernel **out) {
  neo_machine machine = c->machine;
  machine.matrix = 0;
  neo_schedule s = neo_compile_search(c, g, &machine);
  return neo_compile_lower(c, g, &s, out, &c->why);
}

/* A symbol "net_k0_Y": the prefix, the number of earlier kernels with this name, the name. A kernel
 * thus keeps its symbol, and its code in the cache, when others are added before it. */
static const char *symbol_of(neo_compilation *c, const char *name) {
  uint64_t hash = neo_hash(name, strlen(name), 0), same = 0;
  neo_map_get(&c->kernel_names, hash, &same);
  neo_map_set(&c->kernel_names, hash, same + 1);
  return neo_arena_printf(&c->arena, "%s_k%llu_%s", c->prefix, (unsigned long long)same, name);
}

/* "net_tiles0_Y" */
static const char *fast_symbol_of(neo_compilation *c, const neo_plan_kernel *k, const char *what) {
  const char *number = k->symbol + strlen(c->prefix) + strlen("_k");
  return neo_arena_printf(&c->arena, "%s_%s%s", c->prefix, what, number);
}

/* Adds a kernel, and returns its number. */
static uint32_t add_kernel(neo_compilation *c, neo_kernel *kernel) {
  neo_plan_kernel made = {.kernel = kernel,
                          .symbol = symbol_of(c, kernel->name),
                          .keyless = !neo_kernel_reads_key(kernel),
                          .uneven = neo_kernel_uneven(kernel),
                          .ends_early = neo_kernel_ends_early(kernel)};
  if (c->target.sm)
    neo_kernel_launch(kernel, &made.block, &made.block_units);
  NEO_PUSH(&c->arena, &c->kernels, made);
  return (uint32_t)c->kernels.n - 1;
}

static void note_group(neo_compilation *c, neo_schedule s, const neo_record *from, uint32_t kernel,
                       neo_plan_tree tree) {
  NEO_PUSH(&c->arena, &c->schedules, s);
  NEO_PUSH(&c->arena, &c->schedule_from, from);
  NEO_PUSH(&c->arena, &c->kernel_of_group, kernel);
  NEO_PUSH(&c->arena, &c->tree_of_group, tree);
}

/* ---- recurrences */

/* The number of an equal kernel that exists already, else that of this one: entries share
 * recurrences. */
static uint32_t shared_kernel(neo_compilation *c, neo_kernel *k) {
  uint64_t key[2];
  neo_kernel_key(k, key);
  for (size_t i = 0; i < c->loop_kernels.n; i++)
    if (c->loop_kernels.at[i].key[0] == key[0] && c->loop_kernels.at[i].key[1] == key[1])
      return c->loop_kernels.at[i].number;
  uint32_t number = add_kernel(c, k);
  NEO_PUSH(&c->arena, &c->loop_kernels, (neo_loop_kernel){{key[0], key[1]}, number});
  return number;
}

static neo_plan_mark run_of(neo_compilation *c, neo_kernel *k) {
  neo_plan_mark x = {.kernel = shared_kernel(c, k)};
  for (size_t b = 0; b < k->bufs.n; b++)
    if (!(k->bufs.at[b].use & NEO_BUF_SCRATCH))
      NEO_PUSH(&c->arena, &x.tensors, k->bufs.at[b].tensor);
  return x;
}

static neo_plan_tree plan_tree(neo_compilation *c, const neo_kernel_tree *from) {
  neo_plan_tree out = {.root = from->root};
  for (size_t k = 0; k < from->kernels.n; k++)
    NEO_PUSH(&c->arena, &out.marks, run_of(c, from->kernels.at[k].kernel));
  return out;
}

/* Notes for each segment the kernel that contains it; `first`: index of the segment with schedule
 * 0. */
static void place_segments(neo_compilation *c, const neo_kernel_tree *from,
                           const neo_plan_tree *tree, size_t first) {
  for (size_t k = 0; k < from->kernels.n; k++)
    for (size_t i = 0; i < from->kernels.at[k].choices.n; i++)
      c->segments.at[first + from->kernels.at[k].choices.at[i]].kernel = tree->marks.at[k].kernel;
}

typedef struct {
  neo_compilation *c;
  const neo_group *of;
  size_t first;             /* segment of the recurrence's schedule 0 */
  const neo_segment *other; /* segment that gets another schedule; null: none */
  bool reference;
} lowering;

/* Chooses the schedule of a segment, and notes it. */
static neo_schedule choose_segment(void *ctx, neo_module *m, const neo_group *g,
                                   const neo_machine *machine) {
  const lowering *x = ctx;
  neo_compilation *c = x->c;
  neo_segment s = {.of = x->of, .kernel = UINT32_MAX, .g = g};
  s.number = (uint32_t)(c->segments.n - x->first);
  s.machine = neo_arena_copy(&c->arena, machine, sizeof *machine);
  s.schedule = c->options.segment_schedule
                   ? c->options.segment_schedule(c->options.schedule_ctx, m, g, machine)
                   : neo_compile_schedule_on(c, g, machine, &s.from);
  NEO_PUSH(&c->arena, &c->segments, s);
  return s.schedule;
}

/* The schedules of a recurrence's segments, with another one for x. */
static const neo_schedule *schedules_with(neo_compilation *c, const neo_segment *x,
                                          const neo_schedule *schedule) {
  size_t first = (size_t)(x - c->segments.at) - x->number, n = 0;
  while (first + n < c->segments.n && c->segments.at[first + n].of == x->of)
    n++;
  neo_schedule *all = NEO_NEW_ARRAY(&c->arena, neo_schedule, n);
  for (size_t k = 0; k < n; k++)
    all[k] = k == x->number ? *schedule : c->segments.at[first + k].schedule;
  return all;
}

/* Whether every segment of the group has a kernel, including segments of rows that run alone. */
static bool all_have_kernels(const neo_compilation *c, const neo_group *of) {
  bool all = true;
  for (size_t k = 0; k < c->segments.n; k++)
    all = all && (c->segments.at[k].of != of || c->segments.at[k].kernel != UINT32_MAX);
  return all;
}

/* Notes the time that a segment saves. Only the first run prices segments, as it decides how loops
 * are divided. */
static double price_segment(void *ctx, uint32_t choice, double saved_s) {
  lowering *x = ctx;
  neo_segment *s = &x->c->segments.at[x->first + choice];
  s->saved_s = x->other ? s->saved_s : saved_s;
  return s->saved_s;
}

static neo_machine loop_machine(const neo_compilation *c) {
  neo_machine machine = c->machine;
  machine.matrix = 0;
  return machine;
}

/* Makes the kernels that order a graph; they run one after the other. */
static neo_status level_kernels(neo_compilation *c, const neo_group *g, neo_kernel_tree *out,
                                neo_str *why) {
  neo_kernels made = {0};
  neo_trees parts = {0};
  neo_status s = neo_lower_levels(c->module, g, c->target.sm != 0, &c->arena, &made, why);
  for (size_t k = 0; k < made.n && !s; k++) {
    const neo_tree *leaf = neo_tree_of_leaf(&c->arena, (neo_tree_leaf){0});
    NEO_PUSH(&c->arena, &out->kernels, (neo_tree_kernel){.kernel = made.at[k]});
    NEO_PUSH(&c->arena, &parts, neo_tree_mark(&c->arena, (uint32_t)k, leaf));
  }
  out->root = neo_tree_sequence(&c->arena, &parts);
  return s;
}

/* The kernels of a recurrence by these schedules, or of the order of a graph, where there is no
 * choice. */
static neo_status loop_kernels(lowering *x, const neo_schedule *schedules, neo_kernel_tree *out,
                               const char **why) {
  neo_compilation *c = x->c;
  const neo_group *g = x->of;
  neo_str text = neo_str_in(&c->arena);
  neo_machine machine = loop_machine(c);
  neo_recurrence_options options = {.machine = &machine,
                                    .schedules = schedules,
                                    .price = price_segment,
                                    .price_ctx = x,
                                    .loops = c->options.loops};
  if (g->recurrence && x->reference)
    options.one_row_blocks = all_have_kernels(c, g) ? NEO_ROWS_ALONE : NEO_ROWS_IN_BLOCKS;
  neo_status s = g->recurrence
                     ? neo_recurrence_kernels(c->module, g, &options, &c->arena, out, &text)
                     : level_kernels(c, g, out, &text);
  if (s)
    *why = neo_arena_printf(&c->arena, "kernel %s: %s", g->name, neo_str_text(&text));
  return s;
}

static neo_status compile_loops(neo_compilation *c, const neo_group *g) {
  neo_kernel_tree kernels = {0};
  lowering x = {.c = c, .of = g, .first = c->segments.n};
  neo_machine machine = loop_machine(c);
  const neo_schedule *schedules = NULL;
  if (g->recurrence)
    schedules =
        neo_recurrence_schedules(c->module, g->recurrence, &machine, choose_segment, &x, &c->arena);
  neo_status s = loop_kernels(&x, schedules, &kernels, &c->why);
  if (s)
    return s;
  neo_plan_tree tree = plan_tree(c, &kernels);
  if (g->recurrence)
    place_segments(c, &kernels, &tree, x.first);
  note_group(c, neo_schedule_plain(), NULL, tree.marks.at[0].kernel, tree);
  return NEO_OK;
}

static neo_kernel *kernel_with(const neo_kernel_tree *tree, uint32_t choice) {
  for (size_t k = 0; k < tree->kernels.n; k++)
    for (size_t i = 0; i < tree->kernels.at[k].choices.n; i++)
      if (tree->kernels.at[k].choices.at[i] == choice)
        return tree->kernels.at[k].kernel;
  return NULL;
}

static size_t count_choices(const neo_kernel_tree *tree) {
  size_t n = 0;
  for (size_t k = 0; k < tree->kernels.n; k++)
    n += tree->kernels.at[k].choices.n;
  return n;
}

/* How many segments of a recurrence have a kernel. */
static size_t count_segments(const neo_compilation *c, const neo_group *of) {
  size_t n = 0;
  for (size_t k = 0; k < c->segments.n; k++)
    n += c->segments.at[k].of == of && c->segments.at[k].kernel != UINT32_MAX;
  return n;
}

/* Whether two kernels have buffers of the same types, not counting scratch. */
static bool have_equal_buffers(const neo_kernel *a, const neo_kernel *b) {
  size_t k = 0;
  for (; k < a->bufs.n && !(a->bufs.at[k].use & NEO_BUF_SCRATCH); k++)
    if (k == b->bufs.n || a->bufs.at[k].type != b->bufs.at[k].type ||
        b->bufs.at[k].use & NEO_BUF_SCRATCH)
      return false;
  return k == b->bufs.n || b->bufs.at[k].use & NEO_BUF_SCRATCH;
}

neo_status neo_compile_segment(neo_compilation *c, const neo_segment *x, const neo_schedule *s,
                               bool reference, neo_kernel **out, const char **why) {
  neo_kernel_tree kernels = {0};
  lowering l = {.c = c, .of = x->of, .other = x, .reference = reference};
  l.first = (size_t)(x - c->segments.at) - x->number;
  neo_status status = loop_kernels(&l, schedules_with(c, x, s), &kernels, why);
  if (status)
    return status;
  *out = kernel_with(&kernels, x->number);
  *why = "it adds up in another order than the loop over single rows";
  if (count_choices(&kernels) != count_segments(c, x->of))
    return NEO_UNSUPPORTED;
  *why = "its kernel has other buffers with it";
  return *out && have_equal_buffers(*out, c->kernels.at[x->kernel].kernel) ? NEO_OK
                                                                           : NEO_UNSUPPORTED;
}

/* ---- groups */

/* Notes a concatenation whose parts are computed in its memory: it has no steps. */
static neo_status note_parts(neo_compilation *c) {
  neo_tree *none = NEO_NEW(&c->arena, neo_tree);
  none->kind = NEO_TREE_SEQUENCE;
  note_group(c, neo_schedule_plain(), NULL, NEO_NO_KERNEL, (neo_plan_tree){.root = none});
  return NEO_OK;
}

neo_status neo_compile_group(neo_compilation *c, const neo_group *g) {
  neo_kernel *kernel;
  const neo_record *from = NULL;
  if (g->in_parts)
    return note_parts(c);
  if (!neo_group_has_form(g))
    return compile_loops(c, g);
  neo_schedule sched = neo_compile_schedule(c, g, &from);
  neo_status s = neo_compile_lower(c, g, &sched, &kernel, &c->why);
  if (s)
    return s;
  uint32_t number = add_kernel(c, kernel);
  note_group(c, sched, from, number, (neo_plan_tree){0});
  neo_plan_kernel *made = &c->kernels.at[number];
  bool tiles = neo_kernel_has(kernel, NEO_LS_TILE);
  if (tiles || neo_kernel_has_dots(kernel)) {
    made->fast = kernel;
    made->fast_symbol = fast_symbol_of(c, made, tiles ? "tiles" : "dots");
    made->needs = c->target.matrix_needs;
    s = lower_without_pairs(c, g, &made->kernel);
  }
  return s;
}

void neo_compile_price(neo_compilation *c, size_t g) {
  neo_group *x = &c->grouping.groups.at[g];
  if (!neo_group_has_form(x))
    return;
  neo_space space = neo_space_of(c->module, x, &c->machine);
  double share = neo_space_visited(&space, &c->schedules.at[g]);
  x->cost.total_s -= x->cost.work_s * (1 - share);
  x->cost.work_s *= share;
  x->cost.work *= share;
  x->cost.products *= share;
}

/* Uses the kernel of an earlier group with an equal key. Equal keys mean equal groups up to names,
 * including which buffers may overlap. */
bool neo_compile_share(neo_compilation *c, size_t g) {
  const uint64_t *key = c->grouping.groups.at[g].key;
  for (size_t k = 0; k < g && (key[0] | key[1]); k++) {
    const neo_group *old = &c->grouping.groups.at[k];
    if (old->key[0] != key[0] || old->key[1] != key[1] ||
        (c->target.sm && !neo_align_matches(c->module, old, &c->grouping.groups.at[g])))
      continue;
    neo_schedule sched = c->schedules.at[k];
    const neo_record *from = c->schedule_from.at[k];
    uint32_t kernel = c->kernel_of_group.at[k];
    note_group(c, sched, from, kernel, (neo_plan_tree){0});
    return true;
  }
  return false;
}
