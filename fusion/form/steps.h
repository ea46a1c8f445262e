/* Private to fusion: the steps that build a form and bring it into one shape. build.c runs them in
 * this order. */
#pragma once
#include "fusion/form.h"

/* Loads by their row-major element, guards as explicit conditions. (flat.c) */
neo_expr neo_flat_expr(neo_module *m, neo_prover *p, const neo_axis_rec *axes, uint32_t n_axes,
                       neo_expr assume, neo_expr e);
neo_expr neo_flat_offset(neo_module *m, neo_tensor t, const neo_expr *index);

/* Fewer passes over the same points. (fuse_stages.c) */
void neo_form_fuse_stages(neo_module *m, neo_form *f);
/* exp(x - log of a sum of exponentials) as a term of the sum. (terms.c) */
void neo_form_terms(neo_module *m, neo_form *f);
/* No axes of one element. (drop_unit_axes.c) */
void neo_form_drop_unit_axes(neo_module *m, neo_form *f);
/* An axis of groups as two. (strip_mine.c) */
void neo_form_strip_mine(neo_module *m, neo_form *f);
/* Neighbouring axes that every access walks as one as one. (fuse_axes.c) */
void neo_form_fuse_axes(neo_module *m, neo_form *f);
/* The innermost axis of a sum of products: one along which some operand lies. (interchange.c) */
void neo_form_interchange(neo_module *m, neo_form *f);
/* Offsets count from where the form begins in each tensor. (rebase.c) */
void neo_form_rebase(neo_module *m, neo_prover *p, const neo_group *g, neo_form *f);
/* A hash of the form that is equal for equal kernels. (key.c) */
void neo_form_key(neo_module *m, const neo_group *g, uint64_t key[2]);

/* Puts by[k] in place of AXIS k, then what `also` (may be null) makes of each node; offsets stay in
 * linear form. (drop_unit_axes.c) */
void neo_form_replace(neo_module *m, neo_stage *s, const neo_expr *by, uint32_t n,
                      neo_form_rewriter *also, void *ctx);
uint32_t neo_form_most_axes(const neo_form *f); /* of one stage, with the shared ones */
/* x where it is finite, else 0; a NaN stays. It is what is subtracted before exponentials are taken.
 * (stage.c) */
neo_expr neo_finite_or_zero(neo_module *m, neo_expr x);
