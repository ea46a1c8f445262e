/* Asynchronous copies in the loop IR: what they mean, which rules they keep, and that the
 * interpreter finds who reads or writes what is under way. */
#include "codegen/lower/lower.h"
#include "fusion/search/search.h"
#include "ir/print.h"
#include "schedule/schedule.h"
#include "tile_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

static neo_kernel *parse(loop_fix *f, const char *body) {
  const char *text =
      neo_arena_printf(&f->arena,
                       "neo-loop 2\nkernel k(x: f32 read, w: f64 read, z: f32 write, "
                       "b: f32 scratch 16, c: f32 scratch 16, h: f16 scratch 16) units 1\n%s",
                       body);
  return loop_parse(f, text);
}

#define THREADS "for t in 0..4 thread\n  "
#define READ_BACK "for s in 0..4 thread\n  z[s] = b[s]\n"

static void copies_print_as_they_were_written(void **state) {
  loop_fix *f = *state;
  const char *text = "neo-loop 2\n"
                     "kernel k(X: f32 read, copy_2: f32 write, rows: f32 scratch 64) units 1\n"
                     "for t in 0..16 thread\n"
                     "  copy 4 rows[t*4] = X[t*4 + 64] if t < 3\n"
                     "  copy 1 rows[t] = X[t]\n"
                     "copy_commit\n"
                     "copy_wait 1\n"
                     "copy_wait 0\n";
  assert_string_equal(loop_text(f, loop_kernel(f, text)), text);
}

static void each_broken_rule_is_found(void **state) {
  static const char *const cases[][2] = {
      {THREADS "z[t] = 0.0\ncopy 4 b[0] = x[0]\n", "outside of the thread loops"},
      {THREADS "copy 4 z[t] = x[t]\n", "z is no scratch"},
      {THREADS "copy 4 b[t] = c[t]\n", "c is not only read"},
      {THREADS "copy 2 b[t] = w[t]\n", "w is not only read, or of another type"},
      {THREADS "copy 3 b[t] = x[t]\n", "4, 8 or 16 bytes, not of 12"},
      {THREADS "copy 0 b[t] = x[t]\n", "4, 8 or 16 bytes, not of 0"},
      {THREADS "copy_commit\n", "outside of loops of threads"},
      {"copy_commit\n", "outside of loops of threads"},
      {THREADS "z[t] = 0.0\ncopy_wait 9\n", "9 groups"},
      {THREADS "for l in 0..4 vector\n    copy 1 b[l] = x[l]\n", "only assignments"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    neo_str why;
    neo_str_init(&why, &((loop_fix *)*state)->arena);
    assert_int_equal(neo_kernel_verify(parse(*state, cases[n][0]), &why), NEO_INTERNAL);
    if (!strstr(neo_str_text(&why), cases[n][1]))
      fail_msg("'%s' is not '%s'", neo_str_text(&why), cases[n][1]);
  }
}

typedef struct {
  neo_value x[16], w[4], z[16], b[16], c[16], h[16];
} memory;

/* "": it ran. */
static const char *run(loop_fix *f, const char *body, memory *m) {
  neo_str why;
  neo_str_init(&why, &f->arena);
  memset(m, 0, sizeof *m);
  for (int i = 0; i < 16; i++)
    m->x[i].f = i + 1, m->b[i].f = -1;
  neo_kernel_run r = {.bufs = (neo_value *[]){m->x, m->w, m->z, m->b, m->c, m->h},
                      .n_elems = (const int64_t[]){16, 4, 16, 16, 16, 16},
                      .hi = 1,
                      .seed = 7};
  neo_kernel *k = parse(f, body);
  if (neo_kernel_verify(k, &why))
    fail_msg("%s", neo_str_text(&why));
  return neo_kernel_interp(k, &r, &why) ? neo_str_text(&why) : "";
}

static void copies_are_made_and_zeros_where_they_are_not(void **state) {
  memory m;
  assert_string_equal(run(*state,
                          THREADS "copy 4 b[t*4] = x[select(t < 3, t*4, 1000)] if t < 3\n"
                                  "copy_commit\ncopy_wait 0\nfor s in 0..4 thread\n"
                                  "  for i in 0..4\n    z[s*4 + i] = b[s*4 + i]\n",
                          &m),
                      "");
  for (int i = 0; i < 16; i++)
    assert_true(m.z[i].f == (i < 12 ? i + 1 : 0));
}

static void groups_arrive_in_order(void **state) {
  memory m;
  assert_string_equal(run(*state,
                          THREADS "copy 1 b[t] = x[t]\ncopy_commit\n"
                                  "for t in 0..4 thread\n  copy 1 b[t + 4] = x[t]\ncopy_commit\n"
                                  "copy_wait 1\n" READ_BACK "copy_wait 0\n",
                          &m),
                      "");
  assert_true(m.z[3].f == 4);
}

static void what_is_under_way_is_left_alone(void **state) {
  static const char *const cases[][2] = {
      {THREADS "copy 1 b[t] = x[t]\ncopy_commit\n" READ_BACK "copy_wait 0\n",
       "load of a copy under way"},
      {THREADS "copy 1 b[t] = x[t]\ncopy_wait 0\n" READ_BACK "copy_commit\ncopy_wait 0\n",
       "load of a copy under way of b"},
      {THREADS "copy 1 b[t] = x[t]\ncopy_commit\ncopy_wait 1\n" READ_BACK "copy_wait 0\n",
       "load of a copy under way of b"},
      {THREADS "copy 1 b[t] = x[t]\n  z[t] = b[t]\ncopy_commit\ncopy_wait 0\n",
       "load of a copy under way of b"},
      {THREADS "copy 1 b[t] = x[t]\n  b[t] = 0.0\ncopy_commit\ncopy_wait 0\n",
       "store to a copy under way of b"},
      {THREADS "copy 1 b[t] = x[t]\n  copy 1 b[t] = x[t]\ncopy_commit\ncopy_wait 0\n",
       "copy to a copy under way of b"},
      {THREADS "copy 1 b[t] = x[t]\ncopy_commit\n", "copies under way at the end of a unit"},
      {THREADS "copy 1 b[t] = x[t]\ncopy_wait 0\n", "copies under way at the end of a unit"},
      {"for u in 0..1 unit\n  for t in 0..4 thread\n    copy 1 b[t] = x[t]\n  copy_commit\n  copy_wait 1\n",
       "copies under way at the end of a unit"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    memory m;
    const char *said = run(*state, cases[n][0], &m);
    if (!strstr(said, cases[n][1]))
      fail_msg("%zu: '%s' is not '%s'", n, said, cases[n][1]);
  }
}

static void threads_that_meet_at_a_copy_race(void **state) {
  static const char *const cases[][2] = {
      {THREADS "copy 1 b[t/2] = x[t]\ncopy_commit\ncopy_wait 0\n", "under way"},
      {THREADS "z[t] = b[3 - t]\n  copy 1 b[t] = x[t]\ncopy_commit\ncopy_wait 0\n", " of b"},
      {THREADS "copy 4 b[t*4] = x[12 + t]\ncopy_commit\ncopy_wait 0\n", "load of x at 16"},
      {THREADS "copy 4 b[t*4 + 4] = x[t]\ncopy_commit\ncopy_wait 0\n", "copy of b at 16"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    memory m;
    const char *said = run(*state, cases[n][0], &m);
    if (!strstr(said, cases[n][1]) || !*said)
      fail_msg("%zu: '%s' is not '%s'", n, said, cases[n][1]);
  }
}

/* ---- tiles in stages */

typedef enum { BY_THREADS, BY_WARPS, BY_WARPGROUPS, MAKERS } maker;
typedef struct {
  int64_t rows, steps, columns;            /* of ends that divide nothing */
  int64_t x_row, x_step, w_step, w_column; /* elements between two */
  const char *text, *schedule;
} layout;

/* Warps read matrices of what lies along the steps and else elements; of warpgroups' rows and
 * columns the ones are transposed, the others not. */
static const layout layouts[MAKERS] = {
    {21, 45, 19, 45, 1, 19, 1,
     "input x : f32 [21, 45]\ninput w : f32 [45, 19]\ntemp z : f32 [21, 19]\n"
     "def z[b: 21, j: 19] =\n  sum[i: 45] x[b, i] * w[i, j]\n",
     "block_m=16 block_n=8 block_k=8 tile_m=2 tile_n=2 threads=32"},
    {21, 45, 19, 45, 1, 19, 1,
     "input x : f32 [21, 45]\ninput w : f32 [45, 19]\ntemp z : f32 [21, 19]\n"
     "def z[b: 21, j: 19] =\n  sum[i: 45] tf32(x[b, i]) * tf32(w[i, j])\n",
     "block_m=16 block_n=16 block_k=8 tile_m=16 tile_n=8 products=1 threads=64"},
    {72, 328, 20, 1, 72, 1, 328,
     "input x : bf16 [328, 72]\ninput w : bf16 [20, 328]\ntemp z : f32 [72, 20]\n"
     "def z[b: 72, j: 20] =\n  sum[i: 328] f32(x[i, b]) * f32(w[j, i])\n",
     "block_m=64 block_n=32 block_k=64 tile_m=64 tile_n=16 products=2 threads=256"},
};

static neo_kernel *tile_in_stages(loop_fix *f, int stages, maker by) {
  const char *text = neo_arena_printf(&f->arena, "%s  then acc0\nentry forward forward: z = z\n",
                                      layouts[by].text);
  return tile_lower(f, text,
                    neo_arena_printf(&f->arena, "gpu_tile row_axes=1 column_axes=2 stages=%d %s",
                                     stages, layouts[by].schedule));
}

/* The interpreter's message; "": all results are right. */
static const char *result(loop_fix *f, const neo_kernel *k, maker by) {
  const layout *x = &layouts[by];
  const int64_t elements[] = {x->rows * x->steps, x->steps * x->columns, x->rows * x->columns};
  neo_value **buf;
  const char *said = tile_run(f, k, elements, neo_kernel_units(k, NULL), 3, &buf);
  if (*said)
    return said;
  for (int64_t i = 0; i < elements[2]; i++) {
    double sum = 0;
    for (int64_t s = 0; s < x->steps; s++)
      sum += buf[0][i / x->columns * x->x_row + s * x->x_step].f *
             buf[1][s * x->w_step + i % x->columns * x->w_column].f;
    if (buf[2][i].f != sum)
      return "wrong";
  }
  return "";
}

static int find(const neo_kernel *k, neo_ls_kind kind, neo_ls **found) {
  int n = 0;
  while ((found[n] = neo_block_find(&k->body, kind, (size_t)n)))
    n++;
  return n;
}

/* Without one of its waits, or with one that comes a group too early, a tile is found to be wrong,
 * whatever the sizes leave over. */
static void tiles_wait_for_what_they_read(void **state) {
  loop_fix *f = *state;
  for (int way = 0; way < 8; way++) {
    maker by = way < 3 ? BY_THREADS : way < 6 ? BY_WARPS : BY_WARPGROUPS;
    int stages = way % 3 + (by == BY_WARPGROUPS ? 3 : 2),
        ahead = stages - 1 - (by == BY_WARPGROUPS);
    neo_kernel *k = tile_in_stages(f, stages, by);
    neo_ls *wait[8], *copies[8];
    int n = find(k, NEO_LS_COPY_WAIT, wait), n_copies = find(k, NEO_LS_COPY, copies);
    assert_int_equal(n, ahead > 1 ? 3 : 2);
    assert_int_equal(n_copies, 4);
    assert_string_equal(result(f, k, by), "");
    for (int i = 0; i < n; i++) {
      wait[i]->copy_wait.pending++;
      if (!strstr(result(f, k, by), "under way"))
        fail_msg("%d stages, wait %d: '%s'", stages, i, result(f, k, by));
      wait[i]->copy_wait.pending--;
    }
    copies[2]->copy.cond = NULL; /* beyond the last step */
    assert_non_null(strstr(result(f, k, by), "load of x"));
  }
}

/* One product of warpgroups is under way while the next begins; with two, operands would be
 * written again. */
static void warpgroups_leave_one_product_under_way(void **state) {
  loop_fix *f = *state;
  for (int stages = 3; stages <= 5; stages++) {
    neo_kernel *k = tile_in_stages(f, stages, BY_WARPGROUPS);
    neo_ls *await[4];
    assert_int_equal(find(k, NEO_LS_WGMMA_WAIT, await), 2);
    assert_int_equal(await[0]->wgmma_wait.pending, 1);
    await[0]->wgmma_wait.pending = 2;
    assert_non_null(strstr(result(f, k, BY_WARPGROUPS), "store before the end of a product"));
    await[0]->wgmma_wait.pending = 1;
    await[1]->wgmma_wait.pending = 1;
    assert_non_null(strstr(result(f, k, BY_WARPGROUPS), "not awaited"));
  }
}

/* Copies have zeros where a window sticks out of its operand, at any number of edges. */
static void warps_multiply_windows_that_stick_out_of_their_operand(void **state) {
  loop_fix *f = *state;
  for (int k = 0; k < 2; k++) {
    const char *edges = k ? "0 <= p + r - 1 and p + r - 1 < 32" : "0 <= p + r - 1";
    const char *text = neo_arena_printf(
        &f->arena,
        "input X : f32 [32, 32]\ninput W : f32 [3, 32, 32]\ntemp z : f32 [%d, 32]\n"
        "def z[p: %d, j: 32] =\n  sum[r: 3, c: 32]\n  where %s;\n"
        "  tf32(X[p + r - 1, c]) * tf32(W[r, c, j])\n  then acc0\nentry forward forward: z = z\n",
        k ? 32 : 30, k ? 32 : 30, edges);
    assert_string_equal(
        tile_refused(f, text,
                     "gpu_tile row_axes=1 column_axes=2 block_m=16 block_n=16 block_k=8 tile_m=16 "
                     "tile_n=8 products=1 threads=64"),
        "");
  }
}

/* Whatever guards the operand's own reads, the condition guards none of them: it is no edge. */
static void warps_multiply_no_sums_with_a_mask(void **state) {
  static const char *const operands[] = {
      "X[p, c]",
      "select(c == 0 or 0.0 < X[p, c - 1], X[p, c], 1.0)",
      "select(0 < c and 0.0 < X[p, c - 1], X[p, c], 1.0)",
  };
  loop_fix *f = *state;
  for (size_t k = 0; k < sizeof operands / sizeof *operands; k++) {
    const char *text =
        neo_arena_printf(&f->arena,
                         "input X : f32 [32, 32]\ninput W : f32 [32, 32]\ntemp z : f32 [32, 32]\n"
                         "def z[p: 32, j: 32] =\n  sum[c: 32]\n  where c <= p;\n"
                         "  tf32(%s) * tf32(W[c, j])\n  then acc0\nentry forward forward: z = z\n",
                         operands[k]);
    const char *said =
        tile_refused(f, text,
                     "gpu_tile row_axes=1 column_axes=2 block_m=16 block_n=16 block_k=8 tile_m=16 "
                     "tile_n=8 products=1 threads=64");
    if (!strstr(said, "with a mask"))
      fail_msg("%zu: '%s'", k, said);
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(copies_print_as_they_were_written),
      TEST(each_broken_rule_is_found),
      TEST(copies_are_made_and_zeros_where_they_are_not),
      TEST(groups_arrive_in_order),
      TEST(what_is_under_way_is_left_alone),
      TEST(threads_that_meet_at_a_copy_race),
      TEST(tiles_wait_for_what_they_read),
      TEST(warpgroups_leave_one_product_under_way),
      TEST(warps_multiply_windows_that_stick_out_of_their_operand),
      TEST(warps_multiply_no_sums_with_a_mask),
  };
  return cmocka_run_group_tests_name("async", tests, NULL, NULL);
}
