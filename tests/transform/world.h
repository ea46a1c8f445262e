/* Modules for tests of passes: text, the pass, text. */
#ifndef NEO_TESTS_TRANSFORM_WORLD_H
#define NEO_TESTS_TRANSFORM_WORLD_H
#include "ir/interp/interp.h"
#include "ir/ir.h"
#include "transform/transform.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

typedef struct {
  neo_arena arena;
  neo_module *m;
  neo_pass_target target; /* a processor, unless a test says otherwise */
} world;

/* Text that does not parse fails the test. */
void load(world *w, const char *text);
void load_two(world *w, const char *head, const char *rest);
/* Runs a pass; what does not verify afterwards fails the test. Reads of a text that are not shown
 * to be inside of their tensors need not be afterwards. */
void apply(world *w, neo_pass_fn *pass);
/* Checks the result of a pass for a text: `parts` and `whole` are in it. Null parts: there is no
 * tensor part.*. */
void becomes_by(neo_pass_fn *pass, const char *head, const char *rest, const char *parts,
                const char *whole);
/* The whole module; piece k of a tensor. */
const char *text_of(world *w);
const char *piece(world *w, const char *tensor, uint32_t k);
/* The module's values; its one run-time size, if it has one, is `size`. Inputs are drawn in the
 * same way each time: floats are multiples of 1/4 in [-1, 1], so that short sums and products are
 * exact in any order, integers lie below their bounds. */
neo_interp *values_of(world *w, int64_t size);

#endif
