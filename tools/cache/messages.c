/* Messages of the commands for failures and for values that they cannot read. */
#include "tools/cache/commands.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[] = {
#define X(id, name, letter, value, commands, meaning) name,
#include "tools/cache/options.def"
#undef X
};

static void put_message(const cache_cli *cli, const char *format, va_list ap) {
  fflush(stdout);
  fprintf(stderr, "%s%s%s: ", cli->program, cli->command ? " " : "",
          cli->command ? cli->command->name : "");
  vfprintf(stderr, format, ap);
  fputc('\n', stderr);
}

cache_exit cache_fail(const cache_cli *cli, cache_exit code, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  put_message(cli, format, ap);
  va_end(ap);
  return code;
}

cache_exit cache_usage(const cache_cli *cli, const char *format, ...) {
  va_list ap;
  va_start(ap, format);
  put_message(cli, format, ap);
  va_end(ap);
  fprintf(stderr, "try `%s %s%s--help`\n", cli->program, cli->command ? cli->command->name : "",
          cli->command ? " " : "");
  return CACHE_USAGE;
}

cache_exit cache_number(const cache_cli *cli, cache_option o, int64_t *x) {
  char *end;
  const char *text = cli->value[o];
  errno = 0;
  *x = strtoll(text, &end, 10);
  if (errno || end == text || *end || *x < 0)
    return cache_usage(cli, "--%s is a whole number of at least 0, not '%s'", names[o], text);
  return CACHE_OK;
}
