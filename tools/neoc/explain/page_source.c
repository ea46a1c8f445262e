/* The model's text beside the kernels: each line with the share of the main entry's time that its
 * kernels take, and a link to these. Files of the library are shown if some kernel comes from
 * them. */
#include "base/file.h"
#include "tools/neoc/explain/page.h"
#include <string.h>

typedef struct {
  NEO_VEC(uint32_t) groups;
  double share;
} line_use;

typedef struct {
  line_use *line; /* by number, from 1 */
  uint32_t n;
  bool used;
} file_use;

static file_use use_of(page *p, uint32_t file) {
  size_t n;
  const char *text = neo_sources_text(p->c->sources, file, &n);
  file_use u = {.n = 1};
  for (size_t k = 0; k + 1 < n; k++)
    u.n += text[k] == '\n';
  u.line = NEO_NEW_ARRAY(p->a, line_use, u.n + 2);
  for (uint32_t g = 0; g < p->c->grouping.groups.n; g++) {
    const page_group *x = &p->group[g];
    for (size_t k = 0; k < x->lines.n; k++) {
      if (x->lines.at[k].file != file || x->lines.at[k].line > u.n)
        continue;
      line_use *l = &u.line[x->lines.at[k].line];
      NEO_PUSH(p->a, &l->groups, g);
      l->share += x->share * x->lines.at[k].part;
      u.used = u.used || !x->init;
    }
  }
  return u;
}

/* The group of the line that takes longest. */
static uint32_t heaviest(const page *p, const line_use *l) {
  uint32_t best = l->groups.at[0];
  for (size_t k = 1; k < l->groups.n; k++)
    if (p->group[l->groups.at[k]].share > p->group[best].share)
      best = l->groups.at[k];
  return best;
}

static const char *numbers(const page *p, const line_use *l) {
  neo_str s = neo_str_in(p->a);
  for (size_t k = 0; k < l->groups.n; k++)
    neo_str_addf(&s, "%s%u", k ? " " : "", l->groups.at[k]);
  return l->groups.n ? neo_str_text(&s) : NULL;
}

static void put_use(page *p, const line_use *l) {
  if (!l->groups.n) {
    neoc_html_leaf(p->out, "span", "", "class", "use", NULL);
    return;
  }
  size_t n = l->groups.n;
  const char *title = neo_arena_printf(p->a, "%zu kernel%s, %s of %s", n, n == 1 ? "" : "s",
                                       page_percent(p, l->share), p->entry->name);
  const char *heat = neo_arena_printf(p->a, "--s:%.4f", l->share);
  const char *text = l->share >= 0.0005 ? page_percent(p, l->share) : "\xc2\xb7";
  neoc_html_leaf(p->out, "a", text, "class", "use", "href", page_href(p, "g", heaviest(p, l)),
                 "style", heat, "title", title, NULL);
}

/* The offset of the line's comment, or its end; a '#' in a string begins no comment. */
static size_t comment_of(const char *line, size_t n) {
  bool quoted = false;
  for (size_t k = 0; k < n; k++) {
    quoted = quoted != (line[k] == '"');
    if (line[k] == '#' && !quoted)
      return k;
  }
  return n;
}

static void put_line(page *p, uint32_t file, uint32_t number, const char *text, size_t n,
                     const line_use *l) {
  const char *id = neo_arena_printf(p->a, "f%u-%u", file, number);
  size_t code = comment_of(text, n);
  neoc_html_open(p->out, "span", "class", "line", "id", id, "data-g", numbers(p, l), NULL);
  put_use(p, l);
  neoc_html_leaf(p->out, "a", neo_arena_printf(p->a, "%u", number), "class", "n", "href",
                 neo_arena_printf(p->a, "#%s", id), NULL);
  neoc_html_open(p->out, "code", NULL);
  neoc_html_textn(p->out, text, code);
  if (code < n) {
    neoc_html_open(p->out, "i", NULL);
    neoc_html_textn(p->out, text + code, n - code);
    neoc_html_close(p->out, "i");
  }
  neo_str_add(p->out, "</code></span>\n");
}

static void put_file(page *p, uint32_t file, const file_use *u) {
  size_t n;
  const char *text = neo_sources_text(p->c->sources, file, &n);
  neoc_html_open(p->out, "div", "class", "text", NULL);
  for (uint32_t k = 1; k <= u->n; k++) {
    const char *end = n ? memchr(text, '\n', n) : NULL;
    size_t length = end ? (size_t)(end - text) : n;
    bool cr = length && text[length - 1] == '\r';
    put_line(p, file, k, text, length - cr, &u->line[k]);
    length += end != NULL;
    text += length;
    n -= length;
  }
  neo_str_add(p->out, "</div>\n");
}

void page_put_source(page *p) {
  neoc_html_open(p->out, "aside", "id", "source", NULL);
  neoc_html_leaf(p->out, "p",
                 neo_arena_printf(p->a, "Shares are of the %s time of %s, calls included.",
                                  page_is_measured(p, p->entry) ? "measured" : "model's",
                                  p->entry->name),
                 "class", "note", NULL);
  for (uint32_t f = 0; f < neo_sources_count(p->c->sources); f++) {
    file_use u = use_of(p, f);
    if (f && !u.used)
      continue;
    neoc_html_open(p->out, "details", "open", f ? NULL : "open", NULL);
    neoc_html_leaf(p->out, "summary", neo_path_name(neo_sources_name(p->c->sources, f)), NULL);
    put_file(p, f, &u);
    neo_str_add(p->out, "</details>\n");
  }
  neo_str_add(p->out, "</aside>\n");
}
