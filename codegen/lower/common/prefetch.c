/* Prefetches of the next row's elements while the current row is computed. */
#include "codegen/lower/common/scope.h"

void neo_lower_prefetch_row(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *at,
                            int64_t n) {
  uint32_t axis = (uint32_t)(l->f->axes.n + s->axes.n - 1);
  for (uint32_t k = 0; k < l->n_row_prefetches; k++) {
    const row_prefetch *x = &l->row_prefetches[k];
    uint64_t buf = 0;
    if (s != &l->f->stages.at[x->stage])
      continue;
    neo_map_get(&l->buf_of, x->tensor.i, &buf);
    for (int64_t i = 0; i < n;
         i += l->line_bytes / neo_type_bytes(neo_tensor_type(l->m, x->tensor))) {
      neo_lower_set_axis(l, axis, lx_add(l, at, lx_int(l, i)), l->depth);
      const neo_lx *next = lx_add(l, neo_lower_expr(l, x->offset), lx_int(l, x->step));
      neo_ls_prefetch(l->k, in, (uint32_t)buf, next, true);
    }
  }
  neo_lower_forget(l);
}
