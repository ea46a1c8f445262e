/* See make.h. */
#include "codegen/make.h"
#include "codegen/align.h"
#include "codegen/guard.h"
#include "codegen/loop/protocol.h"
#include "codegen/lower/lower.h"

neo_status neo_kernel_make(neo_module *m, const neo_group *g, const neo_schedule *s,
                           const neo_machine *machine, neo_arena *a, neo_kernel **out,
                           neo_str *why) {
  neo_status status = neo_lower(m, g, s, machine, a, out, why);
  if (!status && machine->gpu)
    neo_kernel_align(m, g, *out);
  if (!status)
    neo_kernel_guard(m, *out, g);
  if (!status)
    status = neo_kernel_verify(*out, why);
  if (!status && machine->gpu)
    status = neo_kernel_check_protocol(*out, why);
  return status;
}

void neo_kernel_launch(const neo_kernel *k, int32_t *block, int32_t *units) {
  enum { USUAL = 128 };
  int64_t threads = neo_kernel_block_threads(k);
  *block = threads ? (int32_t)threads : USUAL;
  *units = threads ? 1 : USUAL;
}
