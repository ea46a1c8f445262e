/* See align.h. */
#include "codegen/align.h"
#include "fusion/form.h"
#include "schedule/vector_access.h"

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

void neo_kernel_align(neo_module *m, const neo_group *g, neo_kernel *k) {
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
