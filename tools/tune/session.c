/* Starts and ends a tuning: the measurer, and the files that it writes. */
#define _XOPEN_SOURCE 700 /* nftw */
#include "base/clock.h"
#include "base/temp.h"
#include "tools/pipeline/records.h"
#include "tools/tune/task.h"
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Checks that files can be written before the search begins, not after. */
static neo_status check_place(neo_tune *t) {
  neo_arena *a = &t->c->arena;
  const char *path = t->o.records;
  neo_status s = neo_records_make_folder(a, path, t->o.records_flags);
  bool is_folder = !s && neo_path_is_folder(path);
  if (!s && !is_folder && !access(neo_path_exists(path) ? path : neo_path_folder(a, path), W_OK))
    return NEO_OK;
  errno = is_folder ? EISDIR : errno;
  t->why = neo_arena_printf(a, "%s: %s", path, strerror(errno));
  t->place_why = t->why;
  return t->o.in_memory ? NEO_OK : NEO_IO;
}

/* Checks that candidates can run here; for a GPU, its plain kernels on this processor too. */
static neo_status check_device(neo_tune *t) {
  neo_arena *a = &t->c->arena;
  const neo_target *target = &t->c->target;
  const char *device = neo_tune_device_text(a, target), *text;
  if (!target->sm && !target->is_host_arch) {
    t->why = neo_arena_printf(a,
                              "kernels for %s cannot be measured here; --emit=DIR writes them, to "
                              "be measured where they run",
                              target->triple);
    return NEO_UNSUPPORTED;
  }
  neo_status s = neo_measurer_ask(&t->measurer, neo_arena_printf(a, "%s\n", device), &text);
  t->why =
      s == NEO_UNSUPPORTED
          ? neo_arena_printf(a, "%s; --emit=DIR writes candidates to be measured elsewhere", text)
          : t->measurer.why;
  return s;
}

static neo_status begin_measuring(neo_tune *t) {
  const char *folder = NULL;
  neo_arena *a = &t->c->arena;
  neo_status s = neo_measurer_start(a, &t->measurer, &t->why);
  if (!s)
    s = neo_target_choose(a, NULL, NULL, &t->processor, &t->why);
  t->builder = (neo_builder){.c = t->c, .workers = t->o.workers, .limit_ms = 30000};
  if (s || t->o.emit)
    return s;
  s = check_device(t);
  if (!s && neo_temp_folder(a, NULL, &folder)) {
    t->why = neo_arena_printf(a, "%s: %s", folder, strerror(errno));
    s = NEO_IO;
  }
  t->builder.folder = s ? NULL : folder;
  return s;
}

neo_status neo_tune_init(neo_tune *t, neo_compilation *c, const neo_tune_options *o) {
  *t = (neo_tune){.c = c, .o = *o, .log = -1, .begun_s = neo_now_s()};
  neo_status s = neo_tune_add_tasks(t);
  t->ratios = NEO_NEW_ARRAY(&c->arena, double, t->tasks.n + 1);
  neo_tune_rescale(t);
  if (!s && !o->emit)
    s = check_place(t);
  if (!s)
    s = neo_journal_open(t);
  return s || o->import ? s : begin_measuring(t);
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at) {
  (void)s, (void)kind, (void)at;
  return remove(path);
}

/* Removes the folder with all that is in it, since a killed child may have left anything. */
static void remove_folder(const char *path) {
  nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void neo_tune_free(neo_tune *t) {
  neo_measurer_stop(&t->measurer);
  if (t->builder.folder)
    remove_folder(t->builder.folder);
  if (t->inputs_folder)
    remove_folder(t->inputs_folder);
  neo_inputs_free(t);
  if (t->log >= 0)
    close(t->log);
  t->log = -1;
  t->builder.folder = t->inputs_folder = NULL;
}
