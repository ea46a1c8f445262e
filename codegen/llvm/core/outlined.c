/* Objects of shared functions that are in modules of their own (neo_llvm_outline_shared). */
#include "codegen/llvm/gen.h"

neo_status neo_llvm_take_outlined(neo_llvm *l, size_t k, neo_arena *a, const char **data, size_t *n,
                               const char **why) {
  LLVMModuleRef mod = l->mod;
  bool checked = l->checked;
  l->mod = l->shared.at[k].mod;
  l->checked = false;
  neo_status s = neo_llvm_finish(l, why);
  if (!s)
    s = neo_llvm_take_object(l, a, data, n, why);
  l->mod = mod;
  l->checked = checked;
  return s;
}
