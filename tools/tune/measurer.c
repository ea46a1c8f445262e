/* See measurer.h. */
#define _GNU_SOURCE /* pipe2 */
#include "tools/tune/measurer.h"
#include "base/json.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { LINE = 4096 };

static neo_status failed(neo_measurer *m, const char *what) {
  m->why = neo_arena_printf(m->arena, "%s: %s", m->program, what);
  return NEO_IO;
}

/* in, out: its ends of the pipes. */
static int spawn(neo_measurer *m, int in, int out) {
  posix_spawn_file_actions_t actions;
  const char *argv[] = {m->program, NULL};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  int error =
      posix_spawn(&m->pid, m->program, &actions, NULL, (char *const *)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

neo_status neo_measurer_start(neo_arena *a, neo_measurer *m, const char **why) {
  int in[2], out[2];
  const char *program = neo_place_measurer(a);
  *m = (neo_measurer){.arena = a, .program = program ? program : "neo-measure"};
  *why = m->program;
  if (!program) {
    *why = "neo-measure is not beside this program: see `neoc doctor`";
    return NEO_IO;
  }
  signal(SIGPIPE, SIG_IGN); /* a measurer that died is a failure that is told */
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) {
    *why = strerror(errno);
    return NEO_IO;
  }
  int error = spawn(m, in[0], out[1]);
  close(in[0]), close(out[1]);
  m->to = fdopen(in[1], "w"), m->from = fdopen(out[0], "r");
  if (!error && m->to && m->from)
    return NEO_OK;
  *why = neo_arena_printf(a, "%s: %s", program, strerror(error ? error : errno));
  neo_measurer_stop(m);
  return NEO_IO;
}

void neo_measurer_stop(neo_measurer *m) {
  if (m->to)
    fclose(m->to); /* the end of its input is its end */
  if (m->from)
    fclose(m->from);
  if (m->pid > 0) {
    kill(m->pid, SIGKILL);
    while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  *m = (neo_measurer){.arena = m->arena, .program = m->program, .why = m->why};
}

neo_status neo_measurer_job(neo_measurer *m, const char *lines) {
  if (!m->to || fputs(lines, m->to) < 0 || fflush(m->to))
    return failed(m, "it has gone");
  return NEO_OK;
}

/* ---- answers */

static double number(const neo_json *j, const char *key) {
  double x = 0;
  return neo_json_number(neo_json_get(j, key), &x) ? x : 0;
}

static neo_status read_answer(neo_measurer *m, const char *line, neo_measured *out) {
  neo_json *j = NULL;
  if (neo_json_parse(line, strlen(line), &j))
    return failed(m, "it says what nobody understands");
  const char *why = neo_json_text(neo_json_get(j, "why"));
  const char *error = neo_json_text(neo_json_get(j, "error"));
  neo_status s = error ? failed(m, error) : NEO_OK;
  *out = (neo_measured){.ns = number(j, "ns"),
                        .ratio = number(j, "ratio"),
                        .busy = number(j, "busy"),
                        .finite = number(j, "finite")};
  out->ok = !why && !error;
  snprintf(out->why, sizeof out->why, "%s", why ? why : "");
  neo_json_free(j);
  return s;
}

neo_status neo_measurer_run(neo_measurer *m, const char *command, const neo_candidate *x,
                            double best_ratio, neo_measured *out) {
  char line[LINE];
  *out = (neo_measured){0};
  if (!m->to)
    return failed(m, "it has gone");
  fprintf(m->to, "%s id=0 symbol=%s units=%lld scratch=%lld best_ratio=%.4f path=%s\n", command,
          x->symbol, (long long)x->units, (long long)x->scratch_bytes, best_ratio, x->path);
  if (fflush(m->to) || !fgets(line, sizeof line, m->from))
    return failed(m, "it has gone");
  return read_answer(m, line, out);
}
