/* One broken module a rule: each is refused, with words that say why. */
#include "ir/order.h"
#include "ir/verify/verify.h"
#include "tests/ir/ir_test.h"
#include <string.h>

/* ---- what text can say */

typedef struct {
  const char *text, *why;
} broken_text;

#define XY "input x : f32 [4]\ntemp y : f32 [4]\n"
#define LV(type, bounds) \
  "input x : " type " [4]" bounds "\ntemp l : i32 [4]\ntemp f : i32 [5]\ntemp p : i32 [4]\n"

static const broken_text texts[] = {
    {"size N 5..3\n", "size 'N': the range is empty"},
    {"size N 1..3 = M\nsize M 1..3\n", "size 'N': the value needs a later size"},
    {"size N 1..3 = i64(2.5)\n", "constants and sizes only"},
    {"input x : f32 [step]\n", "constants and sizes only"},
    {"input x : f32 [2.0]\n", "constants and sizes only"},
    {"input x : f32 [true]\n", "an extent is bool instead of i64"},
    {"input x : f32 [2] < 3\n", "a bound is for integers"},
    {"input x : f32 [2] in 0..d0\n", "a bound is for integers"},
    {"input x : i32 [2] in -1..d0 * d0\n", "a bound is not affine in the indices"},
    {"input x : i32 [2] in 0..d0 + i64(training)\n", "a bound is not affine in the indices"},
    {"input x : i32 [2] in 0.5..d0\n", "the bound is f32 instead of i64"},
    {"setting lr : f32 [2]\n", "a setting is a scalar"},
    {"const k : f32 [3] = {1.0}\n", "the data does not fill"},
    {"size N 1..3\nconst k : f32 [N] = {1.0}\n", "data needs constant extents"},
    {"input x : f32 []\nupdate u : f32 [] of x\n", "neither parameter nor state"},
    {"param x : f32 []\nupdate u : f64 [] of x\n", "differs in type"},
    {"param x : f32 []\nupdate u : f32 [2] of x\n", "extents differ"},
    {"input x : f32 []\ndef x[] = 1.0\n", "has pieces, but is not computed"},
    {"temp y : f32 []\ninit y[] = 1.0\n", "has an initialiser, but is not kept"},
    {XY "def y[i: 3] = 1.0\n", "do not cover"},
    {XY "def y[i: 5] = 1.0\n", "writes outside"},
    {XY "def y[i: 4] = 1.0\ndef y[i: 1] = 1.0\n", "pieces 1 and 2 overlap"},
    {XY "def y[i: 2] at [2*i] = 1.0\n", "do not cover"},
    {XY "def y[i: 2] at [2*i] = 1.0\ndef y[i: 2] at [2*i + 2] = 1.0\n", "writes outside"},
    {XY "def y[i: 2] at [2*i] = 1.0\ndef y[i: 2] at [i + 2] = 1.0\n", "overlap"},
    {XY "def y[i: 4] at [-1*i + 3] = 1.0\n", "strides of the out map are positive"},
    {"size N 1..9\ntemp y : f32 [N]\ndef y[i: N / 2] at [2*i] = 1.0\n"
     "def y[i: N / 2] at [2*i + 1] = 2.0\n",
     "do not cover"},
    {XY "def y[] = 1.0\n", "not one output axis a dimension"},
    {XY "def y[i: 1..4] = 1.0\n", "an output axis starts at 0"},
    {XY "def y[i: i64(x[0])] = 1.0\n", "constants and sizes only"},
    {XY "def y[i: 4] = 1\n", "the result is i64 instead of f32"},
    {XY "def y[i: 4] = 1.0, 2.0\n", "not one expression a result"},
    {XY "temp z : f32 [5]\ndef (y, z)[i: 4] = 1.0, 2.0\n", "extents differ"},
    {XY "def (y, y)[i: 4] = 1.0, 2.0\n", "defines a tensor twice"},
    {XY "def y[i: 4] = sum[k: 4] where x[k]; x[k]\n", "the condition is f32 instead of bool"},
    {XY "def y[i: 4] = sum[k: 4] x[k] then x[k]\n", "an axis it does not have"},
    {XY "def y[i: 4] = sum[k: 4] true then 1.0\n", "sum of bool"},
    {XY "def y[i: 4] = mean[k: 4] k then 1.0\n", "mean of i64"},
    {XY "def y[i: 4] = any[k: 4] x[k] then 1.0\n", "any of f32"},
    {XY "def y[i: 4] = max[k: 4] x[k] then f32(acc1)\n", "a result that is not there"},
    {XY "def y[i: 4] = max[k: 4] x[k], x[k] then acc0\n", "the second body is f32"},
    {XY "def y[i: 4] = sum[k: x[0]..4] x[k]\n", "the start of an axis is f32"},
    {LV("i32", "") "def levels (l, f, p, -, -) kinds 1 [v: 4] = x[v]\n",
     "children, and kinds, alone"},
    {LV("i32", "") "def levels (l, f, p, -, -; -, -, -) kinds 1 [v: 4] = x[v]\n",
     "no earlier vertices"},
    {LV("i32", " in -1..d0") "def levels (l, f, p, -, -; -, -, -) kinds 1 [v: 4] = x[3 - v]\n",
     "no earlier vertices"},
    {LV("i32", " in -1..d0") "def levels (l, p, f, -, -; -, -, -) kinds 1 [v: 4] = x[v]\n",
     "another type or shape"},
    {LV("i32", " in -1..d0") "def levels (l, f, p, -, -; -, p, -) kinds 1 [v: 4] = x[v]\n",
     "no earlier vertices"},
    {LV("i32", " in -1..d0") "def levels (l, f, p, -, -; -, -, -) kinds 2 [v: 4] = x[v]\n",
     "children, and kinds, alone"},
    {LV("f32", "") "def levels (l, f, p, -, -; -, -, -) kinds 1 [v: 4] = x[v]\n",
     "no earlier vertices"},
    {XY "def y[i: 4] = y[i]\n", "needs itself"},
    {XY "temp z : f32 [4]\ndef y[i: 4] = z[i]\ndef z[i: 4] = y[i]\n", "needs itself"},
    {"input x : f32 [2]\nparam w : f32 [2]\ninit w[i: 2] = x[i]\n", "reads an input"},
    {"param w : f32 [2]\ninit w[i: 1] = 1.0\n", "does not cover"},
    {"param w : f32 [2]\ninit w[i: 2] at [i] = 1.0\n", "one whole tensor"},
    {XY "def @1 from @9 y[i: 4] = x[i]\n", "the origin does not exist"},
    {"input x : f32 []\nentry train s: l = x; updates x\n", "takes what is no update"},
    {"param w : f32 []\nupdate a : f32 [] of w\nupdate b : f32 [] of w\n"
     "entry train s: ; updates a, b\n",
     "updates tensor 'w' twice"},
    {"input x : i32 []\ngradient of x for x into x\n", "no float"},
    {"input x : f32 [2]\ngradient of x for x into x\n", "only a scalar needs no seed"},
    {"input x : f32 [2]\ninput s : f32 [3]\ngradient of x seed s for x into x\n", "extents differ"},
    {"input l : f32 []\ninput x : f32 [2]\ngradient of l for x into l\n", "extents differ"},
    {"input l : f32 []\ninput x : f32 [2]\ngradient of l for x, x into x\n", "one result a tensor"},
    {"input l : f32 [2]\ninput x : f32 [3]\ngradient of l batch 1 for x into x\n", "another shape"},
    {"input l : f32 [2]\ninput x : f32 [2]\ngradient of l batch 2 for x into x\n",
     "fewer dimensions than the request"},
    {"input l : f32 [2, 2]\ngradient of l batch 1 for l into l\n", "only a scalar needs no seed"},
    /* the same for the smallest N only */
    {"size N 1..9\ninput x : f32 [N]\ninput l : f32 [2*N - 1]\ncustom x -> x with l -> x\n",
     "extents differ"},
    {"input x : f32 [2]\ncustom x -> x with x, x -> x\n", "not one adjoint"},
    {"input x : f32 [2]\ninput l : f32 []\ncustom x -> x with l -> x\n", "extents differ"},
};

static void broken_text_is_refused_with_the_reason(void **state) {
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
    const char *errors;
    if (test_try_parse(*state, texts[k].text, &errors))
      fail_msg("accepted:\n%s", texts[k].text);
    if (!strstr(errors, "E0608") || !strstr(errors, texts[k].why))
      fail_msg("%s\ngave\n%s\nnot: %s", texts[k].text, errors, texts[k].why);
  }
}

/* ---- what only a faulty pass can do */

static neo_module *good(neo_module *m) {
  return test_parse(m, "size N 1..9\ninput x : f32 [N]\nparam w : f32 [3]\ntemp y : f32 [N]\n"
                       "temp z : f32 [N]\ninit w[i: 3] = 1.0\n"
                       "def (y, z)[i: N] = sum[k: 3] x[i] * w[k] then acc0, acc0 + 1.0\n"
                       "entry forward forward: y = y\n");
}

static neo_def_rec *sum_def(neo_module *m) {
  return neo_def_at(m, (neo_def){2});
}
static neo_expr bad_add(neo_module *m) {
  neo_expr arg[2] = {neo_const_float(m, NEO_F32_T, 1), neo_axis_ref(m, 0)};
  return neo_expr_make(m, NEO_OP_ADD, NEO_F32_T, 0, arg, 2, 0);
}

static void twice_named(neo_module *m) {
  m->tensors.at[1].name = m->tensors.at[3].name;
}
static void twice_named_size(neo_module *m) {
  (void)neo_size_add(m, m->sizes.at[1]);
}
static void size_kind(neo_module *m) {
  m->sizes.at[1].kind = 9;
}
static void role(neo_module *m) {
  m->tensors.at[1].role = 99;
}
static void type(neo_module *m) {
  m->tensors.at[1].type = 99;
}
static void region(neo_module *m) {
  m->tensors.at[1].in.i = 1;
}
static void def_region(neo_module *m) {
  sum_def(m)->in.i = 1;
}
static void reducer(neo_module *m) {
  sum_def(m)->reducer = 77;
}
static void no_reducer(neo_module *m) {
  sum_def(m)->reducer = NEO_RED_NONE;
}
static void no_body(neo_module *m) {
  sum_def(m)->body.n = 0;
}
static void null_body(neo_module *m) {
  m->pool.at[sum_def(m)->body.at] = 0;
}
static void null_finish(neo_module *m) {
  m->pool.at[sum_def(m)->finish.at] = 0;
}
static void null_axis(neo_module *m) {
  m->pool.at[sum_def(m)->axes.at] = 0;
}
static void null_bound(neo_module *m) {
  neo_def_axis(m, sum_def(m), 1)->hi.i = 0;
}
static void null_out(neo_module *m) {
  m->pool.at[sum_def(m)->out.at] = 0;
}
static void many_out_axes(neo_module *m) {
  sum_def(m)->n_out = 3;
}
static void not_a_piece(neo_module *m) {
  m->tensors.at[4].pieces.n = 0;
}
static void strange_piece(neo_module *m) {
  m->pool.at[m->tensors.at[4].pieces.at] = 1;
}
static void lost_piece(neo_module *m) {
  m->pool.at[m->tensors.at[4].pieces.at] = 40;
}
static void lost_init(neo_module *m) {
  m->tensors.at[2].init.i = 50;
}
static void strange_init(neo_module *m) {
  m->tensors.at[2].init.i = 2;
}
static void short_map(neo_module *m) {
  sum_def(m)->out_map = sum_def(m)->out, sum_def(m)->out_map.n = 1;
}
static void strange_update(neo_module *m) {
  m->tensors.at[1].updates.i = 2;
}
static void entry_kind(neo_module *m) {
  m->entries.at[0].kind = 8;
}
static void entry_names(neo_module *m) {
  m->entries.at[0].names.n = 0;
}
static void entry_tensor(neo_module *m) {
  m->pool.at[m->entries.at[0].outputs.at] = 77;
}
static void node_op(neo_module *m) {
  m->nodes.at[1].op = 200;
}
static void node_arg(neo_module *m) {
  m->nodes.at[m->nodes.n - 1].arg = (neo_list){1u << 30, 2};
}
static void node_types(neo_module *m) {
  m->pool.at[sum_def(m)->finish.at] = bad_add(m).i;
}

static void node_order(neo_module *m) {
  for (size_t k = 1; k < m->nodes.n; k++)
    if (m->nodes.at[k].arg.n)
      m->pool.at[m->nodes.at[k].arg.at] = (uint32_t)k;
}

static void load_rank(neo_module *m) {
  neo_expr e = neo_load(m, (neo_tensor){1}, NULL, 0, 0);
  m->pool.at[sum_def(m)->body.at] = e.i;
}

static void acc_type(neo_module *m) {
  neo_expr e = neo_cast(m, NEO_F32_T, neo_acc_ref(m, NEO_F64_T, 0));
  m->pool.at[sum_def(m)->finish.at] = e.i;
}

static void acc_in_body(neo_module *m) {
  m->pool.at[sum_def(m)->body.at] = neo_acc_ref(m, NEO_F32_T, 0).i;
}

static void no_site(neo_module *m) {
  neo_expr at = neo_axis_ref(m, 0);
  m->pool.at[sum_def(m)->body.at] = neo_expr_make(m, NEO_OP_RAND, NEO_F32_T, 3, &at, 1, 0).i;
}

static const struct {
  void (*apply)(neo_module *m);
  const char *why;
} faults[] = {
    {twice_named, "tensor 'y': the name is used twice"},
    {twice_named_size, "size 'N': the name is used twice"},
    {size_kind, "the kind is unknown"},
    {role, "the role is unknown"},
    {type, "the type is unknown"},
    {region, "the region does not exist"},
    {def_region, "the region does not exist"},
    {reducer, "the reducer is unknown"},
    {no_reducer, "reduces without a reducer"},
    {no_body, "wrong number of bodies"},
    {null_body, "a body is missing"},
    {null_finish, "the result is missing"},
    {null_axis, "an axis does not exist"},
    {null_bound, "the end of an axis is missing"},
    {null_out, "defines something else"},
    {many_out_axes, "not one output axis a dimension"},
    {not_a_piece, "is not once a piece of tensor 'z'"},
    {strange_piece, "piece 1 defines something else"},
    {lost_piece, "a piece does not exist"},
    {lost_init, "the initialiser does not exist"},
    {strange_init, "the initialiser defines something else"},
    {short_map, "the out map does not fit"},
    {strange_update, "only an update replaces"},
    {entry_kind, "the kind is unknown"},
    {entry_names, "not one name an output"},
    {entry_tensor, "a tensor that does not exist"},
    {node_op, "the operator or type of node 1"},
    {node_arg, "the arguments of node"},
    {node_order, "an argument of node"},
    {node_types, "arguments differ in type"},
    {load_rank, "as many indices as dimensions"},
    {acc_type, "the type of a reduction's result is wrong"},
    {acc_in_body, "a result that is not there"},
    {no_site, "the site of rand does not exist"},
};

static void a_module_that_a_pass_broke_is_refused_with_the_reason(void **state) {
  for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
    neo_module *m = good(*state);
    neo_str why;
    neo_str_init(&why, m->arena);
    faults[k].apply(m);
    if (neo_module_verify(m, &why) == NEO_OK)
      fail_msg("accepted: %s", faults[k].why);
    if (!strstr(neo_str_text(&why), faults[k].why))
      fail_msg("'%s' instead of '%s'", neo_str_text(&why), faults[k].why);
  }
}

static void what_an_entry_returns_is_written_whole(void **state) {
  for (int flag = 0; flag < 4; flag++) {
    neo_module *m = good(*state);
    neo_str why;
    neo_str_init(&why, m->arena);
    neo_tensor_rec *r = &m->tensors.at[m->pool.at[m->entries.at[0].outputs.at]];
    r->partial = flag == 1;
    r->terms = flag == 2;
    r->rows.i = flag == 3;
    assert_int_equal(neo_reads_verify(m, &why), flag ? NEO_INTERNAL : NEO_OK);
    assert_true(!flag || strstr(neo_str_text(&why), "some elements need not be written"));
  }
}

static void what_is_dead_is_not_looked_at(void **state) {
  neo_module *m = good(*state);
  neo_str why;
  neo_str_init(&why, m->arena);
  (void)bad_add(m);
  neo_def_rec d = *sum_def(m);
  d.body.n = 0;
  (void)neo_def_add(m, d, false); /* neither a piece nor an initialiser */
  assert_int_equal(neo_module_verify(m, &why), NEO_OK);
}

/* Progressions of many strides and offsets against counting. */
/* No such tensor can be: whether its pieces cover it is not asked. 2^128 elements, in 128 bits
 * 0. */
static void a_tensor_of_more_elements_than_can_be_is_not_counted(void **state) {
  const char *errors;
  const char *text = "module m\ntemp y : f32 [1125899906842624, 1125899906842624, 268435456]\n"
                     "def y[i: 1125899906842624, j: 1125899906842624, k: 5] = 1.0\n";
  if (!test_try_parse(*state, text, &errors))
    fail_msg("%s", errors);
}

static void covering_is_decided_as_by_counting(void **state) {
  int accepted = 0;
  for (int n = 1; n <= 7; n++)
    for (int code = 0; code < 81; code++) {
      int s = 1 + code % 3, o = code / 3 % 3, h = 1 + code / 9 % 3, t = 1 + code / 27 % 3;
      int count[32] = {0}, rest = n - h;
      bool cover = true;
      for (int x = 0; x < h; x++)
        count[s * x + o]++;
      for (int x = 0; x < rest; x++)
        count[t * x + (o == 0)]++;
      for (int x = 0; x < 32; x++)
        cover = cover && count[x] == (x < n);
      const char *errors;
      char *text = neo_arena_printf(((neo_module *)*state)->arena,
                                    "temp y : f32 [%d]\ndef y[i: %d] at [%d*i + %d] = 1.0\n"
                                    "def y[i: %d] at [%d*i + %d] = 2.0\n",
                                    n, h, s, o, rest, t, o == 0);
      bool ok = test_try_parse(*state, text, &errors) != NULL;
      if (ok != cover)
        fail_msg("%s%s", text, errors);
      accepted += ok;
    }
  assert_true(accepted > 10);
}

/* Null if all reads of the module are proved, else what is said of the first that is not. */
static const char *unproved(neo_module *m, const char *text) {
  neo_str why;
  neo_module *read = test_parse(m, text);
  neo_str_init(&why, read->arena);
  return neo_module_check_reads(read, &why) ? neo_str_text(&why) : NULL;
}

static void refuses(neo_module *m, const char *part, const char *text) {
  const char *why = unproved(m, text);
  if (!why || !strstr(why, part))
    fail_msg("'%s' is not in '%s'\n%s", part, why ? why : "", text);
}

#define READS                                                                           \
  "size N 1..9\ninput x : f32 [8]\ninput l : i32 [8] < 9\ninput p : i32 [8] in -1..8\n" \
  "temp y : f32 [9]\nassert N <= 8\n"

static void every_read_is_shown_to_be_inside(void **state) {
  static const char *const proved[] = {
      "def y[i: 9] =\n  sum[k: select(i < 8, i64(l[i]), 0)] x[k]\n",
      "def y[i: 9] =\n  sum[k: i64((l[i] else 0i32))] x[k]\n",
      "def y[i: 9] =\n  sum[j: 8, k: i64(l[j])] x[k]\n",
      "def y[i: 9] =\n  sum[k: 8] where 0 <= i64(p[k]) and l[i64(p[k])] == 1i32;\n  x[i64(p[k])]\n",
      "def y[i: 9] =\n  sum[k: N] x[k]\n",
  };
  for (size_t k = 0; k < sizeof proved / sizeof *proved; k++) {
    neo_arena *a = ((neo_module *)*state)->arena;
    const char *why = unproved(*state, neo_arena_printf(a, "%s%s", READS, proved[k]));
    if (why)
      fail_msg("%s: %s", proved[k], why);
  }
  refuses(*state, "of 'y': nothing shows that it reads inside of its tensor: l[i]",
          READS "def y[i: 9] =\n  sum[k: i64(l[i])] x[k]\n");
  refuses(*state, "of 'y': nothing shows",
          READS "def y[i: 9] =\n  sum[k: i64(l[i])] where i < 8;\n  x[k]\n");
  refuses(*state, "l[i64(p[k])]",
          READS
          "def y[i: 9] =\n  sum[k: 8] where l[i64(p[k])] == 1i32 and 0 <= i64(p[k]);\n  1.0\n");
  refuses(*state, "of 'y': nothing shows that it reads inside of its tensor: x[i]",
          READS "def y[i: 9] = x[i]\n");
}

/* Proved facts are not proved again, unless the tensor changed. */
static void a_tensor_that_shrinks_is_looked_at_again(void **state) {
  neo_str why;
  neo_module *m = test_parse(*state, "input x : f32 [8]\ntemp y : f32 [8]\ndef y[i: 8] = x[i]\n");
  neo_str_init(&why, m->arena);
  assert_int_equal(neo_module_check_reads(m, &why), NEO_OK);
  assert_int_equal(neo_module_check_reads(m, &why), NEO_OK);
  neo_expr seven = neo_const_int(m, NEO_I64_T, 7);
  neo_list extent = neo_list_new(m, &seven.i, 1);
  neo_tensor_at(m, neo_tensor_find(m, "x"))->extent = extent;
  assert_int_equal(neo_module_check_reads(m, &why), NEO_INTERNAL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(broken_text_is_refused_with_the_reason),
      TEST(a_module_that_a_pass_broke_is_refused_with_the_reason),
      TEST(what_an_entry_returns_is_written_whole),
      TEST(what_is_dead_is_not_looked_at),
      TEST(a_tensor_of_more_elements_than_can_be_is_not_counted),
      TEST(covering_is_decided_as_by_counting),
      TEST(every_read_is_shown_to_be_inside),
      TEST(a_tensor_that_shrinks_is_looked_at_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
