/* The kernels of groups: one for each group, unless another group computes the same. */
#include "tools/pipeline/lower.h"
#include "base/hash.h"
#include "codegen/align.h"
#include "codegen/fused_loops.h"
#include "codegen/make.h"
#include "codegen/recurrence.h"
#include "schedule/space.h"
#include "tools/pipeline/searched.h"
#include "tools/pipeline/stages.h"
#include <string.h>

neo_status neo_compile_lower(neo_compilation *c, const neo_group *g, const neo_schedule *s,
                             neo_kernel **out, const char **why) {
  neo_str text;
  neo_str_init(&text, &c->arena);
  neo_status status = neo_kernel_make(c->module, g, s, c->target.sm != 0, &c->arena, out, &text);
  if (status)
    *why = neo_arena_printf(&c->arena, "kernel %s: %s", g->name, neo_str_text(&text));
  return status;
}

/* What runs where the system does not give out the tiles that the schedule wants, or the processor
 * has no dots: vectors of f32. */
static neo_status lower_without_pairs(neo_compilation *c, const neo_group *g, neo_kernel **out) {
  neo_machine machine = c->machine;
  machine.matrix = 0;
  neo_schedule s = neo_compile_search(c, g, &machine);
  return neo_compile_lower(c, g, &s, out, &c->why);
}

/* "net_k0_Y": its name, and how many kernels had that before. So a kernel keeps its symbol, and its
 * code in the cache, where others are added before it. */
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
                          .uneven = neo_kernel_uneven(kernel)};
  if (c->target.sm)
    neo_kernel_launch(kernel, &made.block, &made.block_units);
  NEO_PUSH(&c->arena, &c->kernels, made);
  return (uint32_t)c->kernels.n - 1;
}

static void note_group(neo_compilation *c, neo_schedule s, const neo_record *from, uint32_t kernel,
                       neo_plan_parts parts) {
  NEO_PUSH(&c->arena, &c->schedules, s);
  NEO_PUSH(&c->arena, &c->schedule_from, from);
  NEO_PUSH(&c->arena, &c->kernel_of_group, kernel);
  NEO_PUSH(&c->arena, &c->parts_of_group, parts);
}

/* ---- recurrences */

/* The number of a kernel that does the same, or that of this one: entries have recurrences in
 * common. */
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

static neo_plan_part kernel_part(neo_compilation *c, neo_kernel *k) {
  neo_plan_part x = {.kernel = shared_kernel(c, k)};
  for (size_t b = 0; b < k->bufs.n; b++)
    if (!(k->bufs.at[b].use & NEO_BUF_SCRATCH)) {
      NEO_PUSH(&c->arena, &x.tensors, k->bufs.at[b].tensor);
      NEO_PUSH(&c->arena, &x.over, k->bufs.at[b].over);
    }
  return x;
}

static neo_plan_parts add_parts(neo_compilation *c, const neo_kernel_steps *steps) {
  neo_plan_parts out = {0};
  for (size_t k = 0; k < steps->n; k++) {
    const neo_kernel_step *s = &steps->at[k];
    neo_plan_part x = {.is_loop = !s->kernel,
                       .index = s->index,
                       .lo = s->lo,
                       .hi = s->hi,
                       .down = s->down,
                       .blocks = s->blocks};
    if (s->kernel)
      x = kernel_part(c, s->kernel);
    else
      x.parts = add_parts(c, &s->steps);
    NEO_PUSH(&c->arena, &out, x);
  }
  return out;
}

static uint32_t first_kernel(const neo_plan_parts *parts) {
  const neo_plan_part *x = &parts->at[0];
  return x->is_loop ? first_kernel(&x->parts) : x->kernel;
}

/* Notes which kernel of the compilation has which segments; `first`: that of schedule 0. */
static void place_segments(neo_compilation *c, const neo_kernel_steps *steps,
                           const neo_plan_parts *parts, size_t first) {
  for (size_t k = 0; k < steps->n; k++) {
    for (size_t i = 0; i < steps->at[k].choices.n; i++)
      c->segments.at[first + steps->at[k].choices.at[i]].kernel = parts->at[k].kernel;
    place_segments(c, &steps->at[k].steps, &parts->at[k].parts, first);
  }
}

typedef struct {
  neo_compilation *c;
  const neo_group *of;
  size_t first; /* segment of the recurrence's schedule 0 */
  uint32_t n;   /* chosen so far */
  /* Another schedule for one of them; null: they are chosen, and noted. */
  const neo_segment *other;
  const neo_schedule *schedule;
  bool reference;
} chooser;

static neo_schedule choose_segment(void *ctx, neo_module *m, const neo_group *g,
                                   const neo_machine *machine) {
  chooser *x = ctx;
  neo_compilation *c = x->c;
  uint32_t number = x->n++;
  neo_segment s = {.of = x->of, .number = number, .kernel = UINT32_MAX};
  if (x->other)
    return x->other->number == number ? *x->schedule : c->segments.at[x->first + number].schedule;
  neo_group *own = neo_arena_copy(&c->arena, g, sizeof *g);
  s.machine = neo_arena_copy(&c->arena, machine, sizeof *machine);
  s.g = own;
  s.schedule = c->options.segment_schedule
                   ? c->options.segment_schedule(c->options.schedule_ctx, m, g, machine)
                   : neo_compile_schedule_on(c, g, machine, &s.from);
  NEO_PUSH(&c->arena, &c->segments, s);
  return s.schedule;
}

/* Have all segments kernels, those of rows that run alone too? */
static bool all_have_kernels(const neo_compilation *c, const neo_group *of) {
  bool all = true;
  for (size_t k = 0; k < c->segments.n; k++)
    all = all && (c->segments.at[k].of != of || c->segments.at[k].kernel != UINT32_MAX);
  return all;
}

/* Loops are divided by the first schedules. */
static double price_segment(void *ctx, uint32_t choice, double saved_s) {
  chooser *x = ctx;
  neo_segment *s = &x->c->segments.at[x->first + choice];
  s->saved_s = x->other ? s->saved_s : saved_s;
  return s->saved_s;
}

/* The kernels of a recurrence, or of loops that share one. The schedules of its segments are chosen
 * inside; of loops that share one there is no choice. */
static neo_status loop_kernels(neo_compilation *c, const neo_group *g, chooser *choose,
                               neo_kernel_steps *out, const char **why) {
  neo_str text;
  neo_str_init(&text, &c->arena);
  neo_machine machine = c->machine;
  neo_fuse_options fusion = neo_compile_fusion(c);
  machine.matrix = 0;
  neo_recurrence_options options = {.machine = &machine,
                                    .fusion = &fusion,
                                    .choose = c->options.segment_schedule,
                                    .choose_ctx = c->options.schedule_ctx,
                                    .loops = c->options.loops,
                                    .all = &c->grouping};
  if (g->recurrence) {
    options.choose = choose_segment;
    options.price = price_segment;
    if (choose->reference)
      options.one_row_blocks = all_have_kernels(c, g) ? NEO_ROWS_ALONE : NEO_ROWS_IN_BLOCKS;
    options.choose_ctx = choose;
  }
  neo_status s = g->recurrence
                     ? neo_recurrence_kernels(c->module, g, &options, &c->arena, out, &text)
                     : neo_fused_loops_kernels(c->module, g, &options, &c->arena, out, &text);
  if (s)
    *why = neo_arena_printf(&c->arena, "kernel %s: %s", g->name, neo_str_text(&text));
  return s;
}

static neo_status compile_loops(neo_compilation *c, const neo_group *g) {
  neo_kernel_steps steps = {0};
  chooser choose = {.c = c, .of = g, .first = c->segments.n};
  neo_status s = loop_kernels(c, g, &choose, &steps, &c->why);
  if (s)
    return s;
  neo_plan_parts parts = add_parts(c, &steps);
  if (g->recurrence)
    place_segments(c, &steps, &parts, choose.first);
  note_group(c, neo_schedule_plain(), NULL, first_kernel(&parts), parts);
  return NEO_OK;
}

static neo_kernel *kernel_with(const neo_kernel_steps *steps, uint32_t choice) {
  neo_kernel *found = NULL;
  for (size_t k = 0; k < steps->n && !found; k++) {
    for (size_t i = 0; i < steps->at[k].choices.n; i++)
      if (steps->at[k].choices.at[i] == choice)
        return steps->at[k].kernel;
    found = kernel_with(&steps->at[k].steps, choice);
  }
  return found;
}

static size_t count_choices(const neo_kernel_steps *steps) {
  size_t n = 0;
  for (size_t k = 0; k < steps->n; k++)
    n += steps->at[k].choices.n + count_choices(&steps->at[k].steps);
  return n;
}

/* How many segments of a recurrence have a kernel. */
static size_t count_segments(const neo_compilation *c, const neo_group *of) {
  size_t n = 0;
  for (size_t k = 0; k < c->segments.n; k++)
    n += c->segments.at[k].of == of && c->segments.at[k].kernel != UINT32_MAX;
  return n;
}

/* Have two kernels buffers of the same types, but for scratch? */
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
  neo_kernel_steps steps = {0};
  chooser choose = {
      .c = c, .of = x->of, .first = 0, .other = x, .schedule = s, .reference = reference};
  choose.first = (size_t)(x - c->segments.at) - x->number;
  neo_status status = loop_kernels(c, x->of, &choose, &steps, why);
  if (status)
    return status;
  *out = kernel_with(&steps, x->number);
  *why = "it adds up in another order than the loop over single rows";
  if (count_choices(&steps) != count_segments(c, x->of))
    return NEO_UNSUPPORTED;
  *why = "its kernel has other buffers with it";
  return *out && have_equal_buffers(*out, c->kernels.at[x->kernel].kernel) ? NEO_OK
                                                                           : NEO_UNSUPPORTED;
}

/* ---- groups */

neo_status neo_compile_group(neo_compilation *c, const neo_group *g) {
  neo_kernel *kernel;
  const neo_record *from = NULL;
  if (!neo_group_has_form(g))
    return compile_loops(c, g);
  neo_schedule sched = neo_compile_schedule(c, g, &from);
  neo_status s = neo_compile_lower(c, g, &sched, &kernel, &c->why);
  if (s)
    return s;
  uint32_t number = add_kernel(c, kernel);
  note_group(c, sched, from, number, (neo_plan_parts){0});
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

/* A group whose kernel exists already: equal keys say the same up to names, also which buffers may
 * be the same memory. */
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
    note_group(c, sched, from, kernel, (neo_plan_parts){0});
    return true;
  }
  return false;
}
