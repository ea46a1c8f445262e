/* Texts for a caller of libneo, who frees them with neo_messages_free. */
#include "tools/library/build.h"
#include <stdlib.h>
#include <string.h>

/* Given out where there is no memory for a message; never written to. */
static const char no_memory[] = "out of memory\n";

char *neo_text_no_memory(void) {
  return (char *)(uintptr_t)no_memory;
}

char *neo_text_take(const char *text, size_t n) {
  char *copy = malloc(n + 1);
  if (!copy)
    return neo_text_no_memory();
  memcpy(copy, text, n);
  copy[n] = 0;
  return copy;
}

void neo_messages_free(char *messages) {
  if (messages != no_memory)
    free(messages);
}

void neo_text_of(const neo_compilation *c, neo_status s, bool json, neo_str *out) {
  if (json && c->diags)
    neo_diags_print_json(c->diags, out);
  else if (c->diags)
    neo_diags_print(c->diags, out, false);
  if (s && c->why && !json)
    neo_str_addf(out, "neo: %s\n", c->why);
}
