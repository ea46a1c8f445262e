/* Names of passes on the command line: which are run, left out, or dumped after. */
#include "ir/print.h"
#include "tools/neoc/cli/renamed.h"
#include "tools/neoc/neoc.h"
#include <string.h>

static const neo_pass *find_pass(const char *name) {
  size_t n;
  const neo_pass *p = neo_compile_pass_table(&n);
  for (size_t k = 0; k < n; k++)
    if (neo_streq(p[k].name, name))
      return &p[k];
  return NULL;
}

/* The nearest name, or null: none is near. */
static const char *nearest_pass(const char *name) {
  size_t n;
  const neo_pass *p = neo_compile_pass_table(&n);
  const char *best = NULL;
  for (size_t k = 0, least = 3; k < n; k++) {
    size_t d = (size_t)neo_str_distance(name, p[k].name, 2);
    if (d < least && 2 * d < strlen(name))
      least = d, best = p[k].name;
  }
  return best;
}

neoc_exit neoc_pass_check(const neoc_cli *cli, const char *option, const char *name,
                          const char *other) {
  size_t n;
  neo_str s;
  const neo_pass *p = neo_compile_pass_table(&n);
  const char *near = nearest_pass(name);
  const char *now = neoc_renamed_to(NEOC_RENAMED_PASS, name);
  if (find_pass(name) || (other && neo_streq(name, other)))
    return NEOC_OK;
  if (now)
    return neoc_usage(cli, "--%s: the pass '%s' is called '%s' now", option, name, now);
  neo_str_init(&s, cli->arena);
  neo_str_add(&s, other ? other : "");
  for (size_t k = 0; k < n; k++)
    neo_str_addf(&s, "%s%s", s.n ? ", " : "", p[k].name);
  if (near)
    return neoc_usage(cli, "--%s: there is no pass '%s' (did you mean '%s'?): they are %s", option,
                      name, near, neo_str_text(&s));
  return neoc_usage(cli, "--%s: there is no pass '%s': they are %s", option, name,
                    neo_str_text(&s));
}

static bool in(neoc_texts list, const char *word) {
  for (size_t k = 0; k < list.n; k++)
    if (neo_streq(list.at[k], word))
      return true;
  return false;
}

static neoc_exit read_skips(neoc_cli *cli, neo_compile_options *o) {
  neoc_texts skip = neoc_words(cli, NEOC_O_SKIP_PASS), only = neoc_words(cli, NEOC_O_PASSES);
  neoc_exit e = NEOC_OK;
  for (size_t k = 0; k < skip.n && !e; k++) {
    e = neoc_pass_check(cli, "skip-pass", skip.at[k], NULL);
    if (!e && find_pass(skip.at[k])->required)
      e = neoc_usage(cli, "pass '%s' cannot be left out", skip.at[k]);
  }
  for (size_t k = 0; k < only.n && !e; k++)
    e = neoc_pass_check(cli, "passes", only.at[k], NULL);
  if (e)
    return e;
  size_t n;
  const neo_pass *p = neo_compile_pass_table(&n);
  for (size_t k = 0; k < n && neoc_has(cli, NEOC_O_PASSES); k++)
    if (!p[k].required && !in(only, p[k].name))
      NEO_PUSH(cli->arena, &skip, p[k].name);
  NEO_PUSH(cli->arena, &skip, NULL);
  o->passes.skip = skip.at;
  return NEOC_OK;
}

static void dump(void *ctx, const char *pass, const neo_module *m, bool changed) {
  neo_str s = neo_str_in(((neoc_cli *)ctx)->arena);
  if (changed)
    neo_module_print(m, &s);
  fprintf(stderr, "# after %s%s\n%s", pass, changed ? "" : ": nothing changed", neo_str_text(&s));
}

neoc_exit neoc_pass_options(neoc_cli *cli, neo_compile_options *o) {
  const char *after = neoc_text(cli, NEOC_O_DUMP_AFTER, NULL);
  o->passes.verify = !neoc_has(cli, NEOC_O_NO_VERIFY);
  o->check_facts = neoc_has(cli, NEOC_O_CHECK_FACTS);
  neoc_exit e = after ? neoc_pass_check(cli, "dump-after", after, "all") : NEOC_OK;
  if (e)
    return e;
  o->passes.dump_after = after;
  o->passes.dump = dump;
  o->passes.dump_ctx = cli;
  return read_skips(cli, o);
}
