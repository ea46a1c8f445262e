/* What the files of the plan share. */
#ifndef NEO_CODEGEN_PLAN_INTERNAL_H
#define NEO_CODEGEN_PLAN_INTERNAL_H
#include "codegen/plan.h"

/* ---- plan_program.c: size expressions as programs of the runtime */
int32_t neo_plan_program(neo_plan *p, neo_expr e);        /* e over constants and sizes */
int32_t neo_plan_units(neo_plan *p, const neo_lx *units); /* over loop-IR sizes */
int32_t neo_plan_bytes(neo_plan *p, neo_tensor t);        /* number of bytes of t */

/* ---- plan_store.c: tensors that the caller can name, and where everything lives */
typedef struct {
  neo_plan *p;
  neo_prover *prover;
  neo_arena *scratch;
  neo_map named;     /* tensor id -> number in p->tensors (inputs, settings, params, states) */
  neo_map buf_of;    /* tensor id -> buf, for what lives outside the frame */
  neo_map output_of; /* name id -> number in p->tensors, for outputs */
} plan_store;
void plan_store_fixed(plan_store *s);
int32_t plan_store_output(plan_store *s, uint32_t name, neo_tensor t);
int32_t plan_store_buf(plan_store *s, uint8_t mem, neo_type type, int64_t offset,
                       int64_t size_bytes);
int64_t plan_store_max_bytes(plan_store *s, neo_tensor t);

/* ---- record.c: the C function of an entry: "<prefix>_step"; "<prefix>_load_entry" where the library has a function of
 * that name already. */
const char *neo_plan_entry_symbol(const neo_plan *p, const neo_rt_entry *e);

/* ---- plan_entry.c: the steps of one entry */
typedef struct {
  plan_store *store;
  const neo_plan_input *in;
} plan_entry_env;
void plan_entry_add(const plan_entry_env *env, const neo_entry_rec *e);
/* The entry that computes all initial values. */
void plan_entry_init(const plan_entry_env *env);

#endif
