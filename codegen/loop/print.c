/* Kernels as text. A kernel that is parsed from the text prints the same text.
 *
 *   neo-loop 2
 *   kernel H(X: f32 read noalias align 64, s: f32 scratch 128) sizes B units B
 *   for b in 0..B unit
 *     reg acc[2, 8]: f32
 *     for l in 0..8 vector
 *       acc[0, l] = X[b*8 + l if l < 4 else 0.0]
 *       X[b*8 + l] = acc[0, l] if b < 3
 *
 * Constants show their type: 5 is i64, 5:i32; 0.5 is f32, 0.5:f64; true. A cast is a call of the
 * type's name. @seed, @step, @call are the key; rand@3(e), rand@3:f64(e) random numbers of a site.
 * Names that are equal, or not words, become distinct words. If a statement's expressions are
 * large, shared and deeply nested nodes are printed once, in lines `let %0 = e` before the
 * statement: the text is no longer than the graph, and a parser needs no deep stack. */
#include "codegen/loop/print.h"
#include "base/hash.h"

static void print_block(printer *p, const neo_block *b, int depth);

static void print_end(printer *p) {
  neo_str_addc(p->out, '\n');
}

static void print_number(printer *p, const char *before, int64_t x) {
  neo_str_addf(p->out, "%s%lld", before, (long long)x);
}

static void print_in(printer *p, const char *name, const neo_lx *index) {
  neo_str_addf(p->out, "%s[", name);
  neo_lo_expr(p, index, PREC_OR);
  neo_str_addc(p->out, ']');
}

static void print_element(printer *p, const neo_element *e) {
  print_in(p, p->buf[e->buf], e->offset);
}

static void print_where(printer *p, const neo_lx *cond) {
  if (!cond)
    return;
  neo_str_add(p->out, " if ");
  neo_lo_expr(p, cond, PREC_OR);
}

static void print_for(printer *p, const neo_ls *s, int depth) {
  static const char *const kinds[] = {"", " unit", " unroll", " vector", " thread"};
  const char *before = p->var[s->loop.var];
  if (before)
    neo_lo_release(p, before);
  const char *name = neo_lo_distinct(p, p->k->vars.at[s->loop.var]);
  neo_str_addf(p->out, "for %s in ", name);
  neo_lo_expr(p, s->loop.lo, PREC_ADD);
  neo_str_add(p->out, "..");
  neo_lo_expr(p, s->loop.hi, PREC_ADD);
  if (s->loop.step != 1)
    print_number(p, " step ", s->loop.step);
  neo_str_add(p->out, kinds[s->loop.kind]);
  p->var[s->loop.var] = name;
  if (s->loop.more) {
    neo_str_add(p->out, " while ");
    neo_lo_expr(p, s->loop.more, PREC_OR);
  }
  neo_str_addc(p->out, '\n');
  print_block(p, &s->loop.body, depth + 1);
  neo_lo_release(p, name);
  p->var[s->loop.var] = before;
  if (before)
    neo_lo_take(p, before);
}

static void print_if(printer *p, const neo_ls *s, int depth) {
  neo_str_add(p->out, "if ");
  neo_lo_expr(p, s->branch.cond, PREC_OR);
  print_end(p);
  print_block(p, &s->branch.then, depth + 1);
  if (!s->branch.otherwise.n)
    return;
  neo_lo_indent(p, depth);
  neo_str_add(p->out, "else\n");
  print_block(p, &s->branch.otherwise, depth + 1);
}

static void print_specialize(printer *p, const neo_ls *s, int depth) {
  const uint32_t *registers = s->specialize.registers;
  neo_str_addf(p->out, "producer registers %u, %u\n", registers[NEO_PRODUCER],
               registers[NEO_CONSUMER]);
  print_block(p, &s->specialize.arm[NEO_PRODUCER], depth + 1);
  neo_lo_indent(p, depth);
  neo_str_add(p->out, "consumers\n");
  print_block(p, &s->specialize.arm[NEO_CONSUMER], depth + 1);
}

static void print_reg(printer *p, const neo_ls *s) {
  const neo_reg *r = &p->k->regs.at[s->declare.reg];
  neo_str_addf(p->out, "reg %s[", p->reg[s->declare.reg]);
  for (uint32_t d = 0; d < r->rank; d++)
    print_number(p, d ? ", " : "", r->extent[d]);
  neo_str_addf(p->out, "]: %s", neo_type_text((neo_type)r->type));
  if (r->threads)
    print_number(p, " threads ", r->threads);
}

static void print_set(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "%s[", p->reg[s->set.reg]);
  neo_lo_list(p, s->set.index, s->set.n_index);
  neo_str_add(p->out, "] = ");
  neo_lo_expr(p, s->set.value, PREC_OR);
}

static void print_store(printer *p, const neo_ls *s) {
  print_element(p, &s->store.to);
  neo_str_add(p->out, s->store.adds ? " += " : " = ");
  neo_lo_expr(p, s->store.value, PREC_OR);
  print_where(p, s->store.cond);
}

/* tile load 4, rows[512*k] pitch 16 */
static void print_tile(printer *p, const neo_ls *s) {
  const neo_tile_row *row = &neo_tile_rows[s->tile.op];
  neo_str_addf(p->out, "tile %s", row->text);
  for (uint32_t i = 0; i < row->registers; i++)
    neo_str_addf(p->out, "%s%u", i ? ", " : " ", s->tile.reg[i]);
  if (!row->memory)
    return;
  neo_str_add(p->out, ", ");
  print_element(p, &s->tile.element);
  print_number(p, " pitch ", s->tile.pitch);
}

/* shuffle other, sum down 4 of 32 */
static void print_shuffle(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "shuffle %s, %s %s %u of %u", p->reg[s->shuffle.to], p->reg[s->shuffle.from],
               s->shuffle.what == NEO_SHUFFLE_DOWN ? "down" : "first", s->shuffle.n, s->shuffle.of);
}

/* mma tf32 acc[i], a[i], b[0] */
static void print_mma(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "mma %s", neo_mma_rows[s->mma.op].text);
  for (int i = 0; i < 3; i++) {
    neo_str_add(p->out, i ? ", " : " ");
    print_in(p, p->reg[s->mma.part[i].reg], s->mma.part[i].at);
  }
}

/* ldmatrix x4 a[i], rows[at[0] + 64] */
static void print_ldmatrix(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "ldmatrix %s ", neo_ldmatrix_rows[s->ldmatrix.op].text);
  print_in(p, p->reg[s->ldmatrix.to.reg], s->ldmatrix.to.at);
  neo_str_add(p->out, ", ");
  print_element(p, &s->ldmatrix.from);
}

/* wgmma tf32 acc, rows[0], columns[0] across 2 */
static void print_wgmma(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "wgmma %s %s", neo_wgmma_rows[s->wgmma.op].text, p->reg[s->wgmma.acc]);
  for (int i = 0; i < 2; i++) {
    neo_str_add(p->out, s->wgmma.transposed[i] ? ", transposed " : ", ");
    print_element(p, &s->wgmma.factor[i]);
  }
  print_number(p, " across ", s->wgmma.across);
}

static void print_wgmma_wait(printer *p, const neo_ls *s) {
  print_number(p, "wgmma_wait ", s->wgmma_wait.pending);
  neo_str_addf(p->out, ", %s", p->reg[s->wgmma_wait.acc]);
}

/* copy 4 rows[t*4] = X[b*256 + t*4] if t < n */
static void print_copy(printer *p, const neo_ls *s) {
  print_number(p, "copy ", s->copy.elements);
  neo_str_addc(p->out, ' ');
  print_element(p, &s->copy.to);
  neo_str_add(p->out, " = ");
  print_element(p, &s->copy.from);
  print_where(p, s->copy.cond);
}

/* tma_copy rows[0] = X[k of 100 by 1 box 64, i of B by 100 box 128] on full[0] */
static void print_tma_copy(printer *p, const neo_ls *s) {
  const neo_box *b = s->tma_copy.box;
  neo_str_add(p->out, "tma_copy ");
  print_element(p, &s->tma_copy.to);
  neo_str_addf(p->out, " = %s[", p->buf[s->tma_copy.from]);
  for (uint32_t d = 0; d < b->rank; d++) {
    if (d)
      neo_str_add(p->out, ", ");
    neo_lo_expr(p, b->at[d], PREC_OR);
    neo_str_add(p->out, " of ");
    neo_lo_expr(p, b->extent[d], PREC_OR);
    print_number(p, " by ", b->stride[d]);
    print_number(p, " box ", b->count[d]);
  }
  neo_str_add(p->out, "] on ");
  print_element(p, &s->tma_copy.mbarrier);
}

/* expect_tx 16384 on full[0]; mbarrier_wait full[0] parity 1; mbarrier_arrive empty[0] */
static void print_mbarrier(printer *p, const neo_ls *s) {
  if (s->kind == NEO_LS_EXPECT_TX) {
    print_number(p, "expect_tx ", s->expect_tx.bytes);
    neo_str_add(p->out, " on ");
    print_element(p, &s->expect_tx.mbarrier);
  } else if (s->kind == NEO_LS_MBARRIER_WAIT) {
    neo_str_add(p->out, "mbarrier_wait ");
    print_element(p, &s->mbarrier_wait.mbarrier);
    neo_str_add(p->out, " parity ");
    neo_lo_expr(p, s->mbarrier_wait.parity, PREC_OR);
  } else {
    neo_str_add(p->out, "mbarrier_arrive ");
    print_element(p, &s->mbarrier_arrive.mbarrier);
  }
}

static void print_line(printer *p, const neo_ls *s) {
  switch (s->kind) {
  case NEO_LS_FOR:
  case NEO_LS_IF:
  case NEO_LS_SPECIALIZE:
    break;
  case NEO_LS_REG:
    print_reg(p, s);
    break;
  case NEO_LS_SET:
    print_set(p, s);
    break;
  case NEO_LS_STORE:
    print_store(p, s);
    break;
  case NEO_LS_PREFETCH:
    neo_str_add(p->out, s->prefetch.l2 ? "prefetch l2 " : "prefetch ");
    print_element(p, &s->prefetch.of);
    break;
  case NEO_LS_TILE:
    print_tile(p, s);
    break;
  case NEO_LS_SHUFFLE:
    print_shuffle(p, s);
    break;
  case NEO_LS_VOTE: /* vote again, differs */
    neo_str_addf(p->out, "vote %s, %s", p->reg[s->vote.any], p->reg[s->vote.of]);
    break;
  case NEO_LS_MMA:
    print_mma(p, s);
    break;
  case NEO_LS_LDMATRIX:
    print_ldmatrix(p, s);
    break;
  case NEO_LS_WGMMA:
    print_wgmma(p, s);
    break;
  case NEO_LS_WGMMA_WAIT:
    print_wgmma_wait(p, s);
    break;
  case NEO_LS_COPY:
    print_copy(p, s);
    break;
  case NEO_LS_COPY_COMMIT:
    neo_str_add(p->out, "copy_commit");
    break;
  case NEO_LS_COPY_WAIT:
    print_number(p, "copy_wait ", s->copy_wait.pending);
    break;
  case NEO_LS_TMA_COPY:
    print_tma_copy(p, s);
    break;
  case NEO_LS_EXPECT_TX:
  case NEO_LS_MBARRIER_WAIT:
  case NEO_LS_MBARRIER_ARRIVE:
    print_mbarrier(p, s);
    break;
  }
  print_end(p);
}

static void print_statement(printer *p, const neo_ls *s, int depth) {
  const neo_lx *own[NEO_LS_EXPRS];
  neo_lo_lets(p, own, neo_ls_exprs(s, own), depth);
  neo_lo_indent(p, depth);
  if (s->kind == NEO_LS_FOR)
    print_for(p, s, depth);
  else if (s->kind == NEO_LS_IF)
    print_if(p, s, depth);
  else if (s->kind == NEO_LS_SPECIALIZE)
    print_specialize(p, s, depth);
  else
    print_line(p, s);
}

static void print_block(printer *p, const neo_block *b, int depth) {
  for (size_t i = 0; i < b->n; i++)
    print_statement(p, b->at[i], depth);
}

static void print_buffer(printer *p, uint32_t i) {
  const neo_kbuf *b = &p->k->bufs.at[i];
  neo_str_addf(p->out, "%s%s: %s", i ? ", " : "", p->buf[i], neo_type_text((neo_type)b->type));
  if (b->use & NEO_BUF_READ)
    neo_str_add(p->out, " read");
  if (b->use & NEO_BUF_WRITE)
    neo_str_add(p->out, " write");
  if (b->use & NEO_BUF_SCRATCH)
    neo_str_addf(p->out, " scratch %lld", (long long)b->scratch_elems);
  if (b->no_alias)
    neo_str_add(p->out, " noalias");
  if (b->nontemporal)
    neo_str_add(p->out, " nontemporal");
  if (b->align)
    neo_str_addf(p->out, " align %lld", (long long)b->align);
  if (b->tensor.i)
    neo_str_addf(p->out, " tensor %u", b->tensor.i);
  if (b->shift)
    neo_str_addf(p->out, " from %lld", (long long)b->shift);
}

static void print_head(printer *p) {
  neo_str_addf(p->out, "neo-loop 2\nkernel %s(", neo_lo_word_of(p->arena, p->k->name));
  for (uint32_t i = 0; i < p->k->bufs.n; i++)
    print_buffer(p, i);
  neo_str_addc(p->out, ')');
  for (size_t i = 0; i < p->k->sizes.n; i++)
    neo_str_addf(p->out, "%s%s", i ? ", " : " sizes ", p->size[i]);
  neo_str_add(p->out, " units ");
  p->statement++;
  neo_lo_expr(p, p->k->units, PREC_OR);
  if (p->k->persistent)
    neo_str_addf(p->out, " persistent %lld", (long long)p->k->persistent);
  for (uint32_t b = 0; b < p->k->bufs.n; b++)
    if (p->k->bufs.at[b].origin) {
      neo_str_addf(p->out, " origin %s ", p->buf[b]);
      neo_lo_expr(p, p->k->bufs.at[b].origin, PREC_OR);
    }
  neo_str_addc(p->out, '\n');
}

void neo_kernel_print(const neo_kernel *k, neo_str *out) {
  printer p = {.k = k, .arena = out->arena, .out = out};
  p.node = neo_arena_array(out->arena, k->nodes.n + 1, sizeof *p.node);
  neo_lo_name_all(&p);
  print_head(&p);
  print_block(&p, &k->body, 0);
}

/* The text without names and tensors. */
static void print_nameless(const neo_kernel *k, neo_str *text) {
  neo_arena *scratch = text->arena;
  neo_kernel y = *k;
  y.name = "k";
  y.bufs.at = neo_arena_copy(scratch, k->bufs.at, k->bufs.n * sizeof *k->bufs.at);
  y.regs.at = neo_arena_copy(scratch, k->regs.at, k->regs.n * sizeof *k->regs.at);
  y.vars.at = NEO_NEW_ARRAY(scratch, const char *, k->vars.n + 1);
  for (size_t i = 0; i < y.bufs.n; i++) {
    y.bufs.at[i].name = "b";
    y.bufs.at[i].tensor = (neo_tensor){0};
  }
  for (size_t i = 0; i < y.regs.n; i++)
    y.regs.at[i].name = "r";
  for (size_t i = 0; i < y.vars.n; i++)
    y.vars.at[i] = "v";
  neo_kernel_print(&y, text);
}

void neo_kernel_key(const neo_kernel *k, uint64_t key[2]) {
  neo_arena scratch = neo_arena_scratch(k->arena);
  neo_str text = neo_str_in(&scratch);
  print_nameless(k, &text);
  neo_hash128(neo_str_text(&text), text.n, key);
  neo_arena_free(&scratch);
}

static void put_number(neo_str *out, uint64_t x) {
  neo_str_addn(out, (const char *)&x, sizeof x);
}

static void put_register(neo_str *out, const neo_reg *r) {
  put_number(out, r->type);
  put_number(out, (uint64_t)r->threads);
  put_number(out, r->rank);
  for (uint32_t d = 0; d < r->rank; d++)
    put_number(out, (uint64_t)r->extent[d]);
}

static void put_node(neo_str *out, const neo_lx *e) {
  put_number(out, (uint64_t)e->kind | (uint64_t)e->type << 8 | (uint64_t)e->n << 16 |
                      (uint64_t)e->attr << 32);
  put_number(out, e->bits);
  for (uint32_t a = 0; a < e->n; a++)
    put_number(out, e->arg[a]->id);
}

/* Hashes the text, which is the meaning of a kernel, and two orders on which code depends as well:
 * registers are on the stack in the order of their declaration, and a shared node is evaluated
 * once. */
void neo_kernel_code_key(const neo_kernel *k, neo_arena *scratch, uint64_t key[2]) {
  neo_str s = neo_str_in(scratch);
  print_nameless(k, &s);
  put_number(&s, k->sizes.n);
  put_number(&s, k->vars.n);
  put_number(&s, k->regs.n);
  for (size_t r = 0; r < k->regs.n; r++)
    put_register(&s, &k->regs.at[r]);
  for (size_t i = 0; i < k->nodes.n; i++)
    put_node(&s, k->nodes.at[i]);
  neo_hash128(neo_str_text(&s), s.n, key);
}
