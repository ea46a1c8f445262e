/* The parts of `neoc explain`. Each appends its text, or, with --format=json, one member of an
 * object ("\"name\": ..."), to `out`. */
#ifndef NEO_TOOLS_NEOC_EXPLAIN_H
#define NEO_TOOLS_NEOC_EXPLAIN_H
#include "tools/neoc/neoc.h"

/* Begins a member: a comma unless it is the first, and its name. (explain.c) */
void neoc_explain_member(neo_str *out, const char *name);

/* What the gradients read of the forward pass, with bytes; as comments of the IR's text. After
 * autodiff. (explain_gradients.c) */
void neoc_explain_gradients(neoc_cli *cli, neo_compilation *c, neo_str *out);
/* Bytes of a tensor at the largest sizes. */
int64_t neoc_tensor_bytes(const neo_module *m, neo_arena *a, neo_tensor t);

/* What stages and proofs took. (explain_costs.c) */
void neoc_explain_costs(neoc_cli *cli, neo_compilation *c, neo_str *out);

/* Text alone. (explain_kernels.c) */
void neoc_explain_groups(neoc_cli *cli, neo_compilation *c, neo_str *out);
void neoc_explain_schedules(neoc_cli *cli, neo_compilation *c, neo_str *out);
void neoc_explain_kernels(neoc_cli *cli, neo_compilation *c, neo_str *out);

#endif
