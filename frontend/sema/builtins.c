/* The table of built-in names: element functions, conversions, select, rand. */
#include "frontend/sema/parts.h"

static const neo_builtin rows[] = {
    {"abs", 1, NEO_OP_ABS, 0},
    {"sign", 1, NEO_OP_SIGN, 0},
    {"floor", 1, NEO_OP_FLOOR, 0},
    {"ceil", 1, NEO_OP_CEIL, 0},
    {"round", 1, NEO_OP_ROUND, 0},
    {"sqrt", 1, NEO_OP_SQRT, 0},
    {"rsqrt", 1, NEO_OP_RSQRT, 0},
    {"exp", 1, NEO_OP_EXP, 0},
    {"expm1", 1, NEO_OP_EXPM1, 0},
    {"log", 1, NEO_OP_LOG, 0},
    {"log1p", 1, NEO_OP_LOG1P, 0},
    {"sin", 1, NEO_OP_SIN, 0},
    {"cos", 1, NEO_OP_COS, 0},
    {"tan", 1, NEO_OP_TAN, 0},
    {"tanh", 1, NEO_OP_TANH, 0},
    {"sigmoid", 1, NEO_OP_SIGMOID, 0},
    {"relu", 1, NEO_OP_RELU, 0},
    {"gelu", 1, NEO_OP_GELU, 0},
    {"silu", 1, NEO_OP_SILU, 0},
    {"softplus", 1, NEO_OP_SOFTPLUS, 0},
    {"elu", 1, NEO_OP_ELU, 0},
    {"erf", 1, NEO_OP_ERF, 0},
    {"stop", 1, NEO_OP_STOP, 0},
    {"min", 2, NEO_OP_MIN, 0},
    {"max", 2, NEO_OP_MAX, 0},
    {"clamp", 3, NEO_OP_CLAMP, 0},
    {"select", 3, NEO_OP_SELECT, 0},
    {"rand", 0, NEO_OP_RAND, 0},
    {"f64", 1, NEO_OP_CAST, NEO_F64_T},
    {"f32", 1, NEO_OP_CAST, NEO_F32_T},
    {"f16", 1, NEO_OP_CAST, NEO_F16_T},
    {"bf16", 1, NEO_OP_CAST, NEO_BF16_T},
    {"i64", 1, NEO_OP_CAST, NEO_I64_T},
    {"i32", 1, NEO_OP_CAST, NEO_I32_T},
    {"i8", 1, NEO_OP_CAST, NEO_I8_T},
    {"u8", 1, NEO_OP_CAST, NEO_U8_T},
    {"wide", 1, NEO_OP_CAST, NEO_BOOL_T},
};

enum { N_ROWS = sizeof rows / sizeof rows[0] };

static const char *const values[] = {"training", "step", "grad"};

const neo_builtin *neo_builtin_find(const char *name) {
  for (uint32_t k = 0; k < N_ROWS; k++)
    if (neo_streq(rows[k].name, name))
      return &rows[k];
  return NULL;
}

const neo_builtin *neo_builtin_conversion(neo_type to) {
  return neo_builtin_find(neo_type_text(to));
}

bool neo_builtin_is(const char *name) {
  return neo_builtin_find(name) || neo_streq(name, "grad");
}

const char *neo_builtin_name(uint32_t k) {
  if (k < N_ROWS)
    return rows[k].name;
  k -= N_ROWS;
  return k < sizeof values / sizeof values[0] ? values[k] : NULL;
}
