#include "tests/embed/embed.h"
#include <string.h>

neo_request embed_request(const char *text) {
  return (neo_request){.struct_size = sizeof(neo_request),
                       .text = text,
                       .text_bytes = strlen(text),
                       .cache = "none"};
}

embed_model embed_load(const neo_request *r) {
  embed_model m = {0};
  char *message = NULL;
  int32_t s = neo_build_make(r, &m.build);
  if (s)
    fputs(neo_build_messages(m.build), stderr);
  CHECK(s == 0);
  s = neo_code_load(m.build, &m.code, &message);
  if (s)
    fputs(message, stderr);
  CHECK(s == 0 && !message);
  neo_rt_config config = {.struct_size = sizeof config, .threads = 1, .seed = 7};
  CHECK(neo_rt_create(neo_code_model(m.code), &config, &m.ctx) == 0);
  return m;
}

void embed_free(embed_model *m) {
  neo_rt_destroy(m->ctx);
  neo_code_free(m->code);
  neo_build_free(m->build);
}

void embed_call(const embed_model *m, const char *entry, const int64_t *sizes, void *const *args) {
  int32_t number = neo_rt_find_entry(neo_code_model(m->code), entry);
  int32_t s = neo_rt_call(m->ctx, number, sizes, args);
  if (s)
    fprintf(stderr, "%s\n", neo_rt_error(m->ctx));
  CHECK(s == 0);
}
