/* The tables types.def, ops.def, cost.def and reducers.def as functions. */
#include "ir/ir.h"

typedef enum { KIND_F, KIND_I, KIND_U, KIND_B } type_kind;

typedef struct {
  const char *text;
  uint32_t bytes;
  type_kind kind;
} type_row;

static const type_row type_rows[NEO_TYPE_COUNT] = {
#define X(name, text, size, kind) {text, size, KIND_##kind},
#include "ir/types.def"
#undef X
};

typedef struct {
  const char *text;
  int arity;
  neo_rule rule;
  neo_cost_class cost;
} op_row;

static const op_row op_rows[NEO_OP_COUNT] = {
#define X(name, text, arity, rule, cost, meaning) \
  {text, arity, NEO_RULE_##rule, NEO_COST_##cost},
#include "ir/ops.def"
#undef X
};

static const double additions[NEO_COST_COUNT] = {
#define X(name, additions, meaning) additions,
#include "ir/cost.def"
#undef X
};

typedef struct {
  const char *text;
  uint32_t bodies, accs;
} reducer_row;

static const reducer_row reducer_rows[NEO_RED_COUNT] = {
#define X(name, text, max_body, n_acc, meaning) {text, max_body, n_acc},
#include "ir/reducers.def"
#undef X
};

static const char *const role_texts[] = {
    [NEO_ROLE_INPUT] = "input",   [NEO_ROLE_SETTING] = "setting",    [NEO_ROLE_PARAM] = "param",
    [NEO_ROLE_STATE] = "state",   [NEO_ROLE_CONST] = "const",        [NEO_ROLE_TEMP] = "temp",
    [NEO_ROLE_UPDATE] = "update", [NEO_ROLE_COTANGENT] = "cotangent"};

const char *neo_type_text(neo_type t) {
  return type_rows[t].text;
}
uint32_t neo_type_bytes(neo_type t) {
  return type_rows[t].bytes;
}
bool neo_type_is_float(neo_type t) {
  return type_rows[t].kind == KIND_F;
}

bool neo_type_is_int(neo_type t) {
  return type_rows[t].kind == KIND_I || type_rows[t].kind == KIND_U;
}

bool neo_type_of_text(const char *text, neo_type *t) {
  for (uint32_t k = 0; k < NEO_TYPE_COUNT; k++)
    if (neo_streq(type_rows[k].text, text)) {
      *t = (neo_type)k;
      return true;
    }
  return false;
}

const char *neo_op_text(neo_op op) {
  return op_rows[op].text;
}
int neo_op_arity(neo_op op) {
  return op_rows[op].arity;
}
neo_rule neo_op_rule(neo_op op) {
  return op_rows[op].rule;
}
neo_cost_class neo_op_cost(neo_op op) {
  return op_rows[op].cost;
}
double neo_op_additions(neo_op op) {
  return additions[op_rows[op].cost];
}

bool neo_op_is_elementwise(neo_op op) {
  neo_rule rule = op_rows[op].rule;
  return rule != NEO_RULE_LEAF && rule != NEO_RULE_LOAD && rule != NEO_RULE_RAND;
}

bool neo_op_of_text(const char *text, neo_op *op) {
  for (uint32_t k = 0; k < NEO_OP_COUNT; k++)
    if (neo_op_is_elementwise((neo_op)k) && neo_streq(op_rows[k].text, text)) {
      *op = (neo_op)k;
      return true;
    }
  return false;
}

const char *neo_reducer_text(neo_reducer r) {
  return reducer_rows[r].text;
}
uint32_t neo_reducer_bodies(neo_reducer r) {
  return reducer_rows[r].bodies;
}
uint32_t neo_reducer_accs(neo_reducer r) {
  return reducer_rows[r].accs;
}
neo_type neo_reducer_acc_type(neo_type t, uint32_t k) {
  return k == 0 ? t : NEO_I64_T;
}

bool neo_reducer_of_text(const char *text, neo_reducer *r) {
  for (uint32_t k = 0; k < NEO_RED_COUNT; k++)
    if (neo_streq(reducer_rows[k].text, text)) {
      *r = (neo_reducer)k;
      return true;
    }
  return false;
}

const char *neo_role_text(neo_role r) {
  return role_texts[r];
}
