/* neo-measure: reads commands (measure.h) from standard input and answers to standard output. With
 * a folder as argument, it measures that (folder.c). */
#include "tools/measure/folder.h"
#include "tools/measure/measure.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void put_text(const char *text) {
  putchar('"');
  for (; *text; text++)
    if (*text == '"' || *text == '\\')
      printf("\\%c", *text);
    else if ((unsigned char)*text >= ' ')
      putchar(*text);
  putchar('"');
}

static void put_result(long id, measure_mode mode, const measure_result *r) {
  printf("{\"id\":%ld,\"ok\":%s", id, r->ok ? "true" : "false");
  if (!r->ok) {
    printf(",\"code\":\"%s\",\"why\":", measure_reason_word(r->reason));
    put_text(r->why);
  } else if (mode != MEASURE_PLAIN) {
    printf(",\"ns\":%.1f,\"ratio\":%.5f,\"samples\":%d,\"share\":%.4g,\"busy\":%.3f", r->ns,
           r->ratio, r->samples, r->share, r->busy);
  }
  if (r->ok && mode <= MEASURE_BASE)
    printf(",\"finite\":%.4f", r->finite);
  if (r->ok && r->graph)
    printf(",\"graph\":true");
  printf("}\n");
}

static void run(measure_server *s, measure_mode mode, const char *line) {
  measure_result r;
  long id;
  const char *wrong = measure_server_run(s, mode, line, &id, &r);
  if (wrong)
    printf("{\"ok\":false,\"error\":\"%s\"}\n", wrong);
  else
    put_result(id, mode, &r);
}

/* Answers with the device's name, or why it is not available. */
static void name_device(measure_server *s, const char *line) {
  char text[256];
  bool ok = measure_device_choose(&s->job, line, text);
  printf("{\"ok\":%s,\"%s\":", ok ? "true" : "false", ok ? "device" : "why");
  put_text(text);
  printf("}\n");
}

static void save(measure_server *s, const char *line) {
  const char *path = measure_after(line, "path");
  const char *wrong = s->wrong ? s->wrong : path ? measure_answer_save(&s->job, path) : "no path=";
  printf("{\"ok\":%s", wrong ? "false,\"why\":" : "true");
  if (wrong)
    put_text(wrong);
  printf("}\n");
}

/* Executes a line. False: quit. */
static bool obey(measure_server *s, const char *line) {
  measure_mode mode;
  if (measure_server_mode(line, &mode))
    run(s, mode, line);
  else if (measure_is(line, "device"))
    name_device(s, line);
  else if (measure_is(line, "save"))
    save(s, line);
  else if (measure_is(line, "quit"))
    return false;
  else if (*line && *line != '#')
    measure_server_describe(s, line);
  fflush(stdout);
  return true;
}

static int serve(measure_server *s) {
  char *line = malloc(MEASURE_LINE);
  if (!line)
    return 4;
  bool more = true;
  while (more && fgets(line, MEASURE_LINE, stdin)) {
    line[strcspn(line, "\n")] = 0;
    more = obey(s, line);
  }
  free(line);
  return 0;
}

int main(int argc, char **argv) {
  measure_server *s = calloc(1, sizeof *s);
  if (!s)
    return 4;
  bool filter = !(argc > 1 && strcmp(argv[1], "--no-filter") == 0);
  s->job.sandbox = filter;
  measure_job_clear(&s->job);
  signal(SIGPIPE, SIG_IGN);
  int code = argc > 1 && filter ? measure_folder(s, argc, argv) : serve(s);
  measure_job_clear(&s->job);
  free(s);
  return code;
}
