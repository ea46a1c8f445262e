/* See make.h. */
#include "codegen/make.h"
#include "codegen/guard.h"
#include "codegen/loop/protocol.h"
#include "codegen/lower/lower.h"
#include "fusion/form.h"
#include "schedule/vector_access.h"

/* ---- alignment: tensors on a GPU begin at multiples of 16 bytes, and so do buffers whose forms
 * begin at the tensor's first element (schedule/vector_access.h), so that neighbouring elements
 * can be read together */

/* Sets the alignment of the buffer that an asynchronous copy of several elements reads: schedules
 * have such copies only for buffers that begin at a multiple of 16 bytes
 * (schedule/vector_access.h). */
static void align_copied(void *kernel, neo_ls *s) {
  neo_kernel *k = kernel;
  if (s->kind != NEO_LS_COPY)
    return;
  neo_kbuf *from = &k->bufs.at[s->copy.from.buf];
  uint32_t bytes = (uint32_t)s->copy.elements * neo_type_bytes((neo_type)from->type);
  from->align = from->align < bytes ? bytes : from->align;
}

/* Sets the alignment of the kernel's buffers that vector accesses and asynchronous copies need. */
static void align(neo_module *m, const neo_group *g, neo_kernel *k) {
  const neo_form *f = neo_group_form(m, g);
  for (size_t b = 0; b < k->bufs.n; b++) {
    neo_kbuf *buf = &k->bufs.at[b];
    if (!(buf->use & NEO_BUF_SCRATCH) && neo_vector_tensor(m, f, buf->tensor))
      buf->align = NEO_VECTOR_BYTES;
  }
  neo_block_visit(&k->body, align_copied, k);
}

static bool starts_match(neo_module *m, const neo_group *a, const neo_group *b, neo_tensor x,
                         neo_tensor y) {
  return neo_vector_start(m, neo_group_form(m, a), x) ==
         neo_vector_start(m, neo_group_form(m, b), y);
}

bool neo_align_matches(neo_module *m, const neo_group *a, const neo_group *b) {
  bool same = a->reads.n == b->reads.n && a->roots.n == b->roots.n;
  for (size_t k = 0; same && k < a->reads.n; k++)
    same = starts_match(m, a, b, a->reads.at[k], b->reads.at[k]);
  for (size_t k = 0; same && k < a->roots.n; k++)
    same = starts_match(m, a, b, a->roots.at[k], b->roots.at[k]);
  return same;
}

/* ---- kernels */

neo_status neo_kernel_make(neo_module *m, const neo_group *g, const neo_schedule *s,
                           const neo_machine *machine, neo_arena *a, neo_kernel **out,
                           neo_str *why) {
  neo_status status = neo_lower(m, g, s, machine, a, out, why);
  if (!status && machine->gpu)
    align(m, g, *out);
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
