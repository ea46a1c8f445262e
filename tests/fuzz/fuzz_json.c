/* Any bytes: parsed or refused; what parses prints and parses again to the same text. */
#include "base/json.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  neo_json *j, *again;
  if (neo_json_parse((const char *)data, n, &j) != NEO_OK)
    return 0;
  char *text = neo_json_print(j);
  assert(text && "memory does not run out here");
  neo_status status = neo_json_parse(text, strlen(text), &again);
  assert(status == NEO_OK);
  char *same = neo_json_print(again);
  assert(strcmp(text, same) == 0);
  free(text);
  free(same);
  neo_json_free(j);
  neo_json_free(again);
  return 0;
}
