/* See compilation.h. */
#define _GNU_SOURCE /* memfd_create */
#include "tests/pairs/compilation.h"
#include "base/random.h"
#include "tests/draw/draw.h"
#include "tests/effort.h"
#include "tests/random/gen.h"
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TRIES = 20, SCARCE_TRIES = 12 };

/* A thread of a GPU has no scratch: of the schedules those that ask for none, or have a block. */
static bool fits(neo_compilation *c, const neo_group *g, const neo_schedule *s) {
  neo_kernel *k;
  const char *why;
  return !neo_compile_lower(c, g, s, &k, &why) && !neo_kernel_has(k, NEO_LS_TILE) &&
         (neo_kernel_scratch_bytes(k) == 0 || neo_kernel_threads(k));
}

/* Has it what few of the schedules that are drawn have? */
static bool is_scarce(const neo_schedule *s) {
  return s->loops.pack || s->loops.stash || s->strategy == NEO_STRATEGY_SEGMENT ||
         s->strategy == NEO_STRATEGY_SCAN;
}

/* Mostly one that is scarce, if the group may have one. */
static neo_schedule draw_schedule(neo_compilation *c, const neo_group *g, uint64_t *state) {
  neo_schedule first = neo_schedule_random(c->module, g, &c->machine, state);
  if (neo_splitmix(state) % 4 == 0)
    return first;
  for (int i = 0; i < SCARCE_TRIES; i++) {
    neo_schedule s = neo_schedule_random(c->module, g, &c->machine, state);
    if (is_scarce(&s))
      return s;
  }
  return first;
}

/* The schedule of a kernel inside of a recurrence: the model's, or a random one. Counts it. */
static neo_schedule segment_schedule(void *ctx, neo_module *m, const neo_group *g,
                                     const neo_machine *machine) {
  pairs_compilation *x = (pairs_compilation *)((char *)ctx - offsetof(pairs_compilation, draw));
  neo_schedule s =
      x->draw ? neo_schedule_random(m, g, machine, &x->draw) : neo_schedule_default(m, g, machine);
  for (int i = 0; x->draw && i < SCARCE_TRIES && !is_scarce(&s); i++)
    s = neo_schedule_random(m, g, machine, &x->draw);
  NEO_PUSH(&x->c.arena, &x->segments, pairs_observe_segment(m, x->program, g, &s));
  return s;
}

static neo_schedule any_schedule(void *ctx, neo_compilation *c, const neo_group *g) {
  for (int i = 0; i < TRIES; i++) {
    neo_schedule s = draw_schedule(c, g, ctx);
    if (!c->machine.gpu || fits(c, g, &s))
      return s;
  }
  return neo_schedule_default(c->module, g, &c->machine);
}

/* Lists the passes that are left out: by a reference all that may be. What mixed-precision
 * rounds depends on the passes before it, so a reference of other precision runs these too. */
static void list_optional(const pairs_how *how, bool reference, const char **out) {
  size_t n, optional = 0;
  const neo_pass *pass = neo_compile_pass_table(&n);
  bool skips = !how->math && !how->store;
  for (size_t k = 0; k < n; k++) {
    if (skips && !pass[k].required && (reference || how->without >> optional++ & 1))
      *out++ = pass[k].name;
    skips = skips || strcmp(pass[k].name, "mixed-precision") == 0;
  }
  *out = NULL;
}

bool pairs_open(pairs_compilation *x, const pairs_program *p, const char *text,
                const pairs_how *how, bool reference) {
  size_t n = strlen(text);
  x->program = p;
  x->segments.at = NULL;
  x->segments.n = x->segments.cap = 0;
  list_optional(how, reference, x->optional);
  x->file = memfd_create("pairs", 0);
  if (x->file < 0 || write(x->file, text, n) != (ssize_t)n)
    return false;
  snprintf(x->path, sizeof x->path, "/proc/self/fd/%d", x->file);
  static const char *const library[] = {NEO_TEST_SOURCE_DIR "/models/std", NULL};
  neo_compile_options o = {
      .path = x->path,
      .import_paths = library,
      .prefix = how->prefix ? how->prefix : "t",
      .out_dir = how->folder,
      .emit = how->folder ? NEO_EMIT_OBJECT : 0,
      .target = how->target,
      .mcpu = how->mcpu,
      .math = how->math,
      .store = how->store,
      .fusion = {.off = how->off, .memory = how->small ? NEO_FUSE_SMALL : NEO_FUSE_FAST},
      .every_grid = how->every_grid,
      .loops = how->every_loop ? NEO_LOOPS_EVERY : NEO_LOOPS_PRICED,
      .reassociate = how->reassociate,
      .batch_kinds = how->batch_kinds,
      .tile_iterations = how->tile_iterations,
      .chunk_iterations = how->chunk_iterations,
      .passes = {.verify = true, .skip = x->optional},
      .check_facts = !reference && neo_test_long(),
      .schedule = how->schedules ? any_schedule : NULL,
      .segment_schedule = segment_schedule,
      .schedule_ctx = &x->draw};
  x->draw = how->schedules;
  neo_compilation_init(&x->c, &o);
  return true;
}

void pairs_close(pairs_compilation *x) {
  neo_compilation_free(&x->c);
  close(x->file);
}

/* In the arena, for it outlives the compilation. */
const char *pairs_reason(pairs_compilation *x, neo_arena *a, const char *what) {
  neo_str s;
  neo_str_init(&s, a);
  neo_str_addf(&s, "%s: %s\n", what, x->c.why ? x->c.why : "");
  if (x->c.diags)
    neo_diags_print(x->c.diags, &s, false);
  return neo_str_text(&s);
}

int64_t *pairs_sizes(pairs_compilation *x, const pairs_program *p) {
  neo_module *m = x->c.module;
  int64_t *sizes = NEO_NEW_ARRAY(&x->c.arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    const neo_size_rec *s = &m->sizes.at[k];
    sizes[k] = s->kind == NEO_SIZE_DERIVED
                   ? neo_size_value(m, s->value, sizes)
                   : pairs_size_now(p, neo_name_text(m->names, s->name), s->hi);
  }
  return sizes;
}

bool pairs_is_kept(const neo_module *m, uint32_t t) {
  neo_role role = (neo_role)m->tensors.at[t].role;
  return role == NEO_ROLE_PARAM || role == NEO_ROLE_STATE;
}

uint32_t pairs_entry(const neo_module *m) {
  uint32_t k = 0;
  while (m->entries.at[k].kind != NEO_ENTRY_FORWARD)
    k++;
  return k;
}
