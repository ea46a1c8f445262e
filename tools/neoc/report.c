/* What the user reads: diagnostics, failures, and the exit code that goes with them. */
#include "tools/neoc/guard.h"
#include "tools/neoc/neoc.h"
#include <stdarg.h>
#include <string.h>

static void put_head(const neoc_cli *cli) {
  fprintf(stderr, cli->command ? "neoc %s: " : "neoc: ", cli->command ? cli->command->name : "");
}

neoc_exit neoc_fail(const neoc_cli *cli, neoc_exit code, const char *fmt, ...) {
  va_list ap;
  fflush(stdout);
  put_head(cli);
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fputc('\n', stderr);
  return code;
}

neoc_exit neoc_usage(const neoc_cli *cli, const char *fmt, ...) {
  va_list ap;
  put_head(cli);
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fprintf(stderr, cli->command ? "\ntry `neoc %s --help`\n" : "\ntry `neoc help%s`\n",
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

static void put_diagnostics(const neoc_cli *cli, neo_compilation *c) {
  if (!c->diags || !neo_diags_count(c->diags))
    return;
  if (neoc_has(cli, NEOC_O_QUIET) && !neo_diags_errors(c->diags))
    return;
  neo_str s;
  neo_str_init(&s, cli->arena);
  neo_diags_print(c->diags, &s, cli->colour);
  fflush(stdout);
  fwrite(neo_str_text(&s), 1, s.n, stderr);
}

/* {"diagnostics": [...], "ok": true, ...} */
static void put_json(const neoc_cli *cli, neo_compilation *c, neo_status s, const char *results) {
  neo_str out;
  neo_str_init(&out, cli->arena);
  if (c->diags)
    neo_diags_print_json(c->diags, &out);
  else
    neo_str_add(&out, "{\"diagnostics\": []}");
  size_t n = out.n;
  while (n && out.at[n - 1] != '}')
    n--;
  fwrite(out.at, 1, n ? n - 1 : 0, stdout);
  printf(", \"ok\": %s", s ? "false" : "true");
  if (s && c->why) {
    neo_str why;
    neo_str_init(&why, cli->arena);
    neo_str_add_json(&why, c->why);
    printf(", \"error\": %s", neo_str_text(&why));
  }
  if (results && *results)
    printf(", %s", results);
  printf("}\n");
}

neoc_exit neoc_report(const neoc_cli *cli, neo_compilation *c, neo_status s, const char *results) {
  if (cli->json)
    put_json(cli, c, s, results);
  else
    put_diagnostics(cli, c);
  if (s == NEO_INTERNAL) {
    const char *why = c->why ? c->why : "no reason given";
    const char *file = neoc_reproducer((neoc_cli *)(uintptr_t)cli, why);
    neoc_fail(cli, NEOC_INTERNAL, "internal error: %s", why);
    if (file)
      fprintf(stderr, "The program that it was working on is in %s\n", file);
    return NEOC_INTERNAL;
  }
  bool told = s == NEO_INPUT && !c->why;
  if (s && !cli->json && !told)
    neoc_fail(cli, NEOC_FAILED, "%s", c->why ? c->why : neo_status_text(s));
  return neoc_exit_of(s);
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
