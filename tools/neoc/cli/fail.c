/* Failures on stderr, the exit code that goes with them, and the texts of both. */
#include "tools/neoc/neoc.h"
#include <stdarg.h>
#include <string.h>

void neoc_progress_clear(const neoc_cli *cli) {
  if (!cli->progress || cli->progress->shown == 0)
    return;
  fputs("\r\033[K", stderr);
  cli->progress->shown = 0;
}

static void put_head(const neoc_cli *cli) {
  neoc_progress_clear(cli);
  fprintf(stderr, cli->command ? "neoc %s: " : "neoc: ", cli->command ? cli->command->name : "");
}

/* Adds a message without its head: a program that called neoc knows what it asked for. */
static void tell(const neoc_cli *cli, const char *fmt, va_list ap) {
  neo_str_add(cli->told, neo_arena_vprintf(cli->arena, fmt, ap));
}

static void print(const neoc_cli *cli, const char *fmt, va_list ap) {
  put_head(cli);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
}

neoc_exit neoc_fail(const neoc_cli *cli, neoc_exit code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  if (!cli->told)
    fflush(stdout);
  (cli->told ? tell : print)(cli, fmt, ap);
  va_end(ap);
  return code;
}

neoc_exit neoc_usage(const neoc_cli *cli, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  (cli->told ? tell : print)(cli, fmt, ap);
  va_end(ap);
  if (!cli->told)
    fprintf(stderr, cli->command ? "try `neoc %s --help`\n" : "try `neoc help%s`\n",
            cli->command ? cli->command->name : "");
  return NEOC_USAGE;
}

neoc_exit neoc_exit_of(neo_status s) {
  switch (s) {
  case NEO_OK:
    return NEOC_OK;
  case NEO_IO:
    return NEOC_IO;
  case NEO_ARGUMENT:
    return NEOC_USAGE;
  case NEO_MEMORY:
  case NEO_UNSUPPORTED:
    return NEOC_DEVICE;
  case NEO_INTERNAL:
  case NEO_ABI:
  case NEO_STATE:
    return NEOC_INTERNAL;
  case NEO_INTERRUPTED:
    return NEOC_INTERRUPTED;
  default:
    return NEOC_FAILED;
  }
}

const char *neoc_bytes_text(neo_arena *a, int64_t n) {
  if (n < 10240)
    return neo_arena_printf(a, "%lld B", (long long)n);
  if (n < 10 * 1024 * 1024)
    return neo_arena_printf(a, "%.1f KiB", (double)n / 1024);
  return neo_arena_printf(a, "%.1f MiB", (double)n / (1024 * 1024));
}

const char *neoc_model_path(neoc_cli *cli, neoc_exit *e) {
  if (cli->n_args == 1)
    return cli->args[0];
  if (cli->n_args == 0)
    *e = neoc_usage(cli, "which model?");
  else
    *e = neoc_usage(cli, "unexpected argument '%s'", cli->args[1]);
  return NULL;
}

bool neoc_ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && memcmp(text + n - m, end, m) == 0;
}
