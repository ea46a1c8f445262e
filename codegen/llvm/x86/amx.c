/* Tile registers: AMX instructions, or plain code with the same meaning for targets of tests.
 *
 * All eight registers have one shape, 16 rows of 64 bytes, so that the configuration is a constant.
 * A unit of work loads the configuration at its start and releases it at its end: between units
 * a worker has no tile state that the system would have to save, and no unit depends on earlier
 * code. The instructions take their registers as immediates, and have no attributes in LLVM: it
 * keeps their order with all other memory accesses.
 *
 * A kernel with tiles is compiled for the target's features and those of the unit; the others are
 * not. */
#include "codegen/llvm/gen.h"
#include "schedule/schedule.h"
#include <assert.h>

enum {
  TILE_BYTES = NEO_TILE_ROWS * NEO_TILE_CELLS * 4,
  ROW_BYTES = NEO_TILE_CELLS * 4,
  CONFIG_BYTES = 64
};

static LLVMTypeRef i8_type(neo_llvm *l) {
  return LLVMInt8TypeInContext(l->ctx);
}
static LLVMValueRef offset_by(neo_llvm *l, LLVMValueRef p, LLVMValueRef bytes) {
  return LLVMBuildInBoundsGEP2(l->b, i8_type(l), p, &bytes, 1, "");
}

/* ---- as instructions */

/* Palette 1; bytes of a row at 16, two bytes each; rows at 48. */
static LLVMValueRef configuration(neo_llvm *l) {
  char bytes[CONFIG_BYTES] = {1};
  LLVMValueRef old = LLVMGetNamedGlobal(l->mod, "tile.shapes");
  if (old)
    return old;
  for (int t = 0; t < NEO_TILE_COUNT; t++) {
    bytes[16 + 2 * t] = ROW_BYTES;
    bytes[48 + t] = NEO_TILE_ROWS;
  }
  LLVMValueRef text = LLVMConstStringInContext2(l->ctx, bytes, sizeof bytes, true);
  LLVMValueRef global = LLVMAddGlobal(l->mod, LLVMTypeOf(text), "tile.shapes");
  LLVMSetInitializer(global, text);
  LLVMSetGlobalConstant(global, true);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  LLVMSetAlignment(global, CONFIG_BYTES);
  return global;
}

static LLVMValueRef number(neo_llvm *l, uint8_t tile) {
  return LLVMConstInt(i8_type(l), tile, false);
}

static void instruction(neo_ll_gen *g, const neo_ls *s, LLVMValueRef at, LLVMValueRef pitch) {
  static const char *const names[] = {[NEO_TILE_ZERO] = "llvm.x86.tilezero",
                                      [NEO_TILE_LOAD] = "llvm.x86.tileloadd64",
                                      [NEO_TILE_STORE] = "llvm.x86.tilestored64",
                                      [NEO_TILE_DOT] = "llvm.x86.tdpbf16ps"};
  LLVMValueRef arg[3];
  unsigned n = 0;
  for (; n < neo_tile_rows[s->tile.op].registers; n++)
    arg[n] = number(g->l, s->tile.reg[n]);
  if (at) {
    arg[n++] = at;
    arg[n++] = pitch;
  }
  neo_ll_call(g->l, names[s->tile.op], NULL, arg, n);
}

/* ---- plain code: registers are 64-byte rows on the stack */

static LLVMValueRef vector_at(neo_llvm *l, LLVMValueRef p, bool floats) {
  LLVMTypeRef t =
      floats ? neo_ll_float_type(l, 32, NEO_TILE_CELLS) : neo_ll_int_type(l, 32, NEO_TILE_CELLS);
  LLVMValueRef v = LLVMBuildLoad2(l->b, t, p, "");
  LLVMSetAlignment(v, 4);
  return v;
}

static void put_vector(neo_llvm *l, LLVMValueRef v, LLVMValueRef p) {
  LLVMSetAlignment(LLVMBuildStore(l->b, v, p), 4);
}

static LLVMValueRef product(neo_llvm *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef sum) {
  LLVMValueRef arg[] = {neo_ll_splat(l, a, NEO_TILE_CELLS), b, sum};
  return neo_ll_flushed(l, neo_ll_call(l, "llvm.fma", LLVMTypeOf(sum), arg, 3));
}

typedef struct {
  LLVMBasicBlockRef body, from;
  LLVMValueRef at; /* 0, 64 ... up to the length of a tile or row */
} counter;

static counter begin_counter(neo_llvm *l, LLVMValueRef fn) {
  counter c = {.from = LLVMGetInsertBlock(l->b)};
  c.body = LLVMAppendBasicBlockInContext(l->ctx, fn, "");
  LLVMBuildBr(l->b, c.body);
  LLVMPositionBuilderAtEnd(l->b, c.body);
  c.at = LLVMBuildPhi(l->b, neo_ll_i64(l), "");
  LLVMValueRef zero = neo_ll_int64(l, 0);
  LLVMAddIncoming(c.at, &zero, &c.from, 1);
  return c;
}

static void end_counter(neo_llvm *l, LLVMValueRef fn, const counter *c, int64_t step, int64_t end) {
  LLVMBasicBlockRef last = LLVMGetInsertBlock(l->b);
  LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(l->ctx, fn, "");
  LLVMValueRef next = LLVMBuildAdd(l->b, c->at, neo_ll_int64(l, step), "");
  LLVMAddIncoming(c->at, &next, &last, 1);
  LLVMBuildCondBr(l->b, LLVMBuildICmp(l->b, LLVMIntULT, next, neo_ll_int64(l, end), ""), c->body,
                  after);
  LLVMPositionBuilderAtEnd(l->b, after);
}

/* Both sums of a row, over the pairs of the row of a. */
static LLVMValueRef row_sum(neo_llvm *l, LLVMValueRef fn, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef floats = neo_ll_float_type(l, 32, NEO_TILE_CELLS);
  counter k = begin_counter(l, fn);
  LLVMValueRef sum[2], next[2], zero = neo_ll_float(floats, 0);
  for (int i = 0; i < 2; i++) {
    sum[i] = LLVMBuildPhi(l->b, floats, "");
    LLVMAddIncoming(sum[i], &zero, &k.from, 1);
  }
  LLVMValueRef pair = LLVMBuildLoad2(l->b, neo_ll_i32(l), offset_by(l, a, k.at), "");
  LLVMValueRef far = LLVMBuildMul(l->b, k.at, neo_ll_int64(l, NEO_TILE_CELLS), "");
  LLVMValueRef pairs = vector_at(l, offset_by(l, b, far), false);
  for (int i = 0; i < 2; i++)
    next[i] = product(l, neo_ll_half(l, pair, i), neo_ll_half(l, pairs, i), sum[i]);
  for (int i = 0; i < 2; i++) {
    LLVMBasicBlockRef last = LLVMGetInsertBlock(l->b);
    LLVMAddIncoming(sum[i], &next[i], &last, 1);
  }
  end_counter(l, fn, &k, 4, ROW_BYTES);
  return neo_ll_flushed(l, LLVMBuildFAdd(l->b, next[0], next[1], ""));
}

/* void(c, a, b), one for the module. */
static LLVMValueRef plain_dot(neo_llvm *l, LLVMTypeRef *type) {
  LLVMTypeRef ptr = neo_ll_ptr_type(l), params[] = {ptr, ptr, ptr};
  *type = LLVMFunctionType(LLVMVoidTypeInContext(l->ctx), params, 3, false);
  LLVMValueRef fn = LLVMGetNamedFunction(l->mod, "tile.dot");
  if (fn)
    return fn;
  LLVMBasicBlockRef back = LLVMGetInsertBlock(l->b);
  fn = neo_ll_function(l, "tile.dot", *type, false);
  LLVMSetVisibility(fn, LLVMDefaultVisibility);
  LLVMSetLinkage(fn, LLVMInternalLinkage);
  LLVMPositionBuilderAtEnd(l->b, LLVMAppendBasicBlockInContext(l->ctx, fn, "entry"));
  counter m = begin_counter(l, fn);
  LLVMValueRef sum = row_sum(l, fn, offset_by(l, LLVMGetParam(fn, 1), m.at), LLVMGetParam(fn, 2));
  LLVMValueRef c = offset_by(l, LLVMGetParam(fn, 0), m.at);
  LLVMValueRef before = neo_ll_flushed(l, vector_at(l, c, true));
  put_vector(l, neo_ll_flushed(l, LLVMBuildFAdd(l->b, before, sum, "")), c);
  end_counter(l, fn, &m, ROW_BYTES, TILE_BYTES);
  LLVMBuildRetVoid(l->b);
  LLVMPositionBuilderAtEnd(l->b, back);
  return fn;
}

static LLVMValueRef plain_tile(neo_ll_gen *g, uint8_t tile) {
  return offset_by(g->l, g->tile_state, neo_ll_int64(g->l, (int64_t)tile * TILE_BYTES));
}

static void plain_move(neo_ll_gen *g, const neo_ls *s, LLVMValueRef at) {
  neo_llvm *l = g->l;
  bool to_memory = s->tile.op == NEO_TILE_STORE;
  for (int64_t m = 0; m < NEO_TILE_ROWS; m++) {
    LLVMValueRef row = offset_by(l, plain_tile(g, s->tile.reg[0]), neo_ll_int64(l, m * ROW_BYTES));
    LLVMValueRef out = at ? offset_by(l, at, neo_ll_int64(l, m * s->tile.pitch * 4)) : NULL;
    LLVMValueRef zero = LLVMConstNull(neo_ll_int_type(l, 32, NEO_TILE_CELLS));
    LLVMValueRef v = at ? vector_at(l, to_memory ? row : out, false) : zero;
    put_vector(l, v, to_memory ? out : row);
  }
}

static void plain(neo_ll_gen *g, const neo_ls *s, LLVMValueRef at) {
  if (s->tile.op != NEO_TILE_DOT) {
    plain_move(g, s, at);
    return;
  }
  LLVMTypeRef type;
  LLVMValueRef fn = plain_dot(g->l, &type), arg[3];
  for (int k = 0; k < 3; k++)
    arg[k] = plain_tile(g, s->tile.reg[k]);
  LLVMBuildCall2(g->l->b, type, fn, arg, 3, "");
}

/* ---- from outside */

void neo_ll_tiles_declare(neo_ll_gen *g) {
  neo_llvm *l = g->l;
  assert(neo_target_pairs(&l->target) == NEO_PAIRS_TILES && "tiles are a matrix unit's");
  if (l->target.matrix == NEO_MATRIX_AMX) {
    const char *features = neo_arena_printf(l->arena, "%s,+amx-tile,+amx-bf16", l->target.features);
    neo_ll_text_attribute(l, g->fn, "target-features", features);
    return;
  }
  LLVMTypeRef all = LLVMArrayType2(i8_type(l), NEO_TILE_COUNT * TILE_BYTES);
  g->tile_state = neo_ll_alloca(g, all, ROW_BYTES, "tiles");
}

void neo_ll_tiles_begin(neo_ll_gen *g) {
  LLVMValueRef shapes;
  if (!g->tiles || g->l->target.matrix != NEO_MATRIX_AMX)
    return;
  shapes = configuration(g->l);
  neo_ll_call(g->l, "llvm.x86.ldtilecfg", NULL, &shapes, 1);
}

void neo_ll_tiles_end(neo_ll_gen *g) {
  if (g->tiles && g->l->target.matrix == NEO_MATRIX_AMX)
    neo_ll_call(g->l, "llvm.x86.tilerelease", NULL, NULL, 0);
}

void neo_ll_tile(neo_ll_gen *g, const neo_ls *s) {
  neo_llvm *l = g->l;
  LLVMValueRef at = NULL;
  if (neo_tile_rows[s->tile.op].memory) {
    LLVMValueRef offset = neo_ll_expr(g, s->tile.element.offset).v;
    LLVMTypeRef cell = neo_ll_i32(l);
    at =
        LLVMBuildInBoundsGEP2(l->b, cell, neo_ll_buf_value(g, s->tile.element.buf), &offset, 1, "");
  }
  if (l->target.matrix == NEO_MATRIX_AMX)
    instruction(g, s, at, neo_ll_int64(l, s->tile.pitch * 4));
  else
    plain(g, s, at);
}
