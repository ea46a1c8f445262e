/* The names of a text, as JSON. */
#include "base/file.h"
#include "frontend/syntax/parser.h"
#include "frontend/text_names.h"
#include "tools/library/build.h"
#include <errno.h>
#include <string.h>

static void add_rank(neo_str *s, int rank) {
  if (rank == NEO_RANK_UNKNOWN)
    neo_str_add(s, ", \"rank\": null");
  else
    neo_str_addf(s, ", \"rank\": %d", rank);
}

static const char *truth(bool x) {
  return x ? "true" : "false";
}

static void add_read(neo_str *s, const neo_name_read *r, const neo_sources *sources) {
  neo_place p = neo_span_place(sources, r->at);
  neo_str_add(s, "{\"name\": ");
  neo_str_add_json(s, r->name);
  add_rank(s, r->rank);
  neo_str_addf(s, ", \"line\": %u, \"column\": %u, \"callable\": %s", p.line, p.column,
               truth(r->callable));
  neo_str_addf(s, ", \"size\": %s, \"subscript\": %s}", truth(r->size), truth(r->subscript));
}

static void add_names(neo_str *s, const neo_text_names *n, const neo_sources *sources) {
  neo_str_add(s, "{\"reads\": [");
  for (size_t k = 0; k < n->reads.n; k++) {
    neo_str_add(s, k ? ", " : "");
    add_read(s, &n->reads.at[k], sources);
  }
  neo_str_add(s, "], \"defines\": [");
  for (size_t k = 0; k < n->definitions.n; k++) {
    neo_str_add(s, k ? ", {\"name\": " : "{\"name\": ");
    neo_str_add_json(s, n->definitions.at[k].name);
    add_rank(s, n->definitions.at[k].rank);
    neo_str_addf(s, ", \"read\": %s}", truth(n->definitions.at[k].read));
  }
  neo_str_add(s, "], \"declares\": [");
  for (size_t k = 0; k < n->declares.n; k++) {
    neo_str_add(s, k ? ", " : "");
    neo_str_add_json(s, n->declares.at[k]);
  }
  neo_str_add(s, "]}");
}

static bool read_text(neo_build *b, const neo_request *r, const char **text, size_t *n) {
  char *read;
  *text = r->text;
  *n = r->text_bytes;
  if (r->text)
    return true;
  neo_status s =
      neo_file_read(&neo_io_default, &b->arena, r->path, NEO_SOURCE_LIMIT_BYTES + 1, &read, n);
  if (s == NEO_FORMAT)
    neo_build_fail(b, NEO_INPUT,
                   neo_arena_printf(&b->arena, "%s: source is larger than 4 MiB", r->path));
  else if (s)
    neo_build_fail(b, s, neo_arena_printf(&b->arena, "%s: %s", r->path, strerror(errno)));
  *text = s ? NULL : read;
  return !s;
}

static void take_names(neo_build *b, const neo_request *r, const char *text, size_t n) {
  const char *path = neo_arena_strdup(&b->arena, r->path ? r->path : "model.expr");
  neo_sources *sources = neo_sources_new(&b->arena);
  neo_diags *diags = neo_diags_new(&b->arena, sources);
  neo_ast_file *file = neo_parse(&b->arena, neo_names_new(&b->arena), diags, path, text, n);
  neo_str names = neo_str_in(&b->arena);
  neo_str messages = neo_str_in(&b->arena);
  neo_diags_print(diags, &messages, false);
  b->messages = neo_str_text(&messages);
  b->diagnostics = neo_diagnostics_copy(&b->arena, diags, &b->n_diagnostics);
  b->status = neo_diags_errors(diags) ? NEO_INPUT : NEO_OK;
  if (b->status)
    return;
  add_names(&names, neo_text_names_of(&b->arena, file), sources);
  NEO_PUSH(&b->arena, &b->parts, (neo_build_part){"names", neo_str_text(&names), names.n});
}

/* Checks the request's options, so that those which no compilation accepts are reported here
 * already. */
static bool read_options(neo_build *b, const neo_request *r) {
  neo_compile_options o;
  const char *wrong = NULL;
  if (!r->options || !r->options[0])
    return true;
  neo_status s = neo_request_read(&b->arena, r, "", &o, &wrong);
  if (s)
    neo_build_fail(b, s, wrong);
  return !s;
}

static bool make(neo_build *b, const neo_request *given) {
  neo_request r;
  const char *text;
  size_t n;
  if (setjmp(b->on_fail))
    return false;
  const char *wrong = neo_request_copy(given, &r);
  if (wrong)
    neo_build_fail(b, NEO_ARGUMENT, wrong);
  else if (read_options(b, &r) && read_text(b, &r, &text, &n))
    take_names(b, &r, text, n);
  return true;
}

int32_t neo_build_names(const neo_request *request, neo_build **out) {
  return neo_build_by(make, request, out);
}
