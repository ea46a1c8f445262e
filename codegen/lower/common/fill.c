/* Fills a range of a buffer with one value: a few vectors at a time, then single vectors, the last
 * one masked. */
#include "codegen/lower/common/scope.h"

enum { VECTOR_BYTES = 64, VECTORS = 4 };

static void fill(lowering *l, neo_block *in, uint32_t buf, const neo_lx *from, const neo_lx *to,
                 int64_t vectors, const neo_lx *end, const neo_lx *value) {
  neo_kernel *k = l->k;
  neo_type type = (neo_type)k->bufs.at[buf].type;
  int64_t width = VECTOR_BYTES / neo_type_bytes(type);
  const neo_lx *v;
  neo_block *body = neo_lower_open(l, in, "n", from, to, vectors * width, &v);
  if (vectors > 1) {
    uint32_t part = neo_kernel_var(k, "v");
    body =
        &neo_ls_for(k, body, NEO_LOOP_UNROLL, part, lx_int(l, 0), lx_int(l, vectors), 1)->loop.body;
    v = lx_add(l, v, lx_mul(l, neo_lx_var(k, part), width));
  }
  uint32_t lane = neo_kernel_var(k, "l");
  body = &neo_ls_for(k, body, NEO_LOOP_VECTOR, lane, lx_int(l, 0), lx_int(l, width), 1)->loop.body;
  v = lx_add(l, v, neo_lx_var(k, lane));
  neo_ls_store(k, body, buf, v, value, end ? neo_lx_op2(k, NEO_OP_LT, v, end) : NULL);
  neo_lower_close(l);
}

void neo_lower_fill(lowering *l, neo_block *in, uint32_t buf, const neo_lx *from, const neo_lx *to,
                    const neo_lx *value) {
  int64_t width = VECTOR_BYTES / neo_type_bytes((neo_type)l->k->bufs.at[buf].type);
  const neo_lx *some = neo_lower_floor_to_multiple(l, from, to, VECTORS * width);
  fill(l, in, buf, from, some, VECTORS, NULL, value);
  fill(l, in, buf, some, to, 1, to, value);
}
