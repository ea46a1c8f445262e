/* Constants: `const K[3] = [1, 2, 1]` is data, in row-major order, of the type that it declares. */
#include "frontend/sema/parts.h"
#include "ir/element.h"
#include "ir/interp/interp.h"
#include <math.h>
#include <string.h>

typedef struct {
  neo_inst *in;
  neo_type type;
  uint32_t rank;
  int64_t extent[NEO_MAX_RANK];
  NEO_VEC(neo_value) values;
  bool ok;
} reading;

static bool number_of(const neo_ast_expr *e, neo_lit *x) {
  bool minus = e->kind == NEO_AST_UNARY;
  if (minus)
    e = e->u.unary.x;
  if (e->kind != NEO_AST_NUMBER)
    return false;
  *x =
      (neo_lit){e->u.number.is_int ? NEO_LIT_INT : NEO_LIT_FLOAT, e->u.number.i, e->u.number.value};
  if (minus) {
    x->i = -x->i;
    x->f = -x->f;
  }
  x->f = isnan(x->f) ? (double)NAN : x->f; /* a single NaN, as in expressions */
  return true;
}

static void read_number(reading *r, const neo_ast_literal *l) {
  neo_lit x = {0};
  neo_value v = {0};
  neo_fe *fe = r->in->fe;
  if (!number_of(l->number, &x)) {
    r->ok = false;
    return;
  }
  if (neo_type_is_float(r->type)) {
    v.f = neo_value_round(r->type, x.f);
  } else if (x.kind == NEO_LIT_INT) {
    v = neo_value_cast(r->type, NEO_I64_T, (neo_value){.i = x.i});
    if (v.i != x.i) {
      NEO_ERR(r->in, l->span, LITERAL_RANGE, (long long)x.i, neo_type_text(r->type));
      r->ok = false;
    }
  } else {
    const neo_val given = {.kind = NEO_VAL_LIT, .lit = x};
    NEO_ERR(r->in, l->span, TYPE_MISMATCH, neo_val_text(fe, &given), neo_type_text(r->type));
    r->ok = false;
  }
  NEO_PUSH(fe->arena, &r->values, v);
}

static void read_list(reading *r, const neo_ast_literal *l, uint32_t d) {
  if (d == r->rank) {
    if (l->number) {
      read_number(r, l);
      return;
    }
    if (r->ok)
      NEO_ERR(r->in, l->span, CONST_SHAPE, (int)d, "a number", "a list");
    r->ok = false;
    return;
  }
  if (l->number || l->items.n != r->extent[d]) {
    const char *want = neo_arena_printf(r->in->fe->arena, "%lld elements", (long long)r->extent[d]);
    const char *have = neo_arena_printf(r->in->fe->arena, "%d", (int)l->items.n);
    if (r->ok)
      NEO_ERR(r->in, l->span, CONST_SHAPE, (int)d, want, l->number ? "a number" : have);
    r->ok = false;
    return;
  }
  for (uint32_t k = 0; k < l->items.n; k++)
    read_list(r, &l->items.at[k], d + 1);
}

/* ---- bytes */

/* x is representable. IEEE binary16: 1, 5, 10 bits. */
static uint16_t half_bits(double x) {
  int e;
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  x = fabs(x);
  if (isnan(x))
    return 0x7e00;
  if (isinf(x))
    return (uint16_t)(sign | 0x7c00);
  if (x == 0)
    return sign;
  double m = frexp(x, &e); /* x = m * 2^e, m in [0.5, 1) */
  if (e < -13)
    return (uint16_t)(sign | (uint16_t)ldexp(x, 24));
  return (uint16_t)(sign | (uint16_t)((e + 14) << 10) | ((uint16_t)ldexp(m, 11) & 0x3ff));
}

static uint16_t bfloat_bits(double x) {
  float f = (float)x;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return (uint16_t)(bits >> 16);
}

static void store(neo_type t, neo_value v, void *at) {
  float f = (float)v.f;
  uint16_t half = t == NEO_F16_T ? half_bits(v.f) : bfloat_bits(v.f);
  int32_t i32 = (int32_t)v.i;
  uint8_t byte = (uint8_t)v.i;
  switch (t) {
  case NEO_F64_T:
    memcpy(at, &v.f, 8);
    break;
  case NEO_F32_T:
    memcpy(at, &f, 4);
    break;
  case NEO_F16_T:
  case NEO_BF16_T:
    memcpy(at, &half, 2);
    break;
  case NEO_I64_T:
    memcpy(at, &v.i, 8);
    break;
  case NEO_I32_T:
    memcpy(at, &i32, 4);
    break;
  default:
    memcpy(at, &byte, 1);
    break;
  }
}

static neo_tensor const_tensor(reading *r, const neo_ast_var *var, const neo_expr *extent,
                               const neo_ends *ends) {
  uint32_t bytes = neo_type_bytes(r->type);
  neo_tensor_rec rec = {.role = NEO_ROLE_CONST,
                        .type = (uint8_t)r->type,
                        .bound = ends->bound,
                        .least = ends->least,
                        .below = ends->below,
                        .span = var->name.span,
                        .n_data_bytes = r->values.n * bytes};
  char *data = neo_arena_alloc(r->in->fe->arena, rec.n_data_bytes ? rec.n_data_bytes : 1);
  for (size_t k = 0; k < r->values.n; k++)
    store(r->type, r->values.at[k], data + k * bytes);
  rec.data = data;
  const char *full = neo_fe_join(r->in->fe, r->in->prefix, var->name.text);
  return neo_tensor_make(r->in, rec, extent, r->rank, neo_fe_unique(r->in->fe, full));
}

/* Whether all values respect a declared bound, for all values of the sizes. The most extreme value
 * decides. */
static bool data_end_holds(const reading *r, neo_expr e, bool below) {
  neo_element_end end;
  neo_fe *fe = r->in->fe;
  if (!e.i || !r->values.n)
    return true;
  if (!neo_element_end_of(fe->m, e, r->rank, &end))
    return false;
  __int128 worst = 0;
  for (size_t k = 0; k < r->values.n; k++) {
    int64_t at = (int64_t)k;
    __int128 x = r->values.at[k].i;
    for (uint32_t d = r->rank; d-- > 0; at /= r->extent[d])
      x -= (__int128)end.coef[d] * (at % r->extent[d]);
    worst = k == 0 || (below ? x > worst : x < worst) ? x : worst;
  }
  if (worst != (int64_t)worst)
    return false;
  neo_expr x = neo_const_i64(fe->m, (int64_t)worst);
  neo_facts facts = neo_size_facts(fe);
  neo_expr holds =
      below ? neo_op2(fe->m, NEO_OP_LT, x, end.rest) : neo_op2(fe->m, NEO_OP_LE, end.rest, x);
  return neo_proves(fe->prover, &facts, holds);
}

/* Sets the bound of integer data to that of its largest element; a declared bound is checked
 * instead. */
static bool data_bound(reading *r, const neo_ast_var *var, neo_ends *ends) {
  neo_expr *bound = &ends->bound;
  int64_t most = -1, least = 0;
  if (!neo_type_is_int(r->type))
    return true;
  for (size_t k = 0; k < r->values.n; k++) {
    if (r->values.at[k].i > most)
      most = r->values.at[k].i;
    if (r->values.at[k].i < least)
      least = r->values.at[k].i;
  }
  if (!data_end_holds(r, ends->least, false) || !data_end_holds(r, ends->below, true)) {
    NEO_ERR(r->in, var->type.span, ENDS_NOT_PROVED, var->name.text);
    return false;
  }
  bool given = bound->i != 0;
  if (given && (least < 0 || !data_end_holds(r, *bound, true))) {
    NEO_ERR(r->in, var->type.span, BOUND_NOT_PROVED, neo_size_text(r->in->fe, *bound));
    return false;
  }
  if (!given && least >= 0 && most < INT64_MAX)
    *bound = neo_const_i64(r->in->fe->m, most + 1);
  return true;
}

neo_val neo_const_data(neo_inst *in, const neo_ast_stmt *s, const neo_expr *extent, uint32_t n,
                       const neo_ends *declared) {
  neo_ends ends = *declared;
  const neo_ast_var *var = &s->u.decl.var;
  reading r = {.in = in, .type = neo_declared_type(in, &var->type), .ok = true};
  r.rank = n;
  for (uint32_t k = 0; k < r.rank; k++)
    if (k >= NEO_MAX_RANK || !neo_expr_is_int(in->fe->m, extent[k], &r.extent[k])) {
      NEO_ERR(in, var->axes.at[0].span, NOT_CONSTANT, neo_size_text(in->fe, extent[k]));
      return neo_val_poison();
    }
  read_list(&r, s->u.decl.literal, 0);
  if (!r.ok || !data_bound(&r, var, &ends))
    return neo_val_poison();
  neo_tensor t = const_tensor(&r, var, extent, &ends);
  return t.i ? neo_val_view(neo_view_whole(in->fe->m, t)) : neo_val_poison();
}
