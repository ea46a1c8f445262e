/* The end of every command that compiles: prints diagnostics and the failure, and gives the exit
 * code. */
#include "tools/neoc/neoc.h"
#include "tools/pipeline/facts.h"

static void put_diagnostics(const neoc_cli *cli, neo_compilation *c) {
  if (!c->diags || !neo_diags_count(c->diags))
    return;
  if (neoc_has(cli, NEOC_O_QUIET) && !neo_diags_errors(c->diags))
    return;
  neo_str s = neo_str_in(cli->arena);
  neo_diags_print(c->diags, &s, cli->colour);
  fflush(stdout);
  fwrite(neo_str_text(&s), 1, s.n, stderr);
}

/* {"diagnostics": [...], "ok": true, ...} */
static void put_json(const neoc_cli *cli, neo_compilation *c, neo_status s, const char *results) {
  neo_str out = neo_str_in(cli->arena);
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
    neo_str why = neo_str_in(cli->arena);
    neo_str_add_json(&why, c->why);
    printf(", \"error\": %s", neo_str_text(&why));
  }
  if (results && *results)
    printf(", %s", results);
  printf("}\n");
}

neoc_exit neoc_report(const neoc_cli *cli, neo_compilation *c, neo_status s, const char *results) {
  neoc_progress_clear(cli);
  if (cli->json)
    put_json(cli, c, s, results);
  else
    put_diagnostics(cli, c);
  if (s == NEO_INTERNAL) {
    const char *why = c->why ? c->why : "no reason given";
    const char *file =
        cli->program ? cli->program->reproduce((neoc_cli *)(uintptr_t)cli, why) : NULL;
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

void neoc_report_facts(const neoc_cli *cli, const neo_compilation *c) {
  bool asked = neoc_has(cli, NEOC_O_CHECK_FACTS);
  if (!c->facts || neoc_has(cli, NEOC_O_QUIET) || !(asked || neo_fact_check_has_left_out(c->facts)))
    return;
  neo_str s = neo_str_in(cli->arena);
  neo_fact_check_add_counts(c->facts, &s);
  fprintf(stderr, "%s\n", neo_str_text(&s));
}
