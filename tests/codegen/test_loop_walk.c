/* The parts of each statement of the loop IR: its expressions and the blocks inside of it, for all
 * kinds alike. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

/* Each statement names v once more, the size n in all of its expressions. */
static const char text[] =
    "neo-loop 2\n"
    "kernel k(x: bf16 read align 16, z: f32 write, s: bf16 scratch 8192 align 1024, "
    "full: i64 scratch 2, empty: i64 scratch 2) sizes n units n\n"
    "for u in 0..n unit\n"
    "  producer registers 40, 232\n"
    "    if n < 3\n"
    "      mbarrier_wait empty[n] parity n\n"
    "    expect_tx 1024 on full[n]\n"
    "    tma_copy s[n] = x[n of n by 1 box 64, n of n by 72 box 8] on full[n]\n"
    "  consumers\n"
    "    reg acc[1, 16]: f32 threads 128\n"
    "    reg a[4, 4]: i32 threads 128\n"
    "    reg b[4, 2]: i32 threads 128\n"
    "    reg c[4, 4]: f32 threads 128\n"
    "    reg again[1]: bool\n"
    "    reg differs[1]: bool threads 128\n"
    "    mbarrier_wait full[n] parity n\n"
    "    wgmma bf16 acc, s[n], transposed s[n] across 1\n"
    "    wgmma_wait 0, acc\n"
    "    mbarrier_arrive empty[n]\n"
    "    ldmatrix x4 a[n], s[n]\n"
    "    mma bf16 c[n], a[n], b[n]\n"
    "    shuffle c, c down 1 of 32\n"
    "    vote again, differs\n"
    "    for t in 0..128 thread\n"
    "      copy 4 s[n] = x[n] if n < 3\n"
    "      c[n, n] = f32(n)\n"
    "      z[n] = f32(n) if n < 3\n"
    "      prefetch l2 x[n]\n"
    "    for i in n..n while n < 3\n"
    "      again[n] = n < 3\n"
    "    copy_commit\n"
    "    copy_wait 0\n";

typedef struct {
  neo_kernel *k;
  size_t statements, expressions;
  bool seen[NEO_LS_SPECIALIZE + 1];
} walk;

static const neo_lx *replaced(neo_kernel *k, const neo_lx *e) {
  const neo_lx *arg[4];
  if (e->kind == NEO_LX_SIZE)
    return neo_lx_int(k, 7);
  if (e->kind != NEO_LX_OP)
    return e;
  for (uint32_t i = 0; i < e->n; i++)
    arg[i] = replaced(k, e->arg[i]);
  return neo_lx_op(k, (neo_op)e->attr, (neo_type)e->type, arg, e->n);
}

static void replace_size(void *ctx, neo_ls *s) {
  walk *w = ctx;
  const neo_lx **place[NEO_LS_EXPRS], *own[NEO_LS_EXPRS];
  uint32_t n = neo_ls_places(s, place);
  assert_int_equal(neo_ls_exprs(s, own), n);
  for (uint32_t i = 0; i < n; i++) {
    assert_ptr_equal(*place[i], own[i]);
    *place[i] = replaced(w->k, own[i]);
  }
  w->seen[s->kind] = true;
  w->statements++;
  w->expressions += n;
}

static void every_expression_of_every_kind_can_be_replaced(void **state) {
  loop_fix *f = *state;
  walk w = {.k = loop_parse(f, text)};
  neo_block_visit(&w.k->body, replace_size, &w);
  for (int kind = 0; kind <= NEO_LS_SPECIALIZE; kind++)
    assert_true(w.seen[kind] || kind == NEO_LS_TILE);
  const char *after = strstr(loop_text(f, w.k), "consumers");
  assert_non_null(after);
  assert_null(strstr(after, "[n"));
  assert_null(strstr(strstr(loop_text(f, w.k), "producer"), " n "));
  assert_non_null(strstr(after, "copy 4 s[7] = x[7] if false\n"));
  assert_non_null(strstr(after, "c[7, 7] = 7.0\n"));
  assert_non_null(strstr(after, "for i in 7..7 while false\n"));
}

static void statements_are_found_in_their_order(void **state) {
  loop_fix *f = *state;
  const neo_kernel *k = loop_parse(f, text);
  const neo_ls *specialize = neo_block_find(&k->body, NEO_LS_SPECIALIZE, 0);
  const neo_ls *first = neo_block_find(&k->body, NEO_LS_MBARRIER_WAIT, 0);
  assert_ptr_equal(neo_ls_block(specialize, 0), &specialize->specialize.arm[NEO_PRODUCER]);
  assert_ptr_equal(neo_ls_block(specialize, 1), &specialize->specialize.arm[NEO_CONSUMER]);
  assert_null(neo_ls_block(specialize, 2));
  assert_null(neo_ls_block(first, 0));
  assert_int_equal(first->mbarrier_wait.mbarrier.buf, 4);
  assert_int_equal(neo_block_find(&k->body, NEO_LS_MBARRIER_WAIT, 1)->mbarrier_wait.mbarrier.buf,
                   3);
  assert_null(neo_block_find(&k->body, NEO_LS_MBARRIER_WAIT, 2));
  assert_true(neo_kernel_has(k, NEO_LS_WGMMA));
  assert_false(neo_kernel_has(k, NEO_LS_TILE));
}

static void units_are_uneven_where_data_bound_them(void **state) {
  loop_fix *f = *state;
  const char *head =
      "neo-loop 2\nkernel t(n: i32 read, x: f32 read, y: f32 write) sizes N units N\n"
      "for u in 0..N unit\n";
  const char *body[] = {"  for i in 0..N\n    y[u] = x[i]\n",
                        "  for i in 0..i64(n[u])\n    y[u] = x[i]\n",
                        "  if 0 < i64(n[u])\n    y[u] = x[u]\n"};
  for (int k = 0; k < 3; k++) {
    char text_of_k[512];
    snprintf(text_of_k, sizeof text_of_k, "%s%s", head, body[k]);
    assert_int_equal(neo_kernel_uneven(loop_parse(f, text_of_k)), k > 0);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(every_expression_of_every_kind_can_be_replaced),
      TEST(statements_are_found_in_their_order),
      TEST(units_are_uneven_where_data_bound_them),
  };
  return cmocka_run_group_tests_name("loop_walk", tests, NULL, NULL);
}
