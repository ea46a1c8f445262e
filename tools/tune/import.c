/* Imports the results that neo-measure wrote to a folder of candidates. Each result goes to the
 * log, as if it had been measured here; a candidate that won a race by enough goes to the records.
 *
 * An import takes all or nothing: a folder of another compiler, target or program, or a result
 * without a candidate, is refused before anything is written. Importing a folder twice changes
 * nothing. */
#include "tools/measure/lines.h"
#include "tools/measure/words.h"
#include "tools/pipeline/records.h"
#include "tools/tune/task.h"
#include <string.h>

typedef struct {
  long id;
  neo_schedule schedule;
} candidate;

typedef struct {
  neo_task *task;
  NEO_VEC(candidate) candidates;
} source;

typedef struct {
  neo_tune *t;
  neo_arena *a;
  const char *folder;
  measure_lines lines, results;
  NEO_VEC(source) sources; /* by number of the task in the folder */
} importer;

static neo_status refuse(importer *i, neo_status s, const char *what) {
  i->t->why = neo_arena_printf(i->a, "%s: %s", i->folder, what);
  return s;
}

/* ---- does the folder fit this compilation? */

static neo_status check_line(importer *i, const char *word, const char *want, const char *hint) {
  const char *has = measure_lines_find(&i->lines, word);
  if (has && neo_streq(has, want))
    return NEO_OK;
  return refuse(i, NEO_ARGUMENT,
                neo_arena_printf(i->a, "its candidates are for %s '%s', and this is '%s'%s", word,
                                 has ? has : "", want, hint));
}

static neo_status check(importer *i) {
  const neo_tune *t = i->t;
  neo_status s = check_line(i, "build", neo_record_build_text(), ": emit them again");
  if (!s)
    s = check_line(i, "target", neo_record_target_text(i->a, &t->c->target),
                   ": give the --target and --mcpu that they were emitted with");
  if (!s)
    s = check_line(i, "threads", neo_arena_printf(i->a, "%d", t->o.threads), ": see --threads");
  return s;
}

static neo_task *task_of(const importer *i, const char *line) {
  char text[64];
  uint64_t key[2];
  measure_word(line, "key", text, sizeof text);
  for (size_t k = 0; k < i->t->tasks.n && neo_record_key_of(text, key); k++)
    if (memcmp(i->t->tasks.at[k].record.key, key, sizeof key) == 0)
      return &i->t->tasks.at[k];
  return NULL;
}

/* Sets the base's ratio to the model's choice from the folder; the present base may be another
 * one. */
static void take_base_ratio(importer *i, neo_task *x, double ratio) {
  neo_record *r = NEO_NEW(i->a, neo_record);
  *r = x->record;
  r->time_ns = ratio, r->default_ns = 1;
  x->base_record = ratio > 0 && ratio != 1 ? r : NULL;
}

static neo_status add_task(importer *i, const char *line) {
  const char *name = measure_after(line, "name");
  source s = {.task = task_of(i, line)};
  if (!s.task)
    return refuse(i, NEO_ARGUMENT,
                  neo_arena_printf(i->a,
                                   "the program has no kernel that is its '%s': the model, its "
                                   "sizes or options are others than when it was emitted",
                                   name ? name : "?"));
  s.task->part = measure_number(line, "part", 1);
  take_base_ratio(i, s.task, measure_number(line, "base_ratio", 1));
  NEO_PUSH(i->a, &i->sources, s);
  return NEO_OK;
}

/* schedule id=3 threads=128 ... */
static neo_status add_schedule(importer *i, const char *line) {
  neo_compilation *c = i->t->c;
  source *s = i->sources.n ? &i->sources.at[i->sources.n - 1] : NULL;
  candidate x = {.id = (long)measure_number(line, "id", -1)};
  const char *text = line + strlen("schedule ");
  text += strcspn(text, " ");
  if (!s || !*text || !neo_schedule_parse(text + 1, &x.schedule) ||
      !neo_schedule_legal(c->module, s->task->g, s->task->machine, &x.schedule, NULL))
    return refuse(i, NEO_ARGUMENT,
                  neo_arena_printf(i->a, "'%s' is not legal for this program", line));
  if (x.id == 0)
    s->task->base.schedule = x.schedule;
  NEO_PUSH(i->a, &s->candidates, x);
  return NEO_OK;
}

static neo_status read_candidates(importer *i) {
  if (!measure_candidates_read(&i->lines, i->folder)) {
    i->t->why = neo_arena_strdup(i->a, i->lines.why);
    return i->lines.text ? NEO_FORMAT : NEO_IO;
  }
  neo_status s = check(i);
  for (size_t k = 0; k < i->lines.n && !s; k++) {
    const char *line = i->lines.line[k];
    if (strncmp(line, "task ", 5) == 0)
      s = add_task(i, line);
    else if (strncmp(line, "schedule ", 9) == 0)
      s = add_schedule(i, line);
  }
  return s;
}

static neo_status read_results(importer *i) {
  const char *path = neo_path_join(i->a, i->folder, MEASURE_RESULTS);
  unsigned long long of = 0;
  if (!measure_lines_read(&i->results, path, "neo-results", true)) {
    i->t->why = neo_arena_printf(i->a, "%s%s", i->results.why,
                                 i->results.text ? "" : ": has neo-measure run?");
    return i->results.text ? NEO_FORMAT : NEO_IO;
  }
  if (!i->results.n)
    return refuse(i, NEO_FORMAT, MEASURE_RESULTS " is empty");
  sscanf(i->results.line[0], "neo-results %*d of=%llx", &of);
  if (of == measure_lines_digest(&i->lines))
    return NEO_OK;
  return refuse(i, NEO_ARGUMENT, "its " MEASURE_RESULTS " are of other candidates");
}

/* ---- results */

static const candidate *candidate_of(const importer *i, const char *line, neo_task **task) {
  size_t number = (size_t)measure_number(line, "task", -1);
  const source *s = number < i->sources.n ? &i->sources.at[number] : NULL;
  for (size_t k = 0; s && k < s->candidates.n; k++)
    if (s->candidates.at[k].id == (long)measure_number(line, "id", -1)) {
      *task = s->task;
      return &s->candidates.at[k];
    }
  return NULL;
}

static neo_status check_results(importer *i) {
  neo_task *task;
  for (size_t k = 1; k < i->results.n; k++) {
    const char *line = i->results.line[k];
    if (measure_is(line, "result") && !candidate_of(i, line, &task))
      return refuse(i, NEO_ARGUMENT, neo_arena_printf(i->a, "'%s' is of no candidate", line));
  }
  return NEO_OK;
}

/* Is this result in the log already, from this folder or another source? */
static bool logged(const neo_tune *t, const neo_task *x, const candidate *c, double ratio) {
  for (size_t k = 0; k < t->logged.n; k++) {
    const neo_logged_trial *o = &t->logged.at[k];
    double difference = o->ratio - (ratio > 0 ? ratio * neo_task_base_ratio(x) : ratio);
    if (memcmp(o->key, x->record.key, sizeof o->key) == 0 &&
        neo_schedule_equal(&o->schedule, &c->schedule) && difference < 1e-4 && difference > -1e-4)
      return true;
  }
  return false;
}

static void take_base(neo_task *x, const neo_measured *m) {
  if (!m->ok) {
    x->over = true;
    return;
  }
  x->begun = true;
  x->default_ns = x->best_ns = m->ns / x->part;
  x->best = x->base.schedule;
}

static neo_status take_try(importer *i, neo_task *x, const candidate *c, const neo_measured *m,
                           bool race) {
  neo_tune *t = i->t;
  double ratio = m->ok && m->ratio > 0 ? m->ratio : -1;
  if (logged(t, x, c, ratio)) {
    x->logged += !race;
  } else {
    neo_journal_add(t, x, &c->schedule, ratio, m->why);
    x->trials += !race, t->trials += !race, t->refused += ratio < 0;
  }
  if (!race || !x->begun || ratio <= 0 || ratio > NEO_TASK_WORTH ||
      ratio * x->default_ns > x->best_ns)
    return NEO_OK;
  x->best = c->schedule;
  x->best_ns = ratio * x->default_ns;
  return neo_task_record(t, x, m);
}

static neo_status take(importer *i, const char *line) {
  neo_task *x;
  const candidate *c = candidate_of(i, line, &x);
  char mode[16];
  neo_measured m = {.ok = measure_number(line, "ok", 0) > 0,
                    .ns = measure_number(line, "ns", 0),
                    .ratio = measure_number(line, "ratio", 0)};
  const char *why = measure_after(line, "why");
  snprintf(m.why, sizeof m.why, "%s", why ? why : "");
  measure_word(line, "mode", mode, sizeof mode);
  if (neo_streq(mode, "base")) {
    take_base(x, &m);
    x->failed = m.ok ? NULL : neo_arena_printf(i->a, "the default's kernel: %s", m.why);
    return NEO_OK;
  }
  return take_try(i, x, c, &m, neo_streq(mode, "race"));
}

neo_status neo_tune_import(neo_tune *t, const char **device) {
  importer i = {.t = t, .a = &t->c->arena, .folder = t->o.import};
  neo_status s = read_candidates(&i);
  if (!s)
    s = read_results(&i);
  if (!s)
    s = check_results(&i);
  for (size_t k = 1; k < i.results.n && !s; k++)
    if (measure_is(i.results.line[k], "result"))
      s = take(&i, i.results.line[k]);
  const char *name = s ? NULL : measure_lines_find(&i.results, "device");
  *device = name ? neo_arena_strdup(i.a, name) : "";
  measure_lines_free(&i.lines);
  measure_lines_free(&i.results);
  return s;
}
