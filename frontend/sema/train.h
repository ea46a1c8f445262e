/* An entry of `train` statements during checking. Private to train_values.c, and to train.c and
 * every.c of frontend/check. */
#pragma once
#include "frontend/sema/parts.h"

typedef struct {          /* `every N` (every.c); due 0: the optimizer runs in each step */
  neo_expr step_rows;     /* rows of a step, i64 */
  neo_tensor seen, count; /* states: rows since the last update, updates */
  neo_tensor rows, due;   /* rows with this step's; whether they are enough */
} trained_every;

typedef struct {
  const neo_ast_stmt *s;
  neo_sym *opt;
  neo_val *option;
  neo_span *span;
  NEO_VEC(neo_tensor) params;
  neo_actuals actual; /* from the third on: the arguments that the statement gives to the
                         optimizer */
  trained_every every;
  bool ok;
} trained_part;

struct neo_trainer {
  neo_fe *fe;
  neo_inst *in; /* the main file */
  const char *entry;
  neo_tensor loss;
  const char *loss_name;
  neo_span span;
  NEO_VEC(trained_part) parts;
  const trained_part *part;   /* the statement whose options or optimizer are being checked */
  NEO_VEC(neo_tensor) params; /* all parameters of the entry, and their gradients */
  neo_tensor *grad, *given;   /* given: what the optimizer gets */
  neo_tensor norm, count;     /* made on demand */
  size_t first_update;
};
typedef struct neo_trainer trainer;

/* ---- every.c, for frontend/check/train.c */
/* Reads `every`, and makes what its optimizers share; false after a report. True without it. */
bool neo_every_open(trainer *t, trained_part *p) NEO_MUST_CHECK;
/* The gradient that the optimizer of `param` gets: `grad`, or the mean over the rows. */
neo_tensor neo_every_gradient(trainer *t, const trained_part *p, neo_tensor param, neo_tensor grad);
/* Lets the updates from `first` on, those of the statement's optimizers, wait for enough rows. */
void neo_every_hold(trainer *t, const trained_part *p, size_t first);
