/* Loads builds as code of this process. The record names functions of libneort: they are bound to
 * this library's own, by the table below, so that other libraries in the process do not matter. */
#include "codegen/llvm/jit.h"
#include "include/neo/neo_graph.h"
#include "include/neo/neo_net.h"
#include "include/neo/neo_rt.h"
#include "tools/library/build.h"
#include <stdlib.h>
#include <string.h>

static const neo_jit_symbol runtime_symbols[] = {
#define X(symbol) {#symbol, (neo_jit_fn *)symbol},
#include "generated/neo_rt_symbols.def" /* made of the headers by cmake/NeoTools.cmake */
#undef X
};

struct neo_code {
  neo_arena arena;
  jmp_buf on_fail;
  neo_jit *jit;
  const neo_rt_model *model;
};

static neo_status link(neo_code *c, const neo_build *b, const char **why) {
  size_t n;
  const void *object = neo_build_output(b, "code", &n), *model;
  if (!object)
    object = neo_build_output(b, "o", &n);
  *why = "the build has no object: its request asked neither for \"code\" nor for \"o\"";
  if (!object)
    return NEO_STATE;
  const char *symbol = neo_arena_printf(&c->arena, "%s_model", b->prefix);
  neo_status s =
      neo_jit_load(&c->arena, object, n, runtime_symbols,
                   sizeof runtime_symbols / sizeof *runtime_symbols, symbol, &c->jit, &model, why);
  c->model = s ? NULL : model;
  return s;
}

static neo_status load(neo_code *c, const neo_build *b, char **message) {
  const char *why = "";
  if (setjmp(c->on_fail)) {
    *message = neo_text_no_memory();
    return NEO_MEMORY;
  }
  neo_status s = link(c, b, &why);
  if (s)
    *message = neo_text_take(why, strlen(why));
  return s;
}

int32_t neo_code_load(const neo_build *build, neo_code **out, char **message) {
  neo_code *c = calloc(1, sizeof *c);
  char *text = NULL;
  neo_status s = NEO_MEMORY;
  *out = NULL;
  if (c) {
    neo_arena_init(&c->arena, neo_alloc_default, &c->on_fail);
    s = load(c, build, &text);
  }
  if (s)
    neo_code_free(c);
  else
    *out = c;
  if (message)
    *message = text;
  else
    neo_messages_free(text);
  return (int32_t)s;
}

const neo_rt_model *neo_code_model(const neo_code *c) {
  return c->model;
}

void neo_code_free(neo_code *c) {
  if (!c)
    return;
  neo_jit_free(c->jit);
  neo_arena_free(&c->arena);
  free(c);
}
