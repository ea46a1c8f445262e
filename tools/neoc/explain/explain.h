/* The parts of `neoc explain`. Each appends its text, or, with --format=json, one member of an
 * object ("\"name\": ..."), to `out`. */
#pragma once
#include "tools/neoc/neoc.h"

/* Begins a member: a comma unless it is the first, and its name. (text.c) */
void neoc_explain_member(neo_str *out, const char *name);
/* Bytes of a tensor at the largest sizes. (text.c) */
int64_t neoc_tensor_bytes(const neo_module *m, neo_arena *a, neo_tensor t);
/* Where the schedule of a group, or of one in the loops of a recurrence, is from. (text.c) */
const char *neoc_segment_origin(const neo_compilation *c, neo_arena *a, const neo_segment *s);
const char *neoc_schedule_origin(const neo_compilation *c, neo_arena *a, size_t group);

/* What the gradients read of the forward pass, with bytes; as comments of the IR's text. After
 * autodiff. (gradients.c) */
void neoc_explain_gradients(neoc_cli *cli, neo_compilation *c, neo_str *out);

/* What stages and proofs took. (costs.c) */
void neoc_explain_costs(neoc_cli *cli, neo_compilation *c, neo_str *out);

/* Text alone: the schedule tree of each entry (ir/tree/tree.h), and of each recurrence after fusion. (trees.c) */
void neoc_explain_trees(neoc_cli *cli, neo_compilation *c, neo_str *out);

/* Text alone. (kernels.c) */
void neoc_explain_groups(neoc_cli *cli, neo_compilation *c, neo_str *out);
void neoc_explain_schedules(neoc_cli *cli, neo_compilation *c, neo_str *out);
void neoc_explain_kernels(neoc_cli *cli, neo_compilation *c, neo_str *out);

/* For a GPU: how many kernels wait for one another, and which became one persistent kernel. */
void neoc_explain_grids(const neo_plan *p, neo_str *out);

/* A training entry's tensors, by id: those that its loss needs, and of them those that kernels
 * read again for what comes after it. */
typedef struct {
  const bool *forward, *saved;
} neoc_passes;
neoc_passes neoc_passes_of(neo_compilation *c, neo_arena *a, const neo_entry_rec *e);

/* All of it as one page of HTML, and the same into a file. After the plan. sizes: of the model, by
 * number, for which memory is told; may be null. (page.c) */
neo_status neoc_explain_page(neoc_cli *cli, neo_compilation *c, const int64_t *sizes,
                             neo_str *out) NEO_MUST_CHECK;
neo_status neoc_explain_html(neoc_cli *cli, neo_compilation *c, const int64_t *sizes,
                             const char *path) NEO_MUST_CHECK;

/* What the options of `explain` ask for, but for the page. Begins the compilation, whose end is the
 * caller's, by `o`, which it changes. (explain.c) */
neo_status neoc_explain_by(neoc_cli *cli, neo_compile_options *o, neo_compilation *c,
                           neo_str *out) NEO_MUST_CHECK;
