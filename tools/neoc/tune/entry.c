/* Runs the tuned model, so that the tuner sees the buffers that its kernels read. */
#include "runtime/watch.h"
#include "tools/neoc/tune/tuner.h"

/* Makes the library, and a context whose parameters have their initial values. */
static neoc_exit open_model(tuner *x, const int64_t *sizes) {
  neoc_runner *r = &x->runner;
  neo_arena *a = x->cli->arena;
  neo_status s = neo_library_make(&r->c, &r->lib);
  if (s)
    return neoc_fail(x->cli, neoc_exit_of(s), "%s", r->c.why ? r->c.why : neo_status_text(s));
  r->cli = x->cli;
  r->aside = true;
  r->sizes = neo_arena_copy(a, sizes, r->c.module->sizes.n * sizeof *sizes);
  r->input = NEO_NEW_ARRAY(a, neo_rt_array, r->c.module->tensors.n + 1);
  r->needs = NEO_NEW_ARRAY(a, neoc_tensors, r->c.module->entries.n + 1);
  return neoc_runner_begin(r, x->tune.o.threads, x->tune.o.seed);
}

bool neoc_tune_run_entry(void *ctx, const char *entry, const int64_t *sizes,
                         const struct neo_rti_watch *watch) {
  tuner *x = ctx;
  neoc_runner *r = &x->runner;
  uint64_t seed = x->tune.o.seed;
  neoc_output *out;
  size_t n;
  if (!r->ctx && open_model(x, sizes))
    return false;
  int number = neoc_entry_find(r, entry);
  if (number < 0 || neoc_runner_randomize(r, number, &seed))
    return false;
  neo_rti_watch_set(r->ctx, watch);
  return neoc_runner_run(r, number, &out, &n) == NEOC_OK;
}
