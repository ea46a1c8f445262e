/* Runs neo-measure as a child process (measurer.h). */
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

enum { LINE = 4096, MOST_RESTARTS = 3 };

static neo_status failed(neo_measurer *m, const char *what) {
  m->why = neo_arena_printf(m->arena, "%s: %s", m->program, what);
  return NEO_IO;
}

/* in, out: the child's ends of the pipes. */
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

static neo_status start(neo_measurer *m) {
  int in[2], out[2];
  if (pipe2(in, O_CLOEXEC))
    return failed(m, strerror(errno));
  if (pipe2(out, O_CLOEXEC)) {
    close(in[0]), close(in[1]);
    return failed(m, strerror(errno));
  }
  int error = spawn(m, in[0], out[1]);
  close(in[0]), close(out[1]);
  m->to = fdopen(in[1], "w"), m->from = fdopen(out[0], "r");
  return !error && m->to && m->from ? NEO_OK : failed(m, strerror(error ? error : errno));
}

static void end(neo_measurer *m) {
  if (m->to)
    fclose(m->to); /* the process ends at the end of its input */
  if (m->from)
    fclose(m->from);
  if (m->pid > 0) {
    kill(m->pid, SIGKILL);
    while (waitpid(m->pid, NULL, 0) < 0 && errno == EINTR)
      ;
  }
  m->to = m->from = NULL;
  m->pid = 0;
}

/* A dead measurer is detected when it is asked. For this thread alone: the process may be another
 * program's (neo_command). */
static void block_broken_pipes(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &set, NULL);
}

neo_status neo_measurer_start(neo_arena *a, neo_measurer *m, const char **why) {
  const char *program = neo_place_measurer(a);
  *m = (neo_measurer){.arena = a, .program = program ? program : "neo-measure"};
  *why = "neo-measure is not in the folder of this program: see `neoc doctor`";
  if (!program)
    return NEO_IO;
  block_broken_pipes();
  neo_status s = start(m);
  *why = m->why;
  if (s)
    end(m);
  return s;
}

void neo_measurer_stop(neo_measurer *m) {
  end(m);
  *m = (neo_measurer){.arena = m->arena, .program = m->program, .why = m->why};
}

static bool say(neo_measurer *m, const char *lines) {
  return m->to && fputs(lines, m->to) >= 0 && !fflush(m->to);
}

/* A dead measurer is detected when it is asked. */
void neo_measurer_job(neo_measurer *m, const char *lines) {
  if (strncmp(lines, "job\n", 4) == 0)
    m->told.n = 0;
  if (m->told.n && strncmp(lines, "limit ", 6) == 0 &&
      strncmp(m->told.at[m->told.n - 1], "limit ", 6) == 0)
    m->told.n--;
  NEO_PUSH(m->arena, &m->told, lines);
  say(m, lines);
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
  if (!out->ok)
    out->reason = measure_reason_of(neo_json_text(neo_json_get(j, "code")));
  snprintf(out->why, sizeof out->why, "%s", why ? why : "");
  neo_json_free(j);
  return s;
}

/* Sends a command and reads its answer; false: the measurer has died. */
static bool ask(neo_measurer *m, const char *command, char line[LINE]) {
  return say(m, command) && fgets(line, LINE, m->from);
}

neo_status neo_measurer_ask(neo_measurer *m, const char *line, const char **text) {
  char answer[LINE];
  neo_json *j = NULL;
  *text = "";
  if (!ask(m, line, answer) || neo_json_parse(answer, strlen(answer), &j))
    return failed(m, "it has gone");
  const char *device = neo_json_text(neo_json_get(j, "device"));
  const char *why = neo_json_text(neo_json_get(j, "why"));
  *text = neo_arena_strdup(m->arena, device ? device : why ? why : "");
  neo_json_free(j);
  if (strncmp(line, "device ", 7) == 0 && !why)
    m->device = neo_arena_strdup(m->arena, line);
  return why ? NEO_UNSUPPORTED : NEO_OK;
}

/* Restarts the measurer with the job that it had. */
static neo_status restart(neo_measurer *m) {
  char line[LINE];
  end(m);
  if (m->restarts++ == MOST_RESTARTS)
    return failed(m, "it died too often");
  neo_status s = start(m);
  if (!s && m->device && !ask(m, m->device, line))
    s = failed(m, "it has gone");
  for (size_t k = 0; k < m->told.n && !s; k++) {
    bool base = strncmp(m->told.at[k], "base ", 5) == 0;
    if (base ? !ask(m, m->told.at[k], line) : !say(m, m->told.at[k]))
      s = failed(m, "it has gone");
  }
  return s;
}

const char *neo_candidate_text(neo_arena *a, const neo_candidate *x) {
  const char *blocks =
      x->block ? neo_arena_printf(a, "block=%d block_units=%d ", (int)x->block, (int)x->block_units)
               : "";
  const char *stay = x->persistent ? neo_arena_printf(a, "persistent=%d ", (int)x->persistent) : "";
  const char *maps = x->maps[0] ? neo_arena_printf(a, "maps=%s ", x->maps) : "";
  return neo_arena_printf(a, "symbol=%s units=%lld scratch=%lld %s%s%spath=%s", x->symbol,
                          (long long)x->units, (long long)x->scratch_bytes, blocks, stay, maps,
                          x->path);
}

neo_status neo_measurer_run(neo_measurer *m, const char *command, const neo_candidate *x,
                            double best_ratio, neo_measured *out) {
  char answer[LINE];
  const char *line = neo_arena_printf(m->arena, "%s id=0 best_ratio=%.4f %s\n", command, best_ratio,
                                      neo_candidate_text(m->arena, x));
  *out = (neo_measured){0};
  if (ask(m, line, answer)) {
    if (neo_streq(command, "base"))
      NEO_PUSH(m->arena, &m->told, line);
    return read_answer(m, answer, out);
  }
  out->reason = MEASURE_REASON_DIED;
  snprintf(out->why, sizeof out->why, "the measurer died");
  return restart(m);
}
