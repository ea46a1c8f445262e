// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "tile_support.h"
#include "codegen/lower/lower.h"
#include "fusion/search/search.h"
#include "ir/print.h"
#include "schedule/schedule.h"
#include <string.h>

/* The kernel, or null and why there is none. */
static neo_kernel *lower(loop_fix *f, const char *text, const char *schedule, const char **said) {
  neo_machine machine = *neo_machine_named("sm_90a");
  machine.warps = 90;
  machine.warpgroups = machine.async = true;
  machine.shared_bytes = 227 << 10;
  neo_grouping g;
  neo_schedule s;
  neo_kernel *k = NULL;
  neo_str why;
  const char *whole = neo_arena_printf(&f->arena, "neo-ir 1\nmodule t\n%s", text);
  neo_module *m =
      neo_module_parse(&f->arena, neo_names_new(&f->arena), f->diags, "test", whole, strlen(whole));
  neo_str_init(&why, &f->arena);
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, &f->arena, NULL, &g, NULL), NEO_OK);
  assert_true(neo_schedule_parse(schedule, &s));
  if (neo_schedule_legal(m, &g.groups.at[0], &machine, &s, &why))
    assert_int_equal(neo_lower(m, &g.groups.at[0], &s, &machine, &f->arena, &k, &why), NEO_OK);
  *said = neo_str_text(&why);
  return k;
}

neo_kernel *tile_lower(loop_fix *f, const char *text, const char *schedule) {
  const char *why;
  neo_kernel *k = lower(f, text, schedule, &why);
  if (!k)
    fail_msg("%s", why);
  return k;
}

const char *tile_refused(loop_fix *f, const char *text, const char *schedule) {
  const char *why;
  return lower(f, text, schedule, &why) ? "" : why;
}

const char *tile_run(loop_fix *f, const neo_kernel *k, const int64_t *elements, int64_t hi,
                     uint64_t seed, neo_value ***bufs) {
  return tile_run_blocks(f, k, elements, hi, 1, seed, bufs);
}

const char *tile_run_blocks(loop_fix *f, const neo_kernel *k, const int64_t *elements, int64_t hi,
                            int64_t blocks, uint64_t seed, neo_value ***bufs) {
  neo_str why;
  neo_str_init(&why, &f->arena);
  neo_value **buf = *bufs = NEO_NEW_ARRAY(&f->arena, neo_value *, k->bufs.n);
  int64_t *n = NEO_NEW_ARRAY(&f->arena, int64_t, k->bufs.n);
  for (size_t b = 0; b < k->bufs.n; b++) {
    n[b] = k->bufs.at[b].use & NEO_BUF_SCRATCH ? k->bufs.at[b].scratch_elems : elements[b];
    buf[b] = NEO_NEW_ARRAY(&f->arena, neo_value, n[b]);
    for (int64_t i = 0; i < n[b]; i++)
      buf[b][i].f = (double)(i % 7) - 3;
  }
  bool failed = neo_kernel_verify(k, &why);
  for (int64_t b = 0; b < blocks && !failed; b++) {
    neo_kernel_run r = {
        .bufs = buf, .n_elems = n, .lo = b, .hi = hi, .blocks = blocks, .seed = seed};
    failed = neo_kernel_interp(k, &r, &why);
  }
  return failed ? neo_str_text(&why) : "";
}

neo_ls *tile_find(neo_kernel *k, neo_ls_kind kind, int n) {
  return neo_block_find(&k->body, kind, (size_t)n);
}
