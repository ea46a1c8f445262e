/* Private to tests/embed: models compiled, loaded and run in one process, by the public headers
 * alone. */
#ifndef NEO_TESTS_EMBED_H
#define NEO_TESTS_EMBED_H
#include "include/neo/neo.h"
#include "include/neo/neo_rt.h"
#include <stdio.h>
#include <stdlib.h>

/* As an assert that any thread may fail; cmocka's jump. */
#define CHECK(x)                                                            \
  do {                                                                      \
    if (!(x)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #x); \
      abort();                                                              \
    }                                                                       \
  } while (0)

typedef struct {
  neo_build *build;
  neo_code *code;
  neo_rt_ctx *ctx; /* of one thread, with seed 7 */
} embed_model;

neo_request embed_request(const char *text);
embed_model embed_load(const neo_request *r);
void embed_free(embed_model *m);
/* The arguments of an entry, in the order of the header. */
void embed_call(const embed_model *m, const char *entry, const int64_t *sizes, void *const *args);

#endif
