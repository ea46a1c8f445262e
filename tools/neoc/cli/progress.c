/* The progress of a long compilation, in one line of a terminal:
 *
 *   12 s  schedules and kernels 120 of 340
 *
 * The line is erased before anything else is printed. */
#include "base/clock.h"
#include "tools/neoc/neoc.h"
#include <unistd.h>

static const double patience = 3, interval = 0.2; /* seconds */

static void show(void *ctx, const char *what, size_t done, size_t of) {
  neoc_progress *p = ctx;
  double at = neo_now_s();
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
  cli->progress->begun = neo_now_s();
  o->progress = show;
  o->progress_ctx = cli->progress;
}
