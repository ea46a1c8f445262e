/* The version of LLVM that runs. */
#include "tools/pipeline/compile.h"
#include <llvm-c/Core.h>

const void *neo_llvm_place(void) {
  return (const void *)(uintptr_t)LLVMGetVersion;
}

const char *neo_llvm_version_text(neo_arena *a) {
  unsigned major, minor, patch;
  LLVMGetVersion(&major, &minor, &patch);
  return neo_arena_printf(a, "%u.%u.%u", major, minor, patch);
}
