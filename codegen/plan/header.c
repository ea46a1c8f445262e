/* The header of a generated library, written to be read: what the model computes, its entries with
 * shapes, the numbers of its tensors, and the functions over a context.
 *
 * Header and library have a hash of the header's contents, which `create` compares, because one of
 * them may come from an earlier compilation or another folder. The memory of entries is not part of
 * the hash, so that a newly tuned library of the same model can replace the old one. */
#include "base/hash.h"
#include "codegen/plan/internal.h"
#include <ctype.h>
#include <string.h>

typedef struct {
  const neo_plan *p;
  neo_str *out;
  const char *upper; /* the prefix in capitals */
  bool memory;       /* say how much an entry takes */
} writer;

static const char *c_type(uint8_t type) {
  static const char *const names[] = {"double",  "float",  "uint16_t", "uint16_t", "int64_t",
                                      "int32_t", "int8_t", "uint8_t",  "uint8_t"};
  return names[type];
}

/* Words that cannot name a parameter in C or C++: keywords, macros of the compilers, types of
 * <stdint.h> that later parameters have, and the one that every function has. */
static const char *const reserved =
    " ctx alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t "
    "char32_t char8_t class co_await co_return co_yield compl complex concept const const_cast "
    "consteval constexpr constinit continue decltype default delete do double dynamic_cast else "
    "enum errno explicit export extern false float for friend goto if imaginary inline int "
    "int16_t int32_t int64_t int8_t linux long mutable namespace new noexcept not not_eq NULL "
    "nullptr operator or or_eq private protected public register reinterpret_cast requires "
    "restrict return short signed size_t sizeof static static_assert static_cast struct switch "
    "template this thread_local throw true try typedef typeid typename typeof typeof_unqual "
    "uint16_t uint32_t uint64_t uint8_t union unix unsigned using virtual void volatile wchar_t "
    "while xor xor_eq "
    /* macros of C's headers, which the program may include first */
    "I NAN INFINITY EOF M_PI M_E HUGE_VAL BUFSIZ RAND_MAX stdin stdout stderr assert ";

static bool is_reserved(writer *w, const char *id) {
  if (id[0] == '_' && (id[1] == '_' || isupper((unsigned char)id[1]))) /* _Bool, __func__ */
    return true;
  return strstr(reserved, neo_arena_printf(w->p->arena, " %s ", id)) != NULL;
}

/* The identifiers of tensors, sizes and entries in the model's text, before any renaming
 * (plan/outside.c). */
static const char *tensor_ident(const neo_plan *p, size_t k) {
  return p->tensor_idents.n ? p->tensor_idents.at[k] : p->tensors.at[k].name;
}
static const char *size_ident(const neo_plan *p, size_t k) {
  return p->size_idents.n ? p->size_idents.at[k] : p->sizes.at[k].name;
}
static const char *entry_ident(const neo_plan *p, size_t k) {
  return p->entry_idents.n ? p->entry_idents.at[k] : p->entries.at[k].name;
}

/* A name for programs, where it is another: "layers.0.weight", in a comment, which it neither ends
 * nor nests. */
static void put_name(writer *w, const char *ident, const char *name) {
  if (neo_streq(ident, name))
    return;
  neo_str_add(w->out, " \"");
  for (const char *c = name; *c; c++) {
    bool edge = (c[0] == '*' && c[1] == '/') || (c[0] == '/' && c[1] == '*');
    neo_str_addc(w->out, *c);
    if (edge)
      neo_str_addc(w->out, ' ');
  }
  neo_str_addc(w->out, '"');
}

/* Names of an entry's parameters: sizes, then tensors. */
static const char **parameters(writer *w, const neo_rt_entry *e) {
  const neo_plan *p = w->p;
  int32_t n = e->n_sizes + e->n_args;
  const char **id = NEO_NEW_ARRAY(p->arena, const char *, n + 1);
  for (int32_t i = 0; i < n; i++) {
    const char *name = i < e->n_sizes
                           ? size_ident(p, (size_t)p->entry_sizes.at[e->sizes + i])
                           : tensor_ident(p, (size_t)p->entry_args.at[e->args + i - e->n_sizes]);
    const char *clean = neo_plan_ident(p->arena, name);
    if (is_reserved(w, clean) || isdigit((unsigned char)*clean))
      clean = neo_arena_printf(p->arena, isdigit((unsigned char)*clean) ? "t%s" : "%s_", clean);
    id[i] = neo_plan_distinct(w->p, clean, id, (size_t)i);
  }
  return id;
}

static void put_tensors(writer *w) {
  const neo_plan *p = w->p;
  static const char *const roles[] = {"input", "setting", "parameter", "state", "output"};
  const char **id = NEO_NEW_ARRAY(p->arena, const char *, p->tensors.n + 1);
  neo_str_addf(w->out, "/* Tensors, for %s_bind, %s_get, %s_set and %s_view. */\nenum {\n",
               p->prefix, p->prefix, p->prefix, p->prefix);
  for (size_t k = 0; k < p->tensors.n; k++) {
    const neo_rt_tensor *t = &p->tensors.at[k];
    id[k] = neo_plan_distinct(w->p, tensor_ident(p, k), id, k);
    neo_str_addf(w->out, "  %s_T_%s = %zu, /* %s", w->upper, id[k], k, roles[t->role]);
    put_name(w, tensor_ident(p, k), t->name);
    neo_str_add(w->out, ", ");
    neo_plan_put_shape(w->p, t, w->out);
    neo_str_add(w->out, " */\n");
  }
  neo_str_addf(w->out, "  %s_N_TENSORS = %zu\n};\n\n", w->upper, p->tensors.n);
}

static void put_entry_numbers(writer *w) {
  const neo_plan *p = w->p;
  const char **id = NEO_NEW_ARRAY(p->arena, const char *, p->entries.n + 1);
  bool any = false;
  for (size_t k = 0; k < p->entries.n; k++) {
    id[k] = neo_plan_distinct(w->p, entry_ident(p, k), id, k);
    if (p->entries.at[k].kind == NEO_RT_ENTRY_INIT)
      continue;
    if (!any)
      neo_str_addf(w->out, "/* Entries, for %s_run on bound tensors. */\nenum {\n", p->prefix);
    any = true;
    neo_str_addf(w->out, "  %s_E_%s = %zu,", w->upper, id[k], k);
    if (!neo_streq(entry_ident(p, k), p->entries.at[k].name)) {
      neo_str_add(w->out, " /*");
      put_name(w, entry_ident(p, k), p->entries.at[k].name);
      neo_str_add(w->out, " */");
    }
    neo_str_add(w->out, "\n");
  }
  if (any)
    neo_str_add(w->out, "};\n\n");
}

static void put_entry_comment(writer *w, const neo_rt_entry *e, const char *const *id) {
  static const char *const what[] = {
      "Computes its outputs.",
      "One training step: the loss before it, then parameters and states change.",
      "The loss and its gradients; changes nothing.", ""};
  neo_str_addf(w->out, "/* %s\n", what[e->kind]);
  for (int32_t i = 0; i < e->n_args; i++) {
    const neo_rt_tensor *t = &w->p->tensors.at[w->p->entry_args.at[e->args + i]];
    neo_str_addf(w->out, " *   %s %s: ", i < e->n_inputs ? "in " : "out", id[e->n_sizes + i]);
    neo_plan_put_shape(w->p, t, w->out);
    neo_str_add(w->out, i < e->n_inputs ? "\n" : " (null: not wanted)\n");
  }
  if (w->memory)
    neo_str_addf(w->out,
                 " * Memory while it runs%s: %lld bytes (largest sum alive at one time: %lld).",
                 e->n_places ? ", at the largest sizes" : "", (long long)e->frame_bytes,
                 (long long)e->lower_bound_bytes);
  neo_str_add(w->out, " */\n");
}

/* ", " and the next parameter, on a new line where this one is full. */
static void put_parameter(writer *w, size_t *column, const char *text) {
  size_t n = strlen(text);
  neo_str_addc(w->out, ',');
  if (*column + n > 96) {
    neo_str_add(w->out, "\n   ");
    *column = 4;
  }
  neo_str_addf(w->out, " %s", text);
  *column += n + 2;
}

static void put_entry(writer *w, size_t number) {
  const neo_plan *p = w->p;
  const neo_rt_entry *e = &p->entries.at[number];
  const char **id = parameters(w, e);
  put_entry_comment(w, e, id);
  const char *head = neo_arena_printf(p->arena, "%s_status %s(%s_ctx *ctx", p->prefix,
                                      p->entry_symbols.at[number], p->prefix);
  size_t column = strlen(head);
  neo_str_add(w->out, head);
  for (int32_t i = 0; i < e->n_sizes; i++)
    put_parameter(w, &column, neo_arena_printf(p->arena, "int64_t %s", id[i]));
  for (int32_t i = 0; i < e->n_args; i++) {
    const neo_rt_tensor *t = &p->tensors.at[p->entry_args.at[e->args + i]];
    put_parameter(w, &column,
                  neo_arena_printf(p->arena, "%s%s *%s", i < e->n_inputs ? "const " : "",
                                   c_type(t->type), id[e->n_sizes + i]));
  }
  neo_str_add(w->out, ");\n\n");
}

static const char *const functions =
    "/* A context holds parameters, states and working memory. config may be null. On failure "
    "with a message *out is a\n"
    " * context on which only @_error and @_destroy work. A header of another library is a "
    "failure\n"
    " * (NEO_RT_E_HEADER). */\n"
    "@_status @_create(const @_config *config, @_ctx **out);\n"
    "/* The same for a function that dlsym found: interface is the number in this header, which "
    "calls of @_create pass. */\n"
    "@_status @_create_for(uint64_t interface, const @_config *config, @_ctx **out);\n"
    "void @_destroy(@_ctx *ctx);\n"
    "/* Bytes that a context with this number of threads needs at the largest sizes, known before "
    "any allocation;\n"
    " * bytes of an entry's intermediate values in a call with these sizes, in the order of its "
    "parameters; bytes\n"
    " * that a context has now. */\n"
    "int64_t @_arena_size(int32_t threads);\n"
    "int64_t @_frame_bytes(int32_t entry, const int64_t *sizes);\n"
    "int64_t @_bytes(const @_ctx *ctx);\n"
    "/* The last failure in words; \"\" if none. */\n"
    "const char *@_error(const @_ctx *ctx);\n"
    "const char *@_status_text(@_status status);\n"
    "/* Initial values again, from this seed. */\n"
    "@_status @_reset(@_ctx *ctx, uint64_t seed);\n\n"
    "/* Number of a tensor by name, -1 if there is none. */\n"
    "int32_t @_find(const char *name);\n"
    "/* DLPack tensors: bind the caller's memory, run an entry on what is bound, view the "
    "context's own. */\n"
    "@_status @_bind(@_ctx *ctx, int32_t tensor, struct neo_dl_tensor *dl);\n"
    "@_status @_run(@_ctx *ctx, int32_t entry);\n"
    "@_status @_view(@_ctx *ctx, int32_t tensor, struct neo_dl_tensor *dl, int64_t *shape);\n"
    "/* Copies of parameters, states and settings; size_bytes must be exact. */\n"
    "@_status @_get(@_ctx *ctx, int32_t tensor, void *p, size_t size_bytes);\n"
    "@_status @_set(@_ctx *ctx, int32_t tensor, const void *p, size_t size_bytes);\n"
    "@_status @_set_scalar(@_ctx *ctx, const char *name, double value);\n"
    "uint64_t @_step_count(const @_ctx *ctx);\n\n"
    "/* Parameters, optimizer state, step and seed as safetensors: written whole or not at all, "
    "checked before loading. */\n"
    "@_status @_save(@_ctx *ctx, const char *path, const neo_rt_pair *extra, int32_t n_extra);\n"
    "@_status @_load(@_ctx *ctx, const char *path);\n"
    "/* Parameters and the model's states alone, from a file of another program; options may be "
    "null. */\n"
    "@_status @_load_weights(@_ctx *ctx, const char *path, const neo_rt_weights *options);\n"
    "const char *@_loaded(const @_ctx *ctx, const char *key);\n"
    "/* Waits for what is in the stream of a GPU (NEO_RT_ASYNC). */\n"
    "@_status @_wait(@_ctx *ctx);\n"
    "/* Loads all kernels for a GPU now; notes what runs when into a file for Chrome's trace "
    "viewer, until path is null. */\n"
    "@_status @_warm(@_ctx *ctx);\n"
    "@_status @_trace(@_ctx *ctx, const char *path);\n"
    "/* The model as text or JSON; returns the length that it needs. */\n"
    "size_t @_describe(int json, char *buf, size_t n);\n\n"
    "extern const neo_rt_model @_model;\n\n";

static void put_functions(writer *w) {
  for (const char *c = functions; *c; c++) {
    if (*c == '@')
      neo_str_add(w->out, w->p->prefix);
    else
      neo_str_addc(w->out, *c);
  }
}

static void put_entries(writer *w) {
  for (size_t k = 0; k < w->p->entries.n; k++)
    if (w->p->entries.at[k].kind != NEO_RT_ENTRY_INIT)
      put_entry(w, k);
}

uint64_t neo_plan_interface(const neo_plan *p) {
  neo_str text = neo_str_in(p->arena);
  writer w = {p, &text, neo_plan_capitals(p->arena, p->prefix), false};
  put_tensors(&w);
  put_entry_numbers(&w);
  put_entries(&w);
  return neo_hash(neo_str_text(&text), text.n, 0);
}

/* Declares a macro over `create` that passes the header's interface number, so that a library with
 * another interface refuses the program. The function itself is declared, too, for tools that read
 * headers and for code that takes its address. */
static void put_check(writer *w) {
  neo_str_addf(w->out,
               "#define %s_INTERFACE UINT64_C(0x%016llx)\n"
               "#define %s_create(...) %s_create_for(%s_INTERFACE, __VA_ARGS__)\n\n",
               w->upper, (unsigned long long)neo_plan_interface(w->p), w->p->prefix, w->p->prefix,
               w->upper);
}

void neo_plan_header(const neo_plan *p, const neo_plan_network *networks, size_t n, neo_str *out) {
  writer w = {p, out, neo_plan_capitals(p->arena, p->prefix), true};
  neo_str_addf(
      out,
      "/* %s.h: generated by neoc from %s.expr. Link with the library of the same name and -lneort "
      "-lm. */\n"
      "#ifndef NEO_MODEL_%s_H\n#define NEO_MODEL_%s_H\n#include <neo/%s.h>\n\n"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      "typedef neo_rt_ctx %s_ctx;\ntypedef neo_rt_config %s_config;\n"
      "typedef neo_rt_status %s_status;\n\n",
      p->prefix, neo_name_text(p->m->names, p->m->name), w.upper, w.upper, n ? "neo_net" : "neo_rt",
      p->prefix, p->prefix, p->prefix);
  put_tensors(&w);
  put_entry_numbers(&w);
  put_functions(&w);
  put_check(&w);
  put_entries(&w);
  for (size_t k = 0; k < n; k++)
    neo_plan_put_network(p, &networks[k], out);
  neo_str_add(out, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
