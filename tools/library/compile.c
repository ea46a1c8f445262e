/* The part of the public API (include/neo/neo.h) that writes files. */
#include "tools/library/build.h"
#include "tools/library/mode.h"
#include <string.h>

const char *neo_version(void) {
  return NEO_VERSION;
}

static neo_status run(const neo_request *given, bool emit, char **messages) {
  neo_arena a;
  neo_request request;
  jmp_buf out_of_memory;
  neo_compile_options o;
  neo_compilation c;
  neo_arena_init(&a, neo_alloc_default, &out_of_memory);
  memset(&c, 0, sizeof c);
  if (setjmp(out_of_memory)) {
    neo_compilation_free(&c);
    neo_arena_free(&a);
    *messages = neo_text_no_memory();
    return NEO_MEMORY;
  }
  const char *wrong = neo_request_copy(given, &request);
  neo_status s = wrong ? NEO_ARGUMENT : neo_request_read(&a, &request, "so,h", &o, &wrong);
  if (!s && o.emit & NEO_EMIT_CODE) {
    wrong = "code is made in memory: neo_build_make";
    s = NEO_ARGUMENT;
  }
  if (s) {
    *messages = neo_text_take(wrong, strlen(wrong));
    neo_arena_free(&a);
    return s;
  }
  neo_compilation_init(&c, &o);
  s = emit ? neo_compile_all(&c) : neo_compile_front(&c);
  if (!s && !emit)
    s = neo_compile_passes(&c);
  neo_str text = neo_str_in(&a);
  neo_text_of(&c, s, request.json != 0, &text);
  *messages = neo_text_take(neo_str_text(&text), text.n);
  neo_compilation_free(&c);
  neo_arena_free(&a);
  return s;
}

static int32_t run_with(const neo_request *r, bool emit, char **messages) {
  char *text = NULL;
  neo_mode before = neo_mode_enter(); /* constants are folded in it */
  neo_status s = run(r, emit, &text);
  neo_mode_leave(&before);
  if (messages)
    *messages = text;
  else
    neo_messages_free(text);
  return (int32_t)s;
}

int32_t neo_compile(const neo_request *request, char **messages) {
  return run_with(request, true, messages);
}

int32_t neo_check(const neo_request *request, char **messages) {
  return run_with(request, false, messages);
}
