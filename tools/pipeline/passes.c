/* The table of passes, and which of them run for the options and the target. */
#include "autodiff/autodiff.h"
#include "ir/order.h"
#include "tools/pipeline/facts.h"
#include "tools/pipeline/stages.h"
#include "transform/transform.h"

/* The columns `needs` and `breaks`. */
enum {
  NONE = 0,
  DERIVED = NEO_HAS_DERIVED,
  WRITTEN = NEO_HAS_UNORDERED | NEO_HAS_UNCHUNKED,
  UNCHUNKED = NEO_HAS_DERIVED | NEO_HAS_UNCHUNKED,
  PLAIN = NEO_HAS_DERIVED | WRITTEN,
  ORDER = NEO_HAS_UNORDERED,
  CHUNKS = NEO_HAS_UNCHUNKED
};

static const neo_pass passes[] = {
#define X(name, fn, required, when, needs, breaks, meaning) \
  {name, fn, meaning, required, NEO_WHEN_##when, needs, breaks},
#include "tools/pipeline/passes.def"
#undef X
};

const neo_pass *neo_compile_pass_table(size_t *n) {
  *n = sizeof passes / sizeof *passes;
  return passes;
}

static void pass_done(void *ctx, const char *pass) {
  neo_cost_add(ctx, pass);
}

/* Does the pass run for this target and these options (its column `when`)? */
static bool is_wanted(const neo_compilation *c, const neo_pass *p) {
  switch (p->when) {
  case NEO_WHEN_ALL:
    return true;
  case NEO_WHEN_CPU:
    return !neo_compile_for_gpu(c);
  case NEO_WHEN_CACHES:
    return neo_fuse_caches(&c->options.fusion);
  case NEO_WHEN_REASSOCIATE:
    return c->options.reassociate;
  }
  return false;
}

enum { N = sizeof passes / sizeof *passes };

/* The passes that neo_compile_derive runs: up to the one that merges equal definitions. */
static size_t n_deriving(void) {
  size_t k = 0;
  while (k < N && !neo_streq(passes[k].name, "cse"))
    k++;
  return k + 1;
}

static size_t passes_to_run(const neo_compilation *c, size_t from, size_t end, neo_pass *out) {
  size_t n = 0;
  for (size_t k = from; k < end; k++)
    if (is_wanted(c, &passes[k]))
      out[n++] = passes[k];
  return n;
}

static bool is_cancelled(const void *ctx) {
  return neo_cancelled(ctx);
}

/* The frontend's module is verified too. */
static neo_status verify_front(neo_compilation *c) {
  neo_str why = neo_str_in(&c->arena);
  neo_status s = neo_module_check(c->module, &why);
  if (s)
    c->why = neo_arena_printf(&c->arena, "after the frontend: %s", neo_str_text(&why));
  return s ? NEO_INTERNAL : NEO_OK;
}

neo_status neo_compile_derive(neo_compilation *c, neo_module *m) {
  neo_pass table[N];
  neo_pass_options o = c->options.passes;
  o.dump_after = NULL;
  o.failed = &c->failed_pass;
  o.cancelled = is_cancelled;
  o.cancelled_ctx = c;
  neo_pass_target target = neo_compile_pass_target(c);
  neo_status s = neo_passes_run(m, &target, table, passes_to_run(c, 0, n_deriving(), table), &o);
  if (s && s != NEO_INPUT && s != NEO_MEMORY && s != NEO_INTERRUPTED)
    c->why =
        neo_arena_printf(&c->arena, "the pass %s failed on a node of the network", c->failed_pass);
  return s;
}

neo_status neo_compile_run_passes(neo_compilation *c) {
  neo_pass table[N];
  size_t from = c->options.derived ? n_deriving() : 0;
  neo_pass_options o = c->options.passes;
  o.done = pass_done;
  o.done_ctx = c;
  o.failed = &c->failed_pass;
  o.cancelled = is_cancelled;
  o.cancelled_ctx = c;
  if (verify_front(c))
    return NEO_INTERNAL;
  if (c->options.check_facts) {
    o.check = neo_fact_check_run;
    o.check_ctx = c->facts = neo_fact_check_new(&c->arena);
    if (neo_fact_check_run(o.check_ctx, c->module, NULL)) {
      c->why = "what the frontend made breaks a fact";
      return NEO_INTERNAL;
    }
  }
  neo_pass_target target = neo_compile_pass_target(c);
  neo_status s = neo_passes_run(c->module, &target, table, passes_to_run(c, from, N, table), &o);
  if (s && s != NEO_INPUT && s != NEO_MEMORY && s != NEO_INTERRUPTED)
    c->why = neo_arena_printf(
        &c->arena, "the pass %s failed, or broke the IR (use --dump-after=all to see how)",
        c->failed_pass);
  return s;
}
