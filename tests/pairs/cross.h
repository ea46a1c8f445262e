/* Programs as machine code of another processor: each becomes an object; many of them, with a
 * runtime that is compiled for that processor, become one executable, which qemu runs
 * (cross/run.c).
 *
 *   if (pairs_cross_can() && !pairs_cross_begin(source_folder, folder)) {
 *     pairs_cross_run(arena, folder, cases, n);              // as often as wanted
 *     pairs_cross_end(folder);
 *   } */
#ifndef NEO_TESTS_PAIRS_CROSS_H
#define NEO_TESTS_PAIRS_CROSS_H
#include "tests/pairs/machine.h"

typedef struct {
  const pairs_reference *reference;
  pairs_how how; /* its target is aarch64 */
  pairs_run run; /* what came of it */
} pairs_cross_case;

enum { PAIRS_FOLDER_BYTES = 32 };

/* Are the compiler for aarch64 and qemu there? */
bool pairs_cross_can(void);
/* Compiles the runtime of these sources for aarch64 into a new folder, whose name it writes. After
 * a failure what the compiler said is on stderr. */
neo_status pairs_cross_begin(const char *sources, char *folder) NEO_MUST_CHECK;
void pairs_cross_run(neo_arena *a, const char *folder, pairs_cross_case *cases, size_t n);
void pairs_cross_end(const char *folder);

#endif
