/* The parts of `neoc explain`. Each appends its text, or, with --format=json, one member of an
 * object ("\"name\": ..."), to `out`. */
#pragma once
#include "tools/neoc/neoc.h"

/* Begins a member: a comma, unless it is the first, and its name. (text.c) */
void neoc_explain_member(neo_str *out, const char *name);
/* Bytes of a tensor at the largest sizes. (text.c) */
int64_t neoc_tensor_bytes(const neo_module *m, neo_arena *a, neo_tensor t);
/* The source of the schedule of a group, or of a segment in the loops of a recurrence: a record,
 * the model ... (text.c) */
const char *neoc_segment_origin(const neo_compilation *c, neo_arena *a, const neo_segment *s);
const char *neoc_schedule_origin(const neo_compilation *c, neo_arena *a, size_t group);

/* Writes the tensors of the forward pass that gradients read, with bytes, as comments of the IR's
 * text. After autodiff. (gradients.c) */
void neoc_explain_gradients(neoc_cli *cli, neo_compilation *c, neo_str *out);

/* Writes the times of stages and proofs. (costs.c) */
void neoc_explain_costs(neoc_cli *cli, neo_compilation *c, neo_str *out);

/* As text only. (kernels.c) */
void neoc_explain_groups(neoc_cli *cli, neo_compilation *c, neo_str *out);
void neoc_explain_schedules(neoc_cli *cli, neo_compilation *c, neo_str *out);
void neoc_explain_kernels(neoc_cli *cli, neo_compilation *c, neo_str *out);

/* For a GPU: the number of kernels that wait for one another, and the kernels that became one
 * persistent kernel. */
void neoc_explain_grids(const neo_plan *p, neo_str *out);

/* The tensors of a training entry, by id: those that its loss needs, and among them those that
 * kernels read again after the forward pass. */
typedef struct {
  const bool *forward, *saved;
} neoc_passes;
neoc_passes neoc_passes_of(neo_compilation *c, neo_arena *a, const neo_entry_rec *e);

/* Writes all parts as one page of HTML (page), or into a file (html). Call after the plan was made.
 * `sizes` are the model's, by number, at which memory is shown; may be null. A failure has its text
 * in c->why. (page.c) */
neo_status neoc_explain_page(neoc_cli *cli, neo_compilation *c, const int64_t *sizes,
                             neo_str *out) NEO_MUST_CHECK;
neo_status neoc_explain_html(neoc_cli *cli, neo_compilation *c, const int64_t *sizes,
                             const char *path) NEO_MUST_CHECK;

/* Writes everything that the options of `explain` ask for, except the page. Begins the compilation
 * with the options `o`, which it changes; the caller ends the compilation. A status that is no
 * NEO_OK is as in tools/pipeline/compile.h. (explain.c) */
neo_status neoc_explain_by(neoc_cli *cli, neo_compile_options *o, neo_compilation *c,
                           neo_str *out) NEO_MUST_CHECK;
