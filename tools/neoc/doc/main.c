/* `neoc doc`: the reference of modules as Markdown: for each a list of its functions, then
 * these. */
#include "base/file.h"
#include "tools/neoc/doc/doc.h"
#include <string.h>

/* Adds a link to the heading "nn.linear"; the anchors of Markdown omit the point. */
static void add_link(doc_page *p, const char *name) {
  doc_add_word(p, neo_arena_printf(p->cli->arena, "[%s](#%s%s)", name, p->module, name));
}

static void add_contents(doc_page *p) {
  for (size_t k = 0; k < p->entries.n; k++) {
    const doc_entry *e = &p->entries.at[k];
    const doc_block title = doc_title(e->block);
    if (e->fn)
      add_link(p, e->fn->u.fn.sig.name.text);
    else if (e->functions)
      neo_str_addf(&p->out, "\n- %.*s:", title.n ? (int)title.n : (int)strlen(p->module),
                   title.n ? title.at : p->module);
  }
  neo_str_addc(&p->out, '\n');
}

/* Adds a block without its leading blank lines. */
static void add_introduction(doc_page *p, doc_block b) {
  while (b.n && (b.n == 1 || b.at[1] == '\n'))
    doc_line(&b);
  if (b.n)
    neo_str_addc(&p->out, '\n');
  doc_add_block(p, b, false);
}

static void add_entry(doc_page *p, const doc_entry *e) {
  const doc_block title = doc_title(e->block);
  if (e->fn) {
    doc_add_function(p, e);
  } else if (title.n && e->functions) {
    doc_block b = e->block;
    doc_line(&b);
    neo_str_addf(&p->out, "\n**%s: %.*s**\n", p->module, (int)title.n, title.at);
    add_introduction(p, b);
  }
}

static void make(doc_page *p) {
  doc_entries_find(p);
  neo_str_addf(&p->out, "\n## %s\n", p->module);
  if (p->entries.n && !p->entries.at[0].fn && !doc_title(p->entries.at[0].block).n)
    add_introduction(p, p->entries.at[0].block);
  add_contents(p);
  for (size_t k = 0; k < p->entries.n; k++)
    add_entry(p, &p->entries.at[k]);
}

static const char *stem(neoc_cli *cli, const char *path) {
  const char *name = neo_path_name(path);
  const char *dot = strrchr(name, '.');
  return neo_arena_printf(cli->arena, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
}

neoc_exit neoc_doc(neoc_cli *cli) {
  neoc_exit worst = NEOC_OK;
  if (!cli->n_args)
    return neoc_usage(cli, "which modules?");
  for (int k = 0; k < cli->n_args; k++) {
    neoc_source source;
    neoc_exit e = neoc_source_read(cli, cli->args[k], &source);
    if (e > worst)
      worst = e;
    if (e)
      continue;
    doc_page p = {.cli = cli, .source = &source, .module = stem(cli, cli->args[k])};
    neo_str_init(&p.out, cli->arena);
    make(&p);
    fputs(neo_str_text(&p.out), stdout);
  }
  return worst;
}
