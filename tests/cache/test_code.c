/* The cache of compiled code as a folder: what was put in is found, whole, or nothing is; whoever
 * cuts it, writes to it, kills its writers or fills the disk makes entries be missed, and nothing
 * else. */
#include "tests/cache/world.h"
#include "tests/fault.h"
#include "tools/cache/code.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { LIMIT_BYTES = 1 << 30, NOBODY = 65534 };

static const char *folder_of(world *w) {
  return neo_path_join(&w->arena, w->folder, "code");
}

static neo_code_cache *open_with(world *w, const neo_io *io, int64_t limit_bytes) {
  const char *why = NULL;
  neo_code_cache *x = neo_code_open(io, &w->arena, folder_of(w), limit_bytes, &why);
  assert_non_null(x);
  return x;
}

static neo_code_cache *open_cache(world *w) {
  return open_with(w, &neo_io_default, LIMIT_BYTES);
}

static neo_code_key key_of(int k) {
  char text[32];
  return neo_code_key_of(NEO_CODE_KERNEL, text, (size_t)snprintf(text, sizeof text, "key %d", k));
}

/* The contents of entry k: all of them differ, in length too. */
static const char *data_of(world *w, int k, size_t *n) {
  *n = 1000 + (size_t)k * 7;
  char *data = neo_arena_alloc(&w->arena, *n);
  for (size_t i = 0; i < *n; i++)
    data[i] = (char)(k * 31 + (int)i * 7);
  return data;
}

static void put(world *w, neo_code_cache *x, int k) {
  size_t n;
  const char *data = data_of(w, k, &n);
  neo_code_put(x, key_of(k), data, n, false);
}

/* Found; what is found is always what was put. */
static bool has(world *w, neo_code_cache *x, int k) {
  size_t n = 0, m;
  const char *data = NULL, *want = data_of(w, k, &m);
  if (!neo_code_get(x, key_of(k), &w->arena, &data, &n))
    return false;
  assert_int_equal(n, m);
  assert_memory_equal(data, want, n);
  assert_int_equal(data[n], 0);
  return true;
}

static const char *path_of(world *w, int k) {
  neo_code_key key = key_of(k);
  return neo_arena_printf(&w->arena, "%s/%016llx%016llx.kernel", folder_of(w),
                          (unsigned long long)key.hash[0], (unsigned long long)key.hash[1]);
}

static char *bytes_of(world *w, const char *path, size_t *n) {
  char *text;
  assert_int_equal(neo_file_read(&neo_io_default, &w->arena, path, 0, &text, n), NEO_OK);
  return text;
}

static void write_bytes(const char *path, const char *text, size_t n) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, n, f), n);
  assert_int_equal(fclose(f), 0);
  assert_int_equal(chmod(path, 0600), 0);
}

/* ---- what is kept */

static void what_was_put_is_found_and_nothing_else(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  assert_false(has(w, x, 1));
  put(w, x, 1);
  assert_true(has(w, x, 1));
  assert_false(has(w, x, 2));
  neo_code_close(x);
  assert_true(has(w, open_cache(w), 1));
}

static void the_kind_is_a_part_of_the_key(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  neo_code_key key = key_of(1);
  const char *data;
  size_t n;
  put(w, x, 1);
  key.kind = NEO_CODE_BUILD;
  assert_false(neo_code_get(x, key, &w->arena, &data, &n));
}

static void a_later_entry_replaces_the_earlier_one(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  const char *data;
  size_t n;
  neo_code_put(x, key_of(1), "old", 3, true);
  neo_code_put(x, key_of(1), "newer", 5, true);
  assert_true(neo_code_get(x, key_of(1), &w->arena, &data, &n));
  assert_string_equal(data, "newer");
}

static void folder_and_entries_are_for_the_user_alone(void **state) {
  world *w = *state;
  struct stat st;
  mode_t old = umask(0);
  put(w, open_cache(w), 1);
  umask(old);
  assert_int_equal(stat(folder_of(w), &st), 0);
  assert_int_equal(st.st_mode & 07777, 0700);
  assert_int_equal(stat(path_of(w, 1), &st), 0);
  assert_int_equal(st.st_mode & 07777, 0600);
}

/* ---- damage */

static void an_entry_that_was_cut_anywhere_is_missed_and_removed(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  size_t n;
  put(w, x, 1);
  char *text = bytes_of(w, path_of(w, 1), &n);
  for (size_t k = 0; k < n; k += 1 + k / 100) {
    write_bytes(path_of(w, 1), text, k);
    assert_false(has(w, x, 1));
  }
  put(w, x, 1);
  assert_true(has(w, x, 1));
}

static void an_entry_with_any_other_byte_is_missed(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  size_t n;
  put(w, x, 1);
  char *text = bytes_of(w, path_of(w, 1), &n);
  for (size_t k = 0; k < n; k++) {
    text[k] ^= (char)(1 << k % 8);
    write_bytes(path_of(w, 1), text, n);
    assert_false(has(w, x, 1));
    assert_false(neo_path_exists(path_of(w, 1)));
    text[k] ^= (char)(1 << k % 8);
  }
  write_bytes(path_of(w, 1), text, n);
  assert_true(has(w, x, 1));
}

static void an_entry_of_another_key_is_missed(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  size_t n;
  put(w, x, 1);
  char *text = bytes_of(w, path_of(w, 1), &n);
  write_bytes(path_of(w, 2), text, n);
  assert_false(has(w, x, 2));
}

static void an_entry_with_more_behind_it_is_missed(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  size_t n;
  put(w, x, 1);
  char *text = bytes_of(w, path_of(w, 1), &n);
  write_bytes(path_of(w, 1), text, n + 1); /* the NUL behind it */
  assert_false(has(w, x, 1));
}

/* ---- others */

static void an_entry_that_others_may_write_is_missed(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  static const mode_t modes[] = {0666, 0620, 0602};
  put(w, x, 1);
  for (int k = 0; k < 3; k++) {
    assert_int_equal(chmod(path_of(w, 1), modes[k]), 0);
    assert_false(has(w, x, 1));
  }
  assert_int_equal(chmod(path_of(w, 1), 0644), 0);
  assert_true(has(w, x, 1));
}

static void an_entry_of_another_user_is_missed(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  put(w, x, 1);
  if (chown(path_of(w, 1), NOBODY, NOBODY) != 0)
    skip();
  assert_false(has(w, x, 1));
}

static void an_entry_that_is_a_link_or_no_file_is_missed(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  const char *aside = neo_path_join(&w->arena, w->folder, "aside");
  put(w, x, 1);
  assert_int_equal(rename(path_of(w, 1), aside), 0);
  assert_int_equal(symlink(aside, path_of(w, 1)), 0);
  assert_false(has(w, x, 1));
  assert_int_equal(unlink(path_of(w, 1)), 0);
  assert_int_equal(mkfifo(path_of(w, 1), 0600), 0);
  assert_false(has(w, x, 1));
  assert_int_equal(unlink(path_of(w, 1)), 0);
  assert_int_equal(mkdir(path_of(w, 1), 0700), 0);
  assert_false(has(w, x, 1));
  assert_int_equal(rmdir(path_of(w, 1)), 0);
}

static void a_link_in_the_place_of_an_entry_is_replaced_and_not_followed(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  const char *aside = neo_path_join(&w->arena, w->folder, "aside");
  size_t n;
  put(w, x, 1);
  assert_int_equal(unlink(path_of(w, 1)), 0);
  write_bytes(aside, "theirs", 6);
  assert_int_equal(symlink(aside, path_of(w, 1)), 0);
  put(w, x, 1);
  assert_true(has(w, x, 1));
  assert_string_equal(bytes_of(w, aside, &n), "theirs");
}

static void a_folder_that_others_may_write_or_own_is_refused(void **state) {
  world *w = *state;
  const char *why = NULL;
  put(w, open_cache(w), 1);
  assert_int_equal(chmod(folder_of(w), 0770), 0);
  assert_null(neo_code_open(&neo_io_default, &w->arena, folder_of(w), LIMIT_BYTES, &why));
  assert_non_null(strstr(why, "others may write it"));
  assert_int_equal(chmod(folder_of(w), 0700), 0);
  if (chown(folder_of(w), NOBODY, NOBODY) != 0)
    skip();
  assert_null(neo_code_open(&neo_io_default, &w->arena, folder_of(w), LIMIT_BYTES, &why));
  assert_non_null(strstr(why, "belongs to another user"));
}

static void a_folder_that_became_another_users_gets_no_entry(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  assert_int_equal(mkdir(folder_of(w), 0700), 0);
  assert_int_equal(chmod(folder_of(w), 0777), 0);
  put(w, x, 1);
  assert_false(neo_path_exists(path_of(w, 1)));
  assert_non_null(neo_code_failure(x, &w->arena));
}

/* ---- failures */

static void where_nothing_can_be_written_entries_are_missed(void **state) {
  world *w = *state;
  const char *why = NULL;
  neo_code_cache *x =
      neo_code_open(&neo_io_default, &w->arena, "/proc/neo/code", LIMIT_BYTES, &why);
  assert_non_null(x);
  put(w, x, 1);
  assert_false(has(w, x, 1));
  assert_non_null(strstr(neo_code_failure(x, &w->arena), "/proc/neo/code: "));
  neo_code_close(x);
}

/* The n-th call fails: the entry is there, whole, or missed. Returns how many calls there were if
 * none failed. */
static size_t fail_at(world *w, size_t n, int forever) {
  neo_io_fault fault = {.fail_at = n, .forever = forever};
  neo_io io = neo_io_with_fault(&fault);
  neo_code_cache *x = open_with(w, &io, LIMIT_BYTES);
  size_t length;
  const char *data = data_of(w, 3, &length);
  neo_code_put(x, key_of(3), data, length, true);
  bool good = fault.count < n;
  assert_true(!good || !neo_code_failure(x, &w->arena));
  bool found = has(w, open_cache(w), 3);
  assert_true(found || neo_code_failure(x, &w->arena));
  assert_int_equal(system(neo_arena_printf(&w->arena, "rm -rf %s", folder_of(w))), 0);
  return good ? fault.count : 0;
}

static void after_any_failing_call_an_entry_is_whole_or_missed(void **state) {
  world *w = *state;
  for (int forever = 0; forever < 2; forever++) {
    size_t calls = 0;
    for (size_t n = 1; !calls; n++)
      calls = fail_at(w, n, forever);
    assert_true(calls > 4);
  }
}

static void a_file_that_may_not_grow_is_a_miss(void **state) {
  world *w = *state;
  struct rlimit old, small = {512, 512};
  neo_code_cache *x = open_cache(w);
  put(w, x, 1);
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
  small.rlim_max = old.rlim_max;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  put(w, x, 2);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
  signal(SIGXFSZ, handler);
  assert_non_null(neo_code_failure(x, &w->arena));
  assert_false(has(w, x, 2));
  assert_true(has(w, x, 1));
}

/* ---- processes */

static ssize_t write_half_and_die(void *ctx, int fd, const void *p, size_t n) {
  (void)ctx;
  if (n > 500 && write(fd, p, n / 2) > 0)
    kill(getpid(), SIGKILL);
  return write(fd, p, n);
}

static void what_a_killed_writer_left_is_missed_and_swept(void **state) {
  world *w = *state;
  size_t removed, kept;
  neo_code_bounds bounds = {.most_bytes = -1};
  put(w, open_cache(w), 1);
  pid_t child = fork();
  if (child == 0) {
    neo_io io = neo_io_default;
    io.write = write_half_and_die;
    put(w, open_with(w, &io, LIMIT_BYTES), 2);
    _exit(0);
  }
  int how;
  assert_int_equal(waitpid(child, &how, 0), child);
  assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
  neo_code_cache *x = open_cache(w);
  assert_true(has(w, x, 1));
  assert_false(has(w, x, 2));
  const char *list =
      neo_arena_printf(&w->arena, "ls -A %s | grep -c tmp >%s/n; true", folder_of(w), w->folder);
  assert_int_equal(system(list), 0);
  size_t n;
  assert_string_equal(bytes_of(w, neo_path_join(&w->arena, w->folder, "n"), &n), "1\n");
  assert_int_equal(neo_code_prune(&w->arena, folder_of(w), &bounds, &removed, &kept), NEO_OK);
  assert_int_equal(removed, 0);
  assert_int_equal(kept, 1);
  assert_int_equal(system(list), 0);
  assert_string_equal(bytes_of(w, neo_path_join(&w->arena, w->folder, "n"), &n), "0\n");
}

enum { ROUNDS = 300, ENTRIES = 20 };

/* Puts and gets; what is found is right (has). Returns what a child exits with. */
static void use(world *w, int seed) {
  neo_code_cache *x = open_with(w, &neo_io_default, 12 * 4096);
  for (int k = 0; k < ROUNDS; k++) {
    int entry = (k * 7 + seed * 3) % ENTRIES;
    if (!has(w, x, entry))
      put(w, x, entry);
  }
  if (neo_code_failure(x, &w->arena))
    _exit(1);
  neo_code_close(x);
}

static void remove_all(world *w) {
  neo_code_bounds all = {.most_bytes = 0};
  size_t removed, kept;
  for (int k = 0; k < ROUNDS; k++)
    if (neo_code_prune(&w->arena, folder_of(w), &all, &removed, &kept))
      _exit(1);
}

static void processes_that_write_read_and_prune_at_once_find_what_was_put(void **state) {
  world *w = *state;
  put(w, open_cache(w), 0);
  pid_t child[4];
  for (int k = 0; k < 4; k++) {
    child[k] = fork();
    if (child[k] == 0) {
      if (k < 3)
        use(w, k);
      else
        remove_all(w);
      _exit(0);
    }
  }
  for (int k = 0; k < 4; k++) {
    int how;
    assert_int_equal(waitpid(child[k], &how, 0), child[k]);
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  }
}

/* ---- the limit */

static int64_t bytes_in(world *w) {
  neo_code_usage u;
  assert_int_equal(neo_code_survey(&w->arena, folder_of(w), &u), NEO_OK);
  return u.bytes[NEO_CODE_KERNEL];
}

static void set_used(world *w, int k, int64_t seconds) {
  struct timespec t[2] = {{seconds, 0}, {seconds, 0}};
  assert_int_equal(utimensat(AT_FDCWD, path_of(w, k), t, 0), 0);
}

static void the_folder_never_grows_beyond_the_limit(void **state) {
  world *w = *state;
  neo_code_cache *x = open_with(w, &neo_io_default, 10 * 4096);
  for (int k = 0; k < 50; k++) {
    put(w, x, k);
    assert_true(has(w, x, k));
    assert_true(bytes_in(w) <= 10 * 4096);
  }
  assert_true(bytes_in(w) >= 5 * 4096);
}

static void what_was_not_used_for_longest_goes_first(void **state) {
  world *w = *state;
  neo_code_cache *x = open_with(w, &neo_io_default, 10 * 4096);
  for (int k = 0; k < 10; k++) {
    put(w, x, k);
    set_used(w, k, 1000 + k);
  }
  assert_true(has(w, x, 0)); /* which is used now */
  put(w, x, 10);
  assert_true(has(w, x, 0));
  assert_false(has(w, x, 1));
  assert_true(has(w, x, 9));
  assert_true(has(w, x, 10));
}

static void an_entry_that_would_take_half_of_the_room_is_not_kept(void **state) {
  world *w = *state;
  neo_code_cache *x = open_with(w, &neo_io_default, 4096);
  put(w, x, 1);
  assert_false(has(w, x, 1));
  assert_null(neo_code_failure(x, &w->arena));
}

static void counts_that_are_damaged_are_made_anew(void **state) {
  world *w = *state;
  const char *counts = neo_path_join(&w->arena, folder_of(w), "counts");
  neo_code_cache *x = open_with(w, &neo_io_default, 10 * 4096);
  put(w, x, 1);
  write_bytes(counts, "neo-code-counts 1 99999999999999999999 0", 40);
  put(w, x, 2);
  assert_true(has(w, x, 1) && has(w, x, 2));
  for (int k = 3; k < 30; k++)
    put(w, x, k);
  assert_true(bytes_in(w) <= 10 * 4096);
}

static void pruning_by_age_keeps_what_was_used_since(void **state) {
  world *w = *state;
  neo_code_cache *x = open_cache(w);
  size_t removed, kept;
  for (int k = 0; k < 4; k++) {
    put(w, x, k);
    set_used(w, k, 1000 + k);
  }
  neo_code_bounds bounds = {.most_bytes = -1, .oldest = 1002, .dry = true};
  assert_int_equal(neo_code_prune(&w->arena, folder_of(w), &bounds, &removed, &kept), NEO_OK);
  assert_int_equal(removed, 2);
  assert_true(neo_path_exists(path_of(w, 0)));
  bounds.dry = false;
  assert_int_equal(neo_code_prune(&w->arena, folder_of(w), &bounds, &removed, &kept), NEO_OK);
  assert_int_equal(removed, 2);
  assert_int_equal(kept, 2);
  assert_false(has(w, x, 1));
  assert_true(has(w, x, 2));
}

static void files_of_other_names_stay(void **state) {
  world *w = *state;
  const char *other = neo_path_join(&w->arena, folder_of(w), "0123456789abcdef.kernel");
  neo_code_bounds all = {.most_bytes = 0};
  size_t removed, kept;
  put(w, open_cache(w), 1);
  write_bytes(other, "x", 1);
  assert_int_equal(neo_code_prune(&w->arena, folder_of(w), &all, &removed, &kept), NEO_OK);
  assert_int_equal(removed, 1);
  assert_true(neo_path_exists(other));
}

static void hits_and_misses_are_counted_over_processes(void **state) {
  world *w = *state;
  neo_code_usage u;
  for (int k = 0; k < 3; k++) {
    neo_code_cache *x = open_cache(w);
    if (!has(w, x, 1))
      put(w, x, 1);
    neo_code_close(x);
  }
  assert_int_equal(neo_code_survey(&w->arena, folder_of(w), &u), NEO_OK);
  assert_int_equal(u.hits, 2);
  assert_int_equal(u.misses, 1);
  assert_int_equal(u.entries[NEO_CODE_KERNEL], 1);
}

/* ---- the environment */

static void the_place_and_the_limit_are_told_by_the_environment(void **state) {
  world *w = *state;
  setenv("XDG_CACHE_HOME", "/var/x", 1);
  unsetenv("NEO_CODE_CACHE");
  unsetenv("NEO_CODE_CACHE_BYTES");
  assert_string_equal(neo_code_place(&w->arena), "/var/x/neo/code");
  assert_int_equal(neo_code_limit(), 1 << 30);
  setenv("NEO_CODE_CACHE", "/var/y", 1);
  setenv("NEO_CODE_CACHE_BYTES", "3M", 1);
  assert_string_equal(neo_code_place(&w->arena), "/var/y");
  assert_int_equal(neo_code_limit(), 3 << 20);
  setenv("NEO_CODE_CACHE", "none", 1);
  setenv("NEO_CODE_CACHE_BYTES", "much", 1);
  assert_null(neo_code_place(&w->arena));
  assert_int_equal(neo_code_limit(), 1 << 30);
  unsetenv("NEO_CODE_CACHE");
  unsetenv("NEO_CODE_CACHE_BYTES");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, world_set_up, world_tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(what_was_put_is_found_and_nothing_else),
      TEST(the_kind_is_a_part_of_the_key),
      TEST(a_later_entry_replaces_the_earlier_one),
      TEST(folder_and_entries_are_for_the_user_alone),
      TEST(an_entry_that_was_cut_anywhere_is_missed_and_removed),
      TEST(an_entry_with_any_other_byte_is_missed),
      TEST(an_entry_of_another_key_is_missed),
      TEST(an_entry_with_more_behind_it_is_missed),
      TEST(an_entry_that_others_may_write_is_missed),
      TEST(an_entry_of_another_user_is_missed),
      TEST(an_entry_that_is_a_link_or_no_file_is_missed),
      TEST(a_link_in_the_place_of_an_entry_is_replaced_and_not_followed),
      TEST(a_folder_that_others_may_write_or_own_is_refused),
      TEST(a_folder_that_became_another_users_gets_no_entry),
      TEST(where_nothing_can_be_written_entries_are_missed),
      TEST(after_any_failing_call_an_entry_is_whole_or_missed),
      TEST(a_file_that_may_not_grow_is_a_miss),
      TEST(what_a_killed_writer_left_is_missed_and_swept),
      TEST(processes_that_write_read_and_prune_at_once_find_what_was_put),
      TEST(the_folder_never_grows_beyond_the_limit),
      TEST(what_was_not_used_for_longest_goes_first),
      TEST(an_entry_that_would_take_half_of_the_room_is_not_kept),
      TEST(counts_that_are_damaged_are_made_anew),
      TEST(pruning_by_age_keeps_what_was_used_since),
      TEST(files_of_other_names_stay),
      TEST(hits_and_misses_are_counted_over_processes),
      TEST(the_place_and_the_limit_are_told_by_the_environment),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
