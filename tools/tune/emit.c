/* Candidates for another machine (docs/tuning.md: the folder).
 *
 * For each task, the plain kernel runs on this processor, and a sample of its answer goes to the
 * folder. Then the base and the search's proposals, which can rely on logged trials alone, are
 * built into the folder. The search assumes that each proposal takes its predicted time, so that
 * proposals differ; where it proposes too few, the model's list adds more. Tasks without logged
 * trials come first, then those with the largest share of the step. The list of candidates is
 * written last and as a whole: a folder without it is not valid. */
#include "tools/measure/lines.h"
#include "tools/pipeline/records.h"
#include "tools/tune/task.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  CHUNK = 16,
  LIST = 64,
  LIMIT_BYTES = 60 << 20 /* transfers are often limited to 64 MiB */
};

typedef struct {
  neo_tune *t;
  neo_arena *a;
  neo_emission *out;
  NEO_VEC(const char *) lines;
  const char *last_file; /* candidates of one file are consecutive */
} emitter;

static void add_line(emitter *e, const char *line) {
  NEO_PUSH(e->a, &e->lines, line);
}

/* ---- proposals */

static bool tried(const neo_search *s, const neo_schedule *x, const neo_schedule *more, size_t n) {
  for (size_t k = 0; k < s->trials.n; k++)
    if (neo_schedule_equal(&s->trials.at[k].schedule, x))
      return true;
  for (size_t k = 0; k < n; k++)
    if (neo_schedule_equal(&more[k], x))
      return true;
  return false;
}

static size_t propose(emitter *e, neo_task *x, neo_schedule *out, size_t most) {
  neo_schedule *list = NEO_NEW_ARRAY(e->a, neo_schedule, LIST);
  size_t *trial = NEO_NEW_ARRAY(e->a, size_t, most + 1), n = 0, got;
  while (n < most && (got = neo_search_ask(&x->search, trial, most - n)) > 0)
    for (size_t k = 0; k < got; k++)
      out[n++] = x->search.trials.at[trial[k]].schedule;
  size_t n_list = n < most ? neo_space_ranked(&x->search.space, list, LIST) : 0;
  for (size_t k = 0; k < n_list && n < most; k++)
    if (!tried(&x->search, &list[k], out, n))
      out[n++] = list[k];
  return n;
}

/* ---- files */

static const char *in_folder(const emitter *e, const char *path) {
  return neo_arena_printf(e->a, "./%s", path + strlen(e->t->o.emit) + 1);
}

static neo_status add_file(emitter *e, const char *path) {
  int64_t bytes;
  uint64_t digest;
  if (!measure_file_digest(path, &bytes, &digest)) {
    e->t->why = neo_arena_printf(e->a, "%s: %s", path, strerror(errno));
    return NEO_IO;
  }
  add_line(e, neo_arena_printf(e->a, "file %s %" PRId64 " %016" PRIx64, in_folder(e, path) + 2,
                               bytes, digest));
  e->out->bytes += bytes;
  return NEO_OK;
}

/* The folder must be new or empty, so that nothing is overwritten. */
static neo_status make_folder(neo_tune *t) {
  const char *path = t->o.emit;
  neo_status s = neo_path_make_folder(neo_path_folder(&t->c->arena, path));
  if (!s && mkdir(path, 0700) == 0)
    return NEO_OK;
  if (errno == EEXIST && rmdir(path) == 0 && mkdir(path, 0700) == 0) /* the folder was empty */
    return NEO_OK;
  t->why = neo_arena_printf(&t->c->arena, "%s: %s", path,
                            errno == ENOTEMPTY || errno == EEXIST
                                ? "there is something in it; candidates need a folder of their own"
                                : strerror(errno));
  return NEO_IO;
}

/* ---- a task */

static neo_status run_plain(emitter *e, neo_task *x, const neo_candidate *plain, neo_measured *m) {
  neo_tune *t = e->t;
  neo_measurer_job(&t->measurer, neo_task_job(t, x));
  if (!neo_measurer_run(&t->measurer, "plain", plain, 0, m))
    return NEO_OK;
  t->why = t->measurer.why;
  return NEO_IO;
}

/* Copies the file *path; *path becomes the copy. Null, or the failure. */
static const char *take_file(const emitter *e, const char **path, const char *to) {
  char *text;
  size_t n;
  neo_status s = neo_file_read(&neo_io_default, e->a, *path, LIMIT_BYTES, &text, &n);
  if (!s)
    s = neo_file_write(&neo_io_default, to, text, n);
  *path = to;
  return s == NEO_FORMAT ? "they are too long for the folder" : s ? strerror(errno) : NULL;
}

/* Copies the kernel's inputs into the folder of its candidates. Null, or why they cannot be had. */
static const char *take_inputs(emitter *e, neo_task *x, size_t number) {
  const char *why = neo_task_inputs(e->t, x);
  size_t n = e->t->c->kernels.at[x->kernel].kernel->bufs.n;
  e->t->builder.numbers = x->numbers;
  for (size_t b = 0; !why && x->input && b < n; b++)
    if (x->input[b])
      why = take_file(e, &x->input[b],
                      neo_arena_printf(e->a, "%s/%zu-%zu.input", e->t->o.emit, number, b));
  return why;
}

/* Writes the expected answer. *path stays null if the task failed, as there is none then. */
static neo_status expect(emitter *e, neo_task *x, size_t number, const char **path) {
  neo_tune *t = e->t;
  const char *why = take_inputs(e, x, number);
  if (why) {
    neo_task_fail(t, x, "its inputs", why);
    return NEO_OK;
  }
  neo_measured m = {0};
  neo_candidate plain = {.schedule = neo_task_plain(x), .reference = true};
  const char *text, *file = neo_arena_printf(e->a, "%s/%zu.expected", t->o.emit, number);
  t->builder.target = &t->processor;
  neo_build(&t->builder, &plain, 1);
  t->builder.target = NULL;
  neo_status s = plain.ok ? run_plain(e, x, &plain, &m) : NEO_OK;
  if (!s && m.ok && m.finite < 0.5) {
    x->positive = true;
    s = run_plain(e, x, &plain, &m);
  }
  neo_unbuild(&plain, 1);
  if (!s && !m.ok)
    neo_task_fail(t, x, "the plain kernel", plain.ok ? m.why : plain.why);
  if (s || !m.ok)
    return s;
  *path = file;
  if (!neo_measurer_ask(&t->measurer, neo_arena_printf(e->a, "save path=%s\n", file), &text))
    return NEO_OK;
  t->why = neo_arena_printf(e->a, "%s: %s", file, text);
  return NEO_IO;
}

/* A line of the job, in which files are those of the folder. */
static neo_status add_job_line(emitter *e, const char *line) {
  const char *path = measure_is(line, "buffer") ? measure_after(line, "path") : NULL;
  neo_status s = path ? add_file(e, path) : NEO_OK;
  if (path)
    line = neo_arena_printf(e->a, "%.*s%s", (int)(path - line), line, in_folder(e, path));
  add_line(e, line);
  return s;
}

static neo_status describe(emitter *e, neo_task *x, size_t number, const char *expected) {
  neo_status s = NEO_OK;
  char key[33];
  neo_record_key_text(x->record.key, key);
  add_line(e, neo_arena_printf(e->a, "task %zu key=%s part=%.17g base_ratio=%.17g name=%s", number,
                               key, x->part, neo_task_base_ratio(x), x->g->name));
  for (const char *p = neo_task_job(e->t, x); *p && !s; p += *p == '\n') {
    size_t n = strcspn(p, "\n");
    s = add_job_line(e, neo_arena_strndup(e->a, p, n));
    p += n;
  }
  add_line(e, neo_arena_printf(e->a, "expect path=%s", in_folder(e, expected)));
  return s ? s : add_file(e, expected);
}

static neo_status add_candidate(emitter *e, neo_candidate *k, size_t id) {
  neo_str s;
  neo_status bad = NEO_OK;
  if (!e->last_file || !neo_streq(e->last_file, k->path))
    bad = add_file(e, k->path);
  e->last_file = neo_arena_strdup(e->a, k->path);
  snprintf(k->path, sizeof k->path, "%s", in_folder(e, e->last_file));
  add_line(e, neo_arena_printf(e->a, "%s id=%zu %s", id ? "try" : "base", id,
                               neo_candidate_text(e->a, k)));
  neo_str_init(&s, e->a);
  neo_str_addf(&s, "schedule id=%zu ", id);
  neo_schedule_print(&k->schedule, &s);
  add_line(e, neo_str_text(&s));
  e->out->candidates += id > 0;
  return bad;
}

/* Orders candidates by file. */
static int by_path(const void *a, const void *b) {
  const neo_candidate *x = a, *y = b;
  return strcmp(x->path, y->path);
}

static neo_status add_chunk(emitter *e, neo_task *x, neo_candidate *k, size_t n, size_t *id) {
  neo_status s = NEO_OK;
  neo_build(&e->t->builder, k, n);
  qsort(k, n, sizeof *k, by_path);
  for (size_t i = 0; i < n && !s; i++)
    if (k[i].ok)
      s = add_candidate(e, &k[i], (*id)++);
    else
      neo_journal_add(e->t, x, &k[i].schedule, -1, k[i].why);
  return s;
}

static bool enough(const emitter *e) {
  e->out->full = e->out->bytes >= LIMIT_BYTES;
  return e->out->full || neo_tune_stopped(e->t) || neo_tune_late(e->t);
}

/* Builds and lists candidates. The base has a file of its own, since no result is valid without
 * it. */
static neo_status add_candidates(emitter *e, neo_task *x, const neo_schedule *s, size_t n) {
  neo_candidate k[CHUNK] = {{.schedule = x->base.schedule}};
  size_t id = 0;
  neo_status bad = add_chunk(e, x, k, 1, &id);
  if (!bad && !id)
    neo_task_fail(e->t, x, "the default's kernel", k[0].why);
  for (size_t at = 0; at < n && id && !bad && !enough(e); at += CHUNK) {
    size_t some = n - at < CHUNK ? n - at : CHUNK;
    for (size_t i = 0; i < some; i++)
      k[i] = (neo_candidate){.schedule = s[at + i]};
    bad = add_chunk(e, x, k, some, &id);
  }
  return bad;
}

static neo_status emit_task(emitter *e, neo_task *x) {
  neo_tune *t = e->t;
  neo_schedule *s = NEO_NEW_ARRAY(e->a, neo_schedule, (size_t)t->o.candidates + 1);
  const char *expected = NULL;
  if (!neo_task_prepare(t, x))
    return NEO_OK;
  neo_task_open(t, x, 1); /* times are ratios to the base */
  size_t n = propose(e, x, s, (size_t)t->o.candidates), first = e->lines.n;
  neo_status bad = expect(e, x, e->out->tasks, &expected);
  if (bad || x->failed)
    return bad;
  bad = describe(e, x, e->out->tasks, expected);
  if (!bad)
    bad = add_candidates(e, x, s, n);
  if (x->failed)
    e->lines.n = first;
  else
    e->out->tasks++;
  neo_tune_show(t);
  return bad;
}

/* ---- all tasks */

static int64_t logged_of(const neo_tune *t, const neo_task *x) {
  int64_t n = 0;
  for (size_t k = 0; k < t->logged.n; k++)
    n += t->logged.at[k].key[0] == x->record.key[0] && t->logged.at[k].key[1] == x->record.key[1];
  return n;
}

typedef struct {
  neo_task *task;
  bool logged;
  double ns;
} queued;

static int by_priority(const void *a, const void *b) {
  const queued *x = a, *y = b;
  if (x->logged != y->logged)
    return x->logged - y->logged;
  return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns)
                        : (x->task > y->task) - (x->task < y->task);
}

static queued *in_order(neo_tune *t) {
  queued *order = NEO_NEW_ARRAY(&t->c->arena, queued, t->tasks.n + 1);
  for (size_t k = 0; k < t->tasks.n; k++) {
    neo_task *x = &t->tasks.at[k];
    order[k] = (queued){x, logged_of(t, x) > 0, neo_tune_guess_ns(t, x) * (double)x->count};
  }
  qsort(order, t->tasks.n, sizeof *order, by_priority);
  return order;
}

static void add_head(emitter *e) {
  const neo_tune *t = e->t;
  add_line(e, neo_arena_printf(e->a, "neo-candidates %d", MEASURE_FORMAT));
  add_line(e, neo_arena_printf(e->a, "build %s", neo_record_build_text()));
  add_line(e, neo_arena_printf(e->a, "target %s", neo_record_target_text(e->a, &t->c->target)));
  add_line(e, neo_tune_device_text(e->a, &t->c->target));
  add_line(e, neo_arena_printf(e->a, "threads %d", t->o.threads));
}

static neo_status write_lines(emitter *e) {
  const char *path = neo_path_join(e->a, e->t->o.emit, MEASURE_CANDIDATES);
  neo_str all = neo_str_in(e->a);
  add_line(e, neo_arena_printf(e->a, "end %zu", e->lines.n));
  for (size_t k = 0; k < e->lines.n; k++) {
    size_t n;
    char *line = measure_line_of(e->lines.at[k], &n);
    if (!line)
      return NEO_MEMORY;
    neo_str_addn(&all, line, n);
    free(line);
  }
  e->out->bytes += (int64_t)all.n;
  neo_status s = neo_file_write(&neo_io_default, path, neo_str_text(&all), all.n);
  if (s)
    e->t->why = neo_arena_printf(e->a, "%s: %s", path, strerror(errno));
  return s;
}

neo_status neo_tune_emit(neo_tune *t, neo_emission *out) {
  emitter e = {.t = t, .a = &t->c->arena, .out = out};
  *out = (neo_emission){0};
  t->o.emit = neo_path_plain(e.a, t->o.emit);
  neo_status s = make_folder(t);
  t->builder.folder = t->o.emit;
  queued *order = in_order(t);
  add_head(&e);
  for (size_t k = 0; k < t->tasks.n && !s && !enough(&e); k++)
    s = emit_task(&e, order[k].task);
  if (!s)
    s = write_lines(&e);
  t->builder.folder = NULL; /* its files are not removed */
  return s ? s : neo_tune_stopped(t) ? NEO_INTERRUPTED : NEO_OK;
}
