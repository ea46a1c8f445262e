/* The progress of a long compilation, in one line of a terminal:
 *
 *   12 s  schedules and kernels 120 of 340
 *
 * The line is erased before anything else is printed. */
#include "tools/neoc/neoc.h"
#include <time.h>
#include <unistd.h>

static const double patience = 3, interval = 0.2; /* seconds */

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void show(void *ctx, const char *what, size_t done, size_t of) {
  neoc_progress *p = ctx;
  double at = now();
  if (at - p->begun < patience || at - p->shown < interval)
    return;
  p->shown = at;
  fprintf(stderr, "\r%.0f s  %s", at - p->begun, what);
  if (of)
    fprintf(stderr, " %zu of %zu", done, of);
  else
    fputs(" done", stderr);
  fputs("\033[K", stderr);
}

void neoc_progress_begin(neoc_cli *cli, neo_compile_options *o) {
  if (cli->told || !isatty(2) || neoc_has(cli, NEOC_O_QUIET))
    return;
  cli->progress = NEO_NEW(cli->arena, neoc_progress);
  cli->progress->begun = now();
  o->progress = show;
  o->progress_ctx = cli->progress;
}
