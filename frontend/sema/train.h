/* An entry of `train` statements during checking. Private to train_values.c and
 * frontend/check/train.c. */
#pragma once
#include "frontend/sema/parts.h"

typedef struct {
  const neo_ast_stmt *s;
  neo_sym *opt;
  neo_val *option;
  neo_span *span;
  NEO_VEC(neo_tensor) params;
  neo_actuals actual; /* from the third on: the arguments that the statement gives to the
                         optimizer */
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
  NEO_VEC(neo_tensor) params; /* all parameters of the entry, and their gradients */
  neo_tensor *grad;
  neo_tensor norm, count; /* made on demand */
  size_t first_update;
};
typedef struct neo_trainer trainer;
