/* Names that programs know a model's parts by (neo_request.names): of any kind, in the record, files and messages. */
#include "tests/embed/embed.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char model[] = "import nn, optim\n"
                            "dim B <= 8\n"
                            "input x[B, 4]\ninput t[B]\n"
                            "h = nn.linear(x, out = 3)\n"
                            "param w[3] = 0.5\n"
                            "y[b] = sum[j] tanh(h[b, j])*w[j]\n"
                            "unread[b] = 2*t[b]\n"
                            "loss = mean[b] (y[b] - t[b])^2\n"
                            "output y\noutput test: loss, w\n"
                            "train loss using optim.adam(lr = 1e-2)\n";
static char name_of_300[301];

static const neo_name_pair names[] = {{"x", "gr\xc3\xb6\xc3\x9f"
                                            "e"},
                                      {"t", "max"},
                                      {"h", "layers.0"},
                                      {"w", "\xce\xbb */ \"q\"\\"},
                                      {"y", name_of_300},
                                      {"B", "batch size"},
                                      {"forward", "class"},
                                      {"unread", "nobody asks"}};

static neo_request request(void) {
  neo_request r = embed_request(model);
  memset(name_of_300, 'n', 300);
  r.emit = "o,h,json";
  r.names = names;
  r.n_names = sizeof names / sizeof *names;
  return r;
}

static int32_t find(const embed_model *m, const char *name) {
  return neo_rt_find(neo_code_model(m->code), name);
}

static void the_record_has_the_names_and_no_identifier(void **state) {
  (void)state;
  neo_request r = request();
  embed_model m = embed_load(&r);
  CHECK(find(&m, names[0].name) == 0 && find(&m, "x") < 0);
  CHECK(find(&m, "max") == 1 && find(&m, "t") < 0);
  CHECK(find(&m, name_of_300) >= 0);
  CHECK(find(&m, "layers.0.W") >= 0 && find(&m, "h.W") < 0);
  CHECK(find(&m, "layers.0.W.adam.m") >= 0);
  CHECK(find(&m, names[3].name) >= 0 && find(&m, "output:\xce\xbb */ \"q\"\\") >= 0);
  CHECK(find(&m, "loss") >= 0); /* has no other name */
  CHECK(neo_rt_find_entry(neo_code_model(m.code), "class") >= 0);
  CHECK(neo_rt_find_entry(neo_code_model(m.code), "forward") < 0);
  CHECK(strcmp(neo_code_model(m.code)->sizes[0].name, "batch size") == 0);
  embed_free(&m);
}

static void the_header_has_identifiers_of_the_text(void **state) {
  (void)state;
  neo_request r = request();
  embed_model m = embed_load(&r);
  const char *header = neo_build_output(m.build, "h", NULL);
  CHECK(strstr(header, "MODEL_T_x = 0, /* input \"gr\xc3\xb6\xc3\x9f"
                       "e\", f32 [B, 4] */"));
  CHECK(strstr(header, "MODEL_T_w = 4, /* parameter \"\xce\xbb * / \"q\"\\\", f32 [3] */"));
  CHECK(strstr(header, "model_forward(model_ctx *ctx, int64_t B, const float *x, float *y);"));
  CHECK(strstr(header, "MODEL_E_forward = 0, /* \"class\" */"));
  const char *json = neo_build_output(m.build, "json", NULL);
  CHECK(strstr(json, "\"\xce\xbb */ \\\"q\\\"\\\\\"") && strstr(json, "\"batch size\""));
  embed_free(&m);
}

/* ---- files */

static const char *file(char *path, size_t n, const char *end) {
  snprintf(path, n, "outside-%d.%s", (int)getpid(), end);
  return path;
}

static void train(const embed_model *m) {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, t[2] = {1, -1}, loss;
  int64_t b = 2;
  void *args[] = {x, t, &loss};
  for (int k = 0; k < 3; k++)
    embed_call(m, "step", &b, args);
}

static void same_values(const embed_model *a, const embed_model *b, const char *at_a,
                        const char *at_b, size_t n) {
  float x[64], y[64];
  CHECK(neo_rt_get(a->ctx, find(a, at_a), x, n * sizeof *x) == 0);
  CHECK(neo_rt_get(b->ctx, find(b, at_b), y, n * sizeof *y) == 0);
  CHECK(memcmp(x, y, n * sizeof *x) == 0);
}

static void a_checkpoint_has_the_names_and_is_resumed(void **state) {
  (void)state;
  char path[64];
  neo_request r = request();
  embed_model one = embed_load(&r), two = embed_load(&r);
  file(path, sizeof path, "safetensors");
  train(&one);
  CHECK(neo_rt_save(one.ctx, path, NULL, 0) == 0);
  CHECK(neo_rt_load(two.ctx, path) == 0);
  same_values(&one, &two, "layers.0.W", "layers.0.W", 12);
  same_values(&one, &two, "layers.0.W.adam.v", "layers.0.W.adam.v", 12);
  same_values(&one, &two, names[3].name, names[3].name, 3);
  embed_free(&one);
  embed_free(&two);
  (void)unlink(path);
}

static void weights_go_by_the_names_also_through_a_table(void **state) {
  (void)state;
  char path[64];
  neo_request r = request(), plain = embed_request(model);
  embed_model one = embed_load(&r), two = embed_load(&plain), three = embed_load(&r);
  file(path, sizeof path, "safetensors");
  train(&one);
  CHECK(neo_rt_save(one.ctx, path, NULL, 0) == 0);
  /* to a model with the text's names */
  neo_rt_weights how = {.rename = "layers.0.* = h.*\n", .only = "h.*"};
  CHECK(neo_rt_load_weights(two.ctx, path, &how) == 0);
  same_values(&one, &two, "layers.0.W", "h.W", 12);
  /* and back */
  CHECK(neo_rt_save(two.ctx, path, NULL, 0) == 0);
  how = (neo_rt_weights){.rename = "h.W = layers.0.W\nh.b = layers.0.b\n", .only = "layers.0.*"};
  CHECK(neo_rt_load_weights(three.ctx, path, &how) == 0);
  same_values(&one, &three, "layers.0.b", "layers.0.b", 3);
  /* messages say what is missing by the name that the caller knows */
  how.rename = NULL;
  CHECK(neo_rt_load_weights(three.ctx, path, &how) != 0);
  CHECK(strstr(neo_rt_error(three.ctx), "layers.0.W"));
  embed_free(&one);
  embed_free(&two);
  embed_free(&three);
  (void)unlink(path);
}

static void messages_of_the_runtime_use_the_names(void **state) {
  (void)state;
  neo_request r = request();
  embed_model m = embed_load(&r);
  float x[4] = {0}, y[9] = {0};
  int64_t b = 9;
  void *args[] = {x, y};
  CHECK(neo_rt_call(m.ctx, neo_rt_find_entry(neo_code_model(m.code), "class"), &b, args) != 0);
  CHECK(strstr(neo_rt_error(m.ctx), "batch size"));
  embed_free(&m);
}

/* ---- bad tables */

static void refused(const neo_name_pair *pairs, int32_t n, const char *why) {
  neo_request r = embed_request(model);
  neo_build *b;
  r.names = pairs;
  r.n_names = n;
  CHECK(neo_build_make(&r, &b) == 1);
  if (!neo_build_failure(b) || !strstr(neo_build_failure(b), why))
    fprintf(stderr, "%s\n", neo_build_messages(b));
  CHECK(strstr(neo_build_failure(b), why));
  neo_build_free(b);
}

static void bad_names_are_refused(void **state) {
  (void)state;
  char long_name[502] = {0};
  memset(long_name, 'a', 501);
  const struct {
    const char *name, *why;
  } bad[] = {{"", "the name of 'w' is empty"},
             {NULL, "the name of 'w' is empty"},
             {"a\nb", "control characters"},
             {"a\x7f", "control characters"},
             {"a\xc2\x85", "control characters"},
             {"\xff", "not valid UTF-8"},
             {"\xc3", "not valid UTF-8"},
             {"\xed\xa0\x80", "not valid UTF-8"},
             {long_name, "longer than 500 bytes"},
             {"__metadata__", "safetensors"},
             {"x", "the tensors 'x' and 'w' are both called 'x'"},
             {"h.W", "are both called 'h.W'"}};
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    neo_name_pair pair = {"w", bad[k].name};
    refused(&pair, 1, bad[k].why);
  }
}

static void bad_tables_are_refused(void **state) {
  (void)state;
  refused((neo_name_pair[]){{"w", "a"}, {"w", "b"}}, 2, "'w' has two names");
  refused((neo_name_pair[]){{"w", "a"}, {"x", "a"}}, 2, "are both called 'a'");
  refused((neo_name_pair[]){{"forward", "test"}}, 1, "the entries 'forward' and 'test'");
  refused((neo_name_pair[]){{"W", "a"}}, 1, "nothing that is called 'W'");
  refused((neo_name_pair[]){{"", "a"}}, 1, "an identifier is empty");
  refused((neo_name_pair[]){{NULL, "a"}}, 1, "an identifier is empty");
}

static void names_may_be_exchanged(void **state) {
  (void)state;
  neo_request r = embed_request(model);
  r.names = (neo_name_pair[]){{"x", "t"}, {"t", "x"}};
  r.n_names = 2;
  embed_model m = embed_load(&r);
  CHECK(find(&m, "t") == 0 && find(&m, "x") == 1);
  embed_free(&m);
}

static void options_name_things_too(void **state) {
  (void)state;
  neo_request r = embed_request(model);
  r.options = (const char *const[]){"--name=h=a=b", "--name", "w=layers.1.weight", NULL};
  r.names = (neo_name_pair[]){{"x", "features"}};
  r.n_names = 1;
  embed_model m = embed_load(&r);
  CHECK(find(&m, "a=b.W") >= 0 && find(&m, "layers.1.weight") >= 0 && find(&m, "features") == 0);
  embed_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_record_has_the_names_and_no_identifier),
      cmocka_unit_test(the_header_has_identifiers_of_the_text),
      cmocka_unit_test(a_checkpoint_has_the_names_and_is_resumed),
      cmocka_unit_test(weights_go_by_the_names_also_through_a_table),
      cmocka_unit_test(messages_of_the_runtime_use_the_names),
      cmocka_unit_test(bad_names_are_refused),
      cmocka_unit_test(bad_tables_are_refused),
      cmocka_unit_test(names_may_be_exchanged),
      cmocka_unit_test(options_name_things_too),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
