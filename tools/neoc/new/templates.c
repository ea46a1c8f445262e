/* The starter projects: a model, and a C program that trains it on data of its own making (or, for
 * the language model, on a text), so that a new project runs before its owner has data. */
#include "tools/neoc/new/templates.h"
#include <stddef.h>

const char neoc_template_cmake[] =
    "cmake_minimum_required(VERSION 3.25)\n"
    "project(@ LANGUAGES C)\n"
    "set(CMAKE_BUILD_TYPE Release CACHE STRING \"\")\n"
    "find_package(neo REQUIRED)           # -D CMAKE_PREFIX_PATH=... where neo is installed\n"
    "\n"
    "neoc_add_library(@_model @.expr)     # lib@.so and @.h, made again when @.expr changes\n"
    "add_executable(@ main.c)\n"
    "target_link_libraries(@ PRIVATE @_model m)\n";

const char neoc_template_readme[] =
    "# @\n\n"
    "- `@.expr`: the model. `neoc check @.expr` reports its errors, `neoc fmt -w @.expr` formats\n"
    "  it.\n"
    "- `main.c`: trains it. `cmake -B build && cmake --build build && build/@`\n"
    "- by hand: `neoc compile @.expr -o out`, then link `main.c` with `out/lib@.so` and libneort.\n"
    "- `neoc grad-check @.expr` and `neoc verify @.expr` check what was generated.\n";

const char neoc_template_model_readme[] =
    "# @\n\n"
    "%s\n\n"
    "This project began as a copy of the model `%s`, which comes with neoc.\n\n"
    "## What it takes\n\n"
    "Its sizes (`-D NAME=N` puts another number in place of one; those with `<=` are known when it\n"
    "runs) and its inputs:\n\n"
    "```\n%s%s%s```\n\n"
    "`neoc describe @.expr` lists them with their shapes, the parameters, and the memory of each\n"
    "entry.\n\n"
    "- `neoc train @.expr --data INPUT=FILE,...` trains it, where it has a `train` line: a file for\n"
    "  each input, whose first dimension counts the samples (`neoc help train`).\n"
    "- `neoc grad-check @.expr` and `neoc verify @.expr` check what was generated.\n"
    "- `main.c` prints what the library is, and how much memory it needs: put your program in its\n"
    "  place. `cmake -B build && cmake --build build && build/@`\n";

const char neoc_template_model_main[] =
    "/* Says what @.expr became: its sizes, tensors, entries and memory. The functions that run it are\n"
    " * in @.h. */\n"
    "#include \"@.h\"\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "\n"
    "int main(void)\n"
    "{\n"
    "  size_t n = @_describe(0, NULL, 0) + 1;\n"
    "  char *text = malloc(n);\n"
    "  if (!text) return 1;\n"
    "  @_describe(0, text, n);\n"
    "  fputs(text, stdout);\n"
    "  free(text);\n"
    "  return 0;\n"
    "}\n";

#define MAIN_HEAD                                                                  \
  "#include \"@.h\"\n"                                                             \
  "#include <math.h>\n"                                                            \
  "#include <stdio.h>\n"                                                           \
  "#include <stdlib.h>\n"                                                          \
  "\n"                                                                             \
  "static void check(@_status status, @_ctx *ctx)\n"                               \
  "{\n"                                                                            \
  "  if (status == 0) return;\n"                                                   \
  "  fprintf(stderr, \"@: %s\\n\", ctx ? @_error(ctx) : @_status_text(status));\n" \
  "  exit(1);\n"                                                                   \
  "}\n"                                                                            \
  "\n"                                                                             \
  "static void check_loss(float loss, int step)\n"                                 \
  "{\n"                                                                            \
  "  if (isfinite(loss)) return;\n"                                                \
  "  fprintf(stderr, \"@: step %d: loss is %f\\n\", step, loss);\n"                \
  "  exit(1);\n"                                                                   \
  "}\n"                                                                            \
  "\n"                                                                             \
  "static float uniform(void) { return (float)rand() / (float)RAND_MAX; }\n\n"

#define MAIN_TAIL                                            \
  "  check(@_save(ctx, \"@.safetensors\", NULL, 0), ctx);\n" \
  "  printf(\"saved @.safetensors\\n\");\n"                  \
  "  @_destroy(ctx);\n"                                      \
  "  return 0;\n"                                            \
  "}\n"

/* ---- mlp: points on three spirals */

static const char mlp_model[] =
    "# Points in the plane, in one of three classes: two hidden layers.\n"
    "import nn, optim\n"
    "\n"
    "dim B <= 256  # points in a batch, known at run time\n"
    "dim H = 64\n"
    "input X[B, 2]\n"
    "input Y[B] : i32 < 3\n"
    "\n"
    "h1 = nn.linear(X, out = H)  # h1.W and h1.b are its parameters\n"
    "a1[b, j] = relu(h1[b, j])\n"
    "h2 = nn.linear(a1, out = H)\n"
    "a2[b, j] = relu(h2[b, j])\n"
    "L = nn.linear(a2, out = 3)\n"
    "\n"
    "loss = nn.cross_entropy(L, Y)\n"
    "accuracy = mean[b] f32(argmax[c] L[b, c] == Y[b])\n"
    "\n"
    "output L\n"
    "output test: loss, accuracy\n"
    "train loss using optim.adam(lr = 1e-2)\n";

static const char mlp_main[] =
    "/* Trains @.expr to tell three spirals apart. */\n" MAIN_HEAD "enum { N = 256 };\n"
    "\n"
    "static void make_data(float (*x)[2], int32_t *y)\n"
    "{\n"
    "  for (int i = 0; i < N; i++) {\n"
    "    float r = uniform(), angle = 4 * r + 2.0944f * (float)(i % 3) + 0.2f * uniform();\n"
    "    x[i][0] = r * cosf(angle);\n"
    "    x[i][1] = r * sinf(angle);\n"
    "    y[i] = i % 3;\n"
    "  }\n"
    "}\n"
    "\n"
    "int main(void)\n"
    "{\n"
    "  static float x[N][2];\n"
    "  static int32_t y[N];\n"
    "  float loss, accuracy;\n"
    "  @_ctx *ctx = NULL;\n"
    "  check(@_create(NULL, &ctx), ctx);\n"
    "  for (int step = 1; step <= 1000; step++) {\n"
    "    make_data(x, y);\n"
    "    check(@_step(ctx, N, x[0], y, &loss), ctx);\n"
    "    check_loss(loss, step);\n"
    "    if (step % 200 == 0) printf(\"step %d: loss %.4f\\n\", step, loss);\n"
    "  }\n"
    "  make_data(x, y);\n"
    "  check(@_test(ctx, N, x[0], y, &loss, &accuracy), ctx);\n"
    "  printf(\"new points: loss %.4f, %.1f %% right\\n\", loss, 100 * accuracy);\n" MAIN_TAIL;

/* ---- cnn: bars in noisy pictures */

static const char cnn_model[] =
    "# Pictures of 16 x 16 in two classes: two convolutions with pooling.\n"
    "import nn, optim\n"
    "\n"
    "dim B <= 128  # pictures in a batch, known at run time\n"
    "input X[B, 1, 16, 16]\n"
    "input Y[B] : i32 < 2\n"
    "\n"
    "c1 = nn.conv2d_layer(X, out = 8, size = 3, pad = 1)\n"
    "a1[..] = relu(c1[..])\n"
    "p1 = nn.max_pool2d(a1, size = 2)  # 8 x 8\n"
    "c2 = nn.conv2d_layer(p1, out = 16, size = 3, pad = 1)\n"
    "a2[..] = relu(c2[..])\n"
    "p2 = nn.global_avg_pool(a2)  # one number a channel\n"
    "L = nn.linear(p2, out = 2)\n"
    "\n"
    "loss = nn.cross_entropy(L, Y)\n"
    "accuracy = mean[b] f32(argmax[c] L[b, c] == Y[b])\n"
    "\n"
    "output L\n"
    "output test: loss, accuracy\n"
    "train loss using optim.adam(lr = 3e-3)\n";

static const char cnn_main[] =
    "/* Trains @.expr to tell horizontal bars from vertical ones, in noise. */\n" MAIN_HEAD
    "enum { N = 128, S = 16 };\n"
    "\n"
    "static void make_data(float (*x)[S][S], int32_t *y)\n"
    "{\n"
    "  for (int i = 0; i < N; i++) {\n"
    "    int at = rand() % S;\n"
    "    y[i] = rand() % 2;\n"
    "    for (int p = 0; p < S; p++)\n"
    "      for (int q = 0; q < S; q++)\n"
    "        x[i][p][q] = 0.8f * uniform() + ((y[i] ? p : q) == at ? 0.6f : 0);\n"
    "  }\n"
    "}\n"
    "\n"
    "int main(void)\n"
    "{\n"
    "  static float x[N][S][S];\n"
    "  static int32_t y[N];\n"
    "  float loss, accuracy;\n"
    "  @_ctx *ctx = NULL;\n"
    "  check(@_create(NULL, &ctx), ctx);\n"
    "  for (int step = 1; step <= 300; step++) {\n"
    "    make_data(x, y);\n"
    "    check(@_step(ctx, N, x[0][0], y, &loss), ctx);\n"
    "    check_loss(loss, step);\n"
    "    if (step % 50 == 0) printf(\"step %d: loss %.4f\\n\", step, loss);\n"
    "  }\n"
    "  make_data(x, y);\n"
    "  check(@_test(ctx, N, x[0][0], y, &loss, &accuracy), ctx);\n"
    "  printf(\"new pictures: loss %.4f, %.1f %% right\\n\", loss, 100 * accuracy);\n" MAIN_TAIL;

/* ---- charlm: the next character of a text */

static const char charlm_model[] =
    "# The next character of a text from the 16 before it: a table, a hidden layer, a softmax.\n"
    "import nn, optim\n"
    "\n"
    "dim B <= 128  # examples in a batch, known at run time\n"
    "dim T = 16    # characters of context\n"
    "dim V = 128   # characters there are\n"
    "dim E = 16\n"
    "dim H = 128\n"
    "input X[B, T] : i32 < V\n"
    "input Y[B] : i32 < V\n"
    "\n"
    "param table[V, E] = normal(0, 0.5)\n"
    "param W[T, E, H] = glorot(T*E, H)\n"
    "param b1[H] = 0\n"
    "h[b, j] = relu(sum[t, e] table[X[b, t], e] * W[t, e, j] + b1[j])\n"
    "L = nn.linear(h, out = V)\n"
    "\n"
    "loss = nn.cross_entropy(L, Y)\n"
    "\n"
    "output L\n"
    "output test: loss\n"
    "train loss using optim.adam(lr = 2e-3)\n";

static const char charlm_main[] =
    "/* Trains @.expr on a text, then continues it:  @ TEXT */\n" MAIN_HEAD
    "enum { N = 128, T = 16, V = 128 };\n"
    "\n"
    "static unsigned char text[1 << 20];\n"
    "static long length;\n"
    "\n"
    "static void make_data(int32_t (*x)[T], int32_t *y)\n"
    "{\n"
    "  for (int i = 0; i < N; i++) {\n"
    "    long at = (long)(uniform() * (float)(length - T - 1));\n"
    "    for (int t = 0; t < T; t++) x[i][t] = text[at + t] % V;\n"
    "    y[i] = text[at + T] % V;\n"
    "  }\n"
    "}\n"
    "\n"
    "static int draw(const float *logit)\n"
    "{\n"
    "  float sum = 0, weight[V];\n"
    "  for (int v = 0; v < V; v++) sum += weight[v] = expf(logit[v] / 0.7f);\n"
    "  float left = uniform() * sum;\n"
    "  for (int v = 0; v < V; v++)\n"
    "    if ((left -= weight[v]) <= 0) return v;\n"
    "  return ' ';\n"
    "}\n"
    "\n"
    "int main(int argc, char **argv)\n"
    "{\n"
    "  static int32_t x[N][T], y[N];\n"
    "  float loss, mean = 0, logit[V];\n"
    "  const char *path = argc > 1 ? argv[1] : \"/usr/share/common-licenses/GPL-3\";\n"
    "  FILE *f = fopen(path, \"rb\");\n"
    "  if (!f) return perror(path), 1;\n"
    "  length = (long)fread(text, 1, sizeof text, f);\n"
    "  fclose(f);\n"
    "  if (length < 2 * T) return fprintf(stderr, \"%s: too short\\n\", path), 1;\n"
    "  @_ctx *ctx = NULL;\n"
    "  check(@_create(NULL, &ctx), ctx);\n"
    "  for (int step = 1; step <= 2000; step++) {\n"
    "    make_data(x, y);\n"
    "    check(@_step(ctx, N, x[0], y, &loss), ctx);\n"
    "    check_loss(loss, step);\n"
    "    mean += loss / 500;\n"
    "    if (step % 500) continue;\n"
    "    printf(\"step %d: loss %.4f\\n\", step, mean);\n"
    "    mean = 0;\n"
    "  }\n"
    "  for (int k = 0; k < 300; k++) {\n"
    "    check(@_forward(ctx, 1, x[0], logit), ctx);\n"
    "    int c = draw(logit);\n"
    "    putchar(c);\n"
    "    for (int t = 0; t + 1 < T; t++) x[0][t] = x[0][t + 1];\n"
    "    x[0][T - 1] = c;\n"
    "  }\n"
    "  putchar('\\n');\n" MAIN_TAIL;

const neoc_template neoc_templates[] = {{"mlp", mlp_model, mlp_main},
                                        {"cnn", cnn_model, cnn_main},
                                        {"charlm", charlm_model, charlm_main},
                                        {NULL, NULL, NULL}};
