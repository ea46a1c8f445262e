/* Private to fusion: the steps that build and normalise a form, in the order of build.c. */
#pragma once
#include "fusion/form.h"

/* Flattening: loads by row-major element, guards as explicit conditions. (flat.c) */
neo_expr neo_flat_expr(neo_module *m, neo_prover *p, const neo_axis_rec *axes, uint32_t n_axes,
                       neo_expr assume, neo_expr e);
neo_expr neo_flat_offset(neo_module *m, neo_tensor t, const neo_expr *index);

/* Stage fusion: fewer passes over the same points. (fuse_stages.c) */
void neo_form_fuse_stages(neo_module *m, neo_form *f);
/* exp(x - log of a sum of exponentials) as a term of the sum. (terms.c) */
void neo_form_terms(neo_module *m, neo_form *f);
/* Removal of axes of one element. (drop_unit_axes.c) */
void neo_form_drop_unit_axes(neo_module *m, neo_form *f);
/* Strip-mining: an axis of groups becomes two. (strip_mine.c) */
void neo_form_strip_mine(neo_module *m, neo_form *f);
/* Axis fusion: neighbouring axes of matching strides become one. (fuse_axes.c) */
void neo_form_fuse_axes(neo_module *m, neo_form *f);
/* Loop interchange in sums of products. (interchange.c) */
void neo_form_interchange(neo_module *m, neo_form *f);
/* Rebasing: offsets count from the form's least element of each tensor. (rebase.c) */
void neo_form_rebase(neo_module *m, neo_prover *p, const neo_group *g, neo_form *f);
/* A hash of the form that is equal for equal kernels. (key.c) */
void neo_form_key(neo_module *m, const neo_group *g, uint64_t key[2]);

/* Replaces AXIS k by by[k], then each node by the result of `also` (may be null); offsets stay
 * linear. (drop_unit_axes.c) */
void neo_form_replace(neo_module *m, neo_stage *s, const neo_expr *by, uint32_t n,
                      neo_form_rewriter *also, void *ctx);
uint32_t neo_form_most_axes(const neo_form *f); /* axes of one stage, shared ones included */
/* x where it is finite, else 0; NaN stays. Subtracted before exponentials are taken. (stage.c) */
neo_expr neo_finite_or_zero(neo_module *m, neo_expr x);
