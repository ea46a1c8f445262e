/* Builds: results of compilations, in memory. Everything of a build is in its arena. */
#include "tools/library/build.h"
#include "tools/library/mode.h"
#include "tools/pipeline/emit.h"
#include <stdlib.h>
#include <string.h>

/* ---- making */

static neo_status read_request(neo_build *b, const neo_request *given, neo_compile_options *o,
                               const char **wrong) {
  neo_request r;
  *wrong = neo_request_copy(given, &r);
  neo_status s = *wrong ? NEO_ARGUMENT : neo_request_read(&b->arena, &r, "code", o, wrong);
  if (!s && o->emit & (NEO_EMIT_SO | NEO_EMIT_A)) {
    *wrong = "so and a are files: neo_compile writes them";
    return NEO_ARGUMENT;
  }
  o->in_memory = true;
  if (!s)
    neo_request_keep(&b->arena, &r, &b->request);
  return s;
}

/* Takes the text that was read from the model's file into the request. */
static void take_text(neo_build *b, const neo_compilation *c) {
  b->beside_file = !c->options.no_folder;
  if (b->request.text || !c->sources || !neo_sources_count(c->sources))
    return;
  const char *text = neo_sources_text(c->sources, 0, &b->request.text_bytes);
  b->request.text = neo_arena_strndup(&b->arena, text, b->request.text_bytes);
}

static void take_outputs(neo_build *b, const neo_compilation *c) {
  for (size_t k = 0; k < c->outputs.n; k++) {
    const neo_output *o = &c->outputs.at[k];
    neo_build_part p = {neo_emit_kind_of(o->kind)->name, NULL, o->size_bytes};
    p.data = neo_arena_strndup(&b->arena, o->data, o->size_bytes);
    NEO_PUSH(&b->arena, &b->parts, p);
  }
}

static void take(neo_build *b, const neo_compilation *c, bool json) {
  neo_str text = neo_str_in(&b->arena);
  neo_text_of(c, b->status, json, &text);
  b->messages = neo_str_text(&text);
  if (b->status && c->why)
    b->failure = neo_arena_strdup(&b->arena, c->why);
  if (c->diags)
    b->diagnostics = neo_diagnostics_copy(&b->arena, c->diags, &b->n_diagnostics);
  take_text(b, c);
  if (c->plan)
    b->source_hash = neo_arena_strdup(&b->arena, c->plan->source_hash);
  if (c->prefix)
    b->prefix = neo_arena_strdup(&b->arena, c->prefix);
  if (!b->status)
    take_outputs(b, c);
}

void neo_build_fail(neo_build *b, neo_status s, const char *why) {
  b->status = s;
  b->failure = why;
  b->messages = neo_arena_printf(&b->arena, "neo: %s\n", why);
}

static bool make(neo_build *b, const neo_request *given) {
  neo_compile_options o;
  neo_compilation c;
  const char *wrong;
  memset(&c, 0, sizeof c);
  if (setjmp(b->on_fail)) {
    neo_compilation_free(&c);
    return false;
  }
  neo_status s = read_request(b, given, &o, &wrong);
  if (s) {
    neo_build_fail(b, s, wrong);
    return true;
  }
  neo_compilation_init(&c, &o);
  b->status = neo_compile_all(&c);
  take(b, &c, b->request.json != 0);
  neo_compilation_free(&c);
  return true;
}

int32_t neo_build_by(bool (*made)(neo_build *, const neo_request *), const neo_request *request,
                     neo_build **out) {
  neo_mode before = neo_mode_enter(); /* constants are folded in it */
  neo_build *b = calloc(1, sizeof *b);
  *out = NULL;
  if (b) {
    neo_arena_init(&b->arena, neo_alloc_default, &b->on_fail);
    if (made(b, request))
      *out = b;
    else
      neo_build_free(b);
  }
  neo_mode_leave(&before);
  return *out ? (int32_t)(*out)->status : NEO_MEMORY;
}

int32_t neo_build_make(const neo_request *request, neo_build **out) {
  return neo_build_by(make, request, out);
}

void neo_build_free(neo_build *b) {
  if (!b)
    return;
  neo_arena_free(&b->arena);
  free(b);
}

/* ---- reading */

int32_t neo_build_diagnostics(const neo_build *b, const neo_diagnostic **at) {
  *at = b->diagnostics;
  return b->n_diagnostics;
}

const char *neo_build_messages(const neo_build *b) {
  return b->messages;
}

const char *neo_build_failure(const neo_build *b) {
  return b->failure;
}

const void *neo_build_output(const neo_build *b, const char *kind, size_t *bytes) {
  for (size_t k = 0; k < b->parts.n; k++)
    if (neo_streq(b->parts.at[k].kind, kind)) {
      if (bytes)
        *bytes = b->parts.at[k].size_bytes;
      return b->parts.at[k].data;
    }
  if (bytes)
    *bytes = 0;
  return NULL;
}
