/* Declarations that the printer shares with the parser of the tests
 * (tests/codegen/loop_parse.h). */
#pragma once

/* Reserved words, besides those of operators and types; the last is null. */
extern const char *const neo_loop_words[];
