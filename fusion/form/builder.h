/* Private to the construction of forms (build.c): what definitions of a group become in it. */
#pragma once
#include "fusion/form/steps.h"

typedef struct {
  neo_module *m;
  neo_prover *p;
  const neo_group *g;
  neo_form *f;
  neo_map value;               /* tensor of a member -> its value over its output axes and ACCs */
  neo_map nested;              /* tensor of an inner sum -> its definition */
  neo_map inner;               /* load of an inner sum, in the current stage -> its value there */
  neo_expr acc[2];             /* ACC k of the current definition in the form */
  neo_expr axis[NEO_DEF_AXES]; /* AXIS k of the current definition in the form; 0: itself */
  uint32_t own[NEO_DEF_AXES];  /* the definition's axes that are not shared */
  uint32_t n_own;
} neo_form_builder;

/* The expression with members' values in place of their loads, and the form's accumulators in place
 * of the definition's. (values.c) */
neo_expr neo_form_put_in(neo_form_builder *b, neo_expr e);
/* The expression over flat offsets, for a stage. (values.c) */
neo_expr neo_form_flatten(neo_form_builder *b, const neo_stage *s, neo_expr e);
/* Adds a stage to the form. */
void neo_form_end_stage(neo_form_builder *b, neo_stage s);
/* Adds the stages that reduce the definition; b->acc is set to their accumulators. (reduce.c) */
void neo_form_reduce(neo_form_builder *b, const neo_def_rec *d);
