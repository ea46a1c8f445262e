/* program.c: size programs, reverse Polish code over int64 (enum neo_rt_op).
 *
 * Arithmetic saturates instead of wrapping, so that an absurd size shows as too large rather than
 * as something small. The stack holds 32 values; deeper, shallower or unknown code is malformed. */
#include "runtime/core/ctx.h"

enum { STACK = 32 };

static int64_t saturated(bool negative) {
  return negative ? INT64_MIN : INT64_MAX;
}

static int64_t add(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_add_overflow(a, b, &r) ? saturated(a < 0) : r;
}

static int64_t sub(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_sub_overflow(a, b, &r) ? saturated(a < 0) : r;
}

static int64_t mul(int64_t a, int64_t b) {
  int64_t r;
  return __builtin_mul_overflow(a, b, &r) ? saturated((a < 0) != (b < 0)) : r;
}

static int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  if (b == -1)
    return sub(0, a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool combine(int64_t op, int64_t a, int64_t b, int64_t *out) {
  switch (op) {
  case NEO_RT_OP_ADD:
    *out = add(a, b);
    return true;
  case NEO_RT_OP_SUB:
    *out = sub(a, b);
    return true;
  case NEO_RT_OP_MUL:
    *out = mul(a, b);
    return true;
  case NEO_RT_OP_DIV:
    *out = floor_div(a, b);
    return true;
  case NEO_RT_OP_MOD:
    *out = floor_mod(a, b);
    return true;
  case NEO_RT_OP_MIN:
    *out = a < b ? a : b;
    return true;
  case NEO_RT_OP_MAX:
    *out = a > b ? a : b;
    return true;
  default:
    return false;
  }
}

neo_rt_status neo_rti_program_eval(const int64_t *code, const int64_t *sizes, int64_t n_sizes,
                                   int64_t *out) {
  int64_t stack[STACK];
  int n = 0;
  for (;;) {
    int64_t op = *code++;
    if (op == NEO_RT_OP_END)
      break;
    if (op == NEO_RT_OP_CONST || op == NEO_RT_OP_SIZE) {
      int64_t x = *code++;
      if (n == STACK || (op == NEO_RT_OP_SIZE && (x < 0 || x >= n_sizes)))
        return NEO_INTERNAL;
      stack[n++] = op == NEO_RT_OP_SIZE ? sizes[x] : x;
    } else {
      if (n < 2 || !combine(op, stack[n - 2], stack[n - 1], &stack[n - 2]))
        return NEO_INTERNAL;
      n--;
    }
  }
  if (n != 1)
    return NEO_INTERNAL;
  *out = stack[0];
  return NEO_OK;
}

int64_t neo_rt_eval(const neo_rt_model *model, int32_t program, const int64_t *sizes) {
  int64_t x;
  if (!model || program < 0)
    return -1;
  return neo_rti_program_eval(model->programs + program, sizes, model->n_sizes, &x) ? -1 : x;
}

bool neo_rti_program_fixed(const neo_rt_model *m, int32_t program) {
  const int64_t *p = m->programs + program;
  for (; *p != NEO_RT_OP_END; p += *p == NEO_RT_OP_CONST ? 2 : 1)
    if (*p == NEO_RT_OP_SIZE)
      return false;
  return true;
}

int32_t neo_rti_program_size(const neo_rt_model *model, int32_t program) {
  const int64_t *code = model->programs + program;
  bool is_size = code[0] == NEO_RT_OP_SIZE && code[2] == NEO_RT_OP_END;
  return is_size ? (int32_t)code[1] : -1;
}
