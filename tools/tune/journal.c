/* The log of trials, one line of JSON each, appended in one write. Only lines of this machine,
 * compiler and number of threads count; invalid lines are skipped. */
#include "base/json.h"
#include "tools/tune/task.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_BYTES = 256 << 20 };

static bool same_text(const neo_json *j, const char *key, const char *want) {
  const char *text = neo_json_text(neo_json_get(j, key));
  return text && neo_streq(text, want);
}

/* ---- reading */

static void take_line(neo_tune *t, const char *line, size_t n) {
  neo_json *j = NULL;
  neo_logged_trial logged = {0};
  int64_t threads = 0;
  if (n < 2 || neo_json_parse(line, n, &j))
    return;
  const char *key = neo_json_text(neo_json_get(j, "key"));
  const char *schedule = neo_json_text(neo_json_get(j, "schedule"));
  const neo_record *any = &t->tasks.at[0].record;
  if (!neo_json_number(neo_json_get(j, "ratio"), &logged.ratio))
    logged.ratio = -1; /* a candidate that failed */
  bool ours = key && schedule && neo_record_key_of(key, logged.key) &&
              neo_schedule_parse(schedule, &logged.schedule) &&
              same_text(j, "target", any->target) && same_text(j, "build", any->build) &&
              neo_json_integer(neo_json_get(j, "threads"), &threads) && threads == t->o.threads;
  neo_json_free(j);
  if (ours)
    NEO_PUSH(&t->c->arena, &t->logged, logged);
}

static void read_log(neo_tune *t) {
  char *text;
  size_t n;
  if (neo_file_read(&neo_io_default, &t->c->arena, t->o.log, LIMIT_BYTES, &text, &n))
    return;
  for (char *p = text; p < text + n;) {
    char *end = memchr(p, '\n', (size_t)(text + n - p));
    if (!end)
      return; /* an unfinished line */
    take_line(t, p, (size_t)(end - p));
    p = end + 1;
  }
}

neo_status neo_journal_open(neo_tune *t) {
  t->log = -1;
  if (!t->o.log || !t->tasks.n)
    return NEO_OK;
  read_log(t);
  neo_status s = neo_records_make_folder(&t->c->arena, t->o.log, t->o.records_flags);
  if (!s)
    t->log = open(t->o.log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (t->log >= 0) {
    char last = '\n';
    off_t end = lseek(t->log, 0, SEEK_END);
    if (end > 0 && pread(t->log, &last, 1, end - 1) == 1 && last != '\n' &&
        write(t->log, "\n", 1) != 1)
      last = '\n';
    return NEO_OK;
  }
  t->why = neo_arena_printf(&t->c->arena, "%s: %s", t->o.log, strerror(errno));
  t->place_why = t->why;
  return t->o.in_memory ? NEO_OK : NEO_IO;
}

void neo_journal_recall(neo_tune *t, neo_task *x) {
  for (size_t k = 0; k < t->logged.n; k++) {
    const neo_logged_trial *logged = &t->logged.at[k];
    if (logged->key[0] != x->record.key[0] || logged->key[1] != x->record.key[1])
      continue;
    neo_search_add_logged(&x->search, &logged->schedule,
                          logged->ratio > 0 ? logged->ratio / neo_task_base_ratio(x) * x->default_ns
                                            : -1);
    x->logged++;
  }
}

/* ---- writing */

void neo_journal_add(neo_tune *t, const neo_task *x, const neo_schedule *s, double ratio,
                     const char *why) {
  char key[33];
  if (t->log < 0)
    return;
  neo_str line = neo_str_in(&t->c->arena);
  neo_record_key_text(x->record.key, key);
  neo_str_addf(&line, "{\"key\":\"%s\",\"threads\":%d,\"target\":", key, t->o.threads);
  neo_str_add_json(&line, x->record.target);
  neo_str_add(&line, ",\"build\":");
  neo_str_add_json(&line, x->record.build);
  neo_str_add(&line, ",\"name\":");
  neo_str_add_json(&line, x->record.name);
  neo_str_add(&line, ",\"schedule\":\"");
  neo_schedule_print(s, &line);
  neo_str_addf(&line, "\",\"ratio\":%.5g", ratio > 0 ? ratio * neo_task_base_ratio(x) : ratio);
  if (ratio <= 0) {
    neo_str_add(&line, ",\"why\":");
    neo_str_add_json(&line, why);
  }
  neo_str_add(&line, "}\n");
  if (write(t->log, neo_str_text(&line), line.n) != (ssize_t)line.n) { /* the disk may be full */
    close(t->log);
    t->log = -1;
  }
}
