/* Handles the end of memory inside of a library. The compiler's own code returns NEO_MEMORY
 * (base/arena.h); LLVM, C++ and GMP (isl's numbers) would abort. */
#pragma once

/* From now on such an end prints a sentence on stderr and exits with NEOC_DEVICE. For a process
 * whose parent removes its temporary files (guard.c). */
void neoc_memory_guard(void);
