/* Constant data and thin entries, the parts of the model record. Constants have the layout of C;
 * pointers to symbols that are not defined yet point to placeholders, which neo_ll_define
 * replaces. */
#include "codegen/llvm/gen.h"
#include <assert.h>
#include <string.h>

/* A constant is its LLVM value; the type only keeps callers off LLVM. */
static const neo_lconst *wrap(LLVMValueRef v) {
  return (const neo_lconst *)v;
}
static LLVMValueRef unwrap(const neo_lconst *c) {
  return (LLVMValueRef)(uintptr_t)c;
}

const neo_lconst *neo_lconst_int(neo_llvm *l, uint32_t bits, int64_t x) {
  return wrap(LLVMConstInt(LLVMIntTypeInContext(l->ctx, bits), (unsigned long long)x, true));
}

const neo_lconst *neo_lconst_null(neo_llvm *l) {
  return wrap(LLVMConstNull(neo_ll_ptr_type(l)));
}

LLVMValueRef neo_ll_private_data(neo_llvm *l, LLVMValueRef value, uint32_t align) {
  const char *name = neo_arena_printf(l->arena, ".neo.%u", l->n_private++);
  LLVMValueRef g = LLVMAddGlobal(l->mod, LLVMTypeOf(value), name);
  LLVMSetInitializer(g, value);
  LLVMSetGlobalConstant(g, true);
  LLVMSetLinkage(g, LLVMPrivateLinkage);
  LLVMSetUnnamedAddress(g, LLVMGlobalUnnamedAddr);
  if (align)
    LLVMSetAlignment(g, align);
  return g;
}

const neo_lconst *neo_lconst_bytes(neo_llvm *l, const void *p, size_t n, uint32_t align) {
  if (n == 0)
    return neo_lconst_null(l);
  return wrap(neo_ll_private_data(l, LLVMConstStringInContext2(l->ctx, p, n, true), align));
}

const neo_lconst *neo_lconst_string(neo_llvm *l, const char *text) {
  return neo_lconst_bytes(l, text, strlen(text) + 1, 1);
}

static LLVMValueRef symbol_value(neo_llvm *l, const char *symbol) {
  LLVMValueRef v = LLVMGetNamedFunction(l->mod, symbol);
  if (!v)
    v = LLVMGetNamedGlobal(l->mod, symbol);
  return v ? v : LLVMAddGlobal(l->mod, LLVMInt8TypeInContext(l->ctx), symbol);
}

const neo_lconst *neo_lconst_symbol(neo_llvm *l, const char *symbol) {
  return wrap(symbol_value(l, symbol));
}

static LLVMValueRef *values(neo_llvm *l, const neo_lconst *const *c, size_t n) {
  LLVMValueRef *v = NEO_NEW_ARRAY(l->arena, LLVMValueRef, n + 1);
  for (size_t k = 0; k < n; k++)
    v[k] = unwrap(c[k]);
  return v;
}

const neo_lconst *neo_lconst_struct(neo_llvm *l, const neo_lconst *const *field, size_t n) {
  return wrap(LLVMConstStructInContext(l->ctx, values(l, field, n), (unsigned)n, false));
}

const neo_lconst *neo_lconst_array(neo_llvm *l, const neo_lconst *const *elem, size_t n) {
  if (n == 0)
    return neo_lconst_null(l);
  LLVMValueRef *v = values(l, elem, n);
  return wrap(neo_ll_private_data(l, LLVMConstArray2(LLVMTypeOf(v[0]), v, n), 0));
}

void neo_llvm_global(neo_llvm *l, const char *symbol, const neo_lconst *value, bool exported) {
  LLVMValueRef v = unwrap(value), g = LLVMAddGlobal(l->mod, LLVMTypeOf(v), "");
  LLVMSetInitializer(g, v);
  LLVMSetGlobalConstant(g, true);
  LLVMSetVisibility(g, exported ? LLVMDefaultVisibility : LLVMHiddenVisibility);
  neo_ll_define(l, symbol, g);
}

/* ---- entries */

static LLVMTypeRef kind_type(neo_llvm *l, char kind) {
  switch (kind) {
  case 'v':
    return LLVMVoidTypeInContext(l->ctx);
  case 'p':
    return neo_ll_ptr_type(l);
  case 'i':
    return neo_ll_i32(l);
  case 'd':
    return LLVMDoubleTypeInContext(l->ctx);
  default:
    assert(kind == 'l' || kind == 'z');
    return neo_ll_i64(l);
  }
}

/* Parameters [first, first + n), which are of one kind, in a local array. */
static LLVMValueRef array(neo_llvm *l, LLVMValueRef fn, const neo_entry_arg *arg) {
  if (arg->n == 0)
    return LLVMConstNull(neo_ll_ptr_type(l));
  LLVMTypeRef t = LLVMTypeOf(LLVMGetParam(fn, (unsigned)arg->value));
  LLVMValueRef n = LLVMConstInt(neo_ll_i32(l), (unsigned)arg->n, false);
  LLVMValueRef at = LLVMBuildArrayAlloca(l->b, t, n, "");
  for (int32_t k = 0; k < arg->n; k++) {
    LLVMValueRef index = LLVMConstInt(neo_ll_i64(l), (unsigned)k, false);
    LLVMValueRef p = LLVMBuildInBoundsGEP2(l->b, t, at, &index, 1, "");
    LLVMBuildStore(l->b, LLVMGetParam(fn, (unsigned)(arg->value + k)), p);
  }
  return at;
}

static LLVMValueRef argument(neo_llvm *l, LLVMValueRef fn, const neo_entry_arg *arg) {
  switch (arg->kind) {
  case NEO_ARG_PARAM:
    return LLVMGetParam(fn, (unsigned)arg->value);
  case NEO_ARG_INT:
    return LLVMConstInt(neo_ll_i32(l), (unsigned long long)arg->value, true);
  case NEO_ARG_SYMBOL:
    return symbol_value(l, arg->symbol);
  default:
    return array(l, fn, arg);
  }
}

void neo_llvm_entry(neo_llvm *l, const char *symbol, char ret, const char *params,
                    const char *callee, const neo_entry_arg *arg, size_t n_args) {
  size_t n = strlen(params);
  LLVMTypeRef *types = NEO_NEW_ARRAY(l->arena, LLVMTypeRef, (n > n_args ? n : n_args) + 1);
  LLVMValueRef *v = NEO_NEW_ARRAY(l->arena, LLVMValueRef, n_args + 1);
  LLVMTypeRef result = kind_type(l, ret);
  for (size_t k = 0; k < n; k++)
    types[k] = kind_type(l, params[k]);
  LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)n, false);
  LLVMValueRef fn = neo_ll_function(l, symbol, type, true);
  LLVMPositionBuilderAtEnd(l->b, LLVMAppendBasicBlockInContext(l->ctx, fn, "entry"));
  for (size_t k = 0; k < n_args; k++) {
    v[k] = argument(l, fn, &arg[k]);
    types[k] = LLVMTypeOf(v[k]);
  }
  LLVMTypeRef called = LLVMFunctionType(result, types, (unsigned)n_args, false);
  LLVMValueRef to = neo_ll_extern(l, callee, called);
  LLVMValueRef r = LLVMBuildCall2(l->b, called, to, v, (unsigned)n_args, "");
  if (ret == 'v')
    LLVMBuildRetVoid(l->b);
  else
    LLVMBuildRet(l->b, r);
}
