/* The way out where memory ends inside of a library. The compiler's own code returns NEO_MEMORY
 * (base/arena.h); LLVM, C++ and GMP, isl's numbers, would abort. */
#pragma once

/* From now on such an end is a sentence on stderr and the exit code NEOC_DEVICE. For a process
 * whose parent removes what it leaves (guard.c). */
void neoc_memory_guard(void);
