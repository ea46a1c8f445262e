/* Notes in a compilation whether it is within LLVM. */
#include "tools/pipeline/emit.h"

void neo_emit_enter(neo_compilation *c) {
  neo_llvm_enter();
  c->in_llvm = true;
}

void neo_emit_leave(neo_compilation *c) {
  if (c->in_llvm)
    neo_llvm_leave();
  c->in_llvm = false;
}
