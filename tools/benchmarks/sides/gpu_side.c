#define _GNU_SOURCE
#include "tools/benchmarks/sides/gpu_side.h"
#include "include/neo/dlpack.h"
#include "tools/benchmarks/sides/serve.h"

void gpu_must(int bad, const char *what, const char *why) {
  if (bad)
    bench_die(what, why ? why : "failed");
}

/* ---- the driver */

void gpu_open_driver(gpu_side *s) {
  const char *own = getenv("NEO_CUDA_DRIVER");
  void *driver = dlopen(own ? own : "libcuda.so.1", RTLD_NOW);
  cuda_device device;
  int n = 0;
  if (!driver)
    serve_missing(dlerror());
#define FIND(member, symbol, params) *(void **)&s->cuda.member = dlsym(driver, #symbol);
#define NEED(member, symbol, params) \
  if (!s->cuda.member)               \
    serve_missing("the driver lacks " #symbol);
  CUDA_FUNCTIONS(FIND)
  CUDA_LATER_FUNCTIONS(FIND)
  CUDA_FUNCTIONS(NEED)
#undef NEED
#undef FIND
  if (s->cuda.init(0) || s->cuda.device_count(&n) || n == 0)
    serve_missing("there is no GPU");
  gpu_must(s->cuda.device_get(&device, 0), "device", NULL);
  gpu_must(s->cuda.context_retain(&s->context, device), "context", NULL);
  gpu_must(s->cuda.context_push(s->context), "context", NULL);
  gpu_must(s->cuda.stream_create(&s->stream, CUDA_STREAM_NON_BLOCKING), "stream", NULL);
}

cuda_ptr gpu_memory(gpu_side *s, size_t bytes) {
  cuda_ptr p;
  gpu_must(s->cuda.memory_alloc(&p, bytes ? bytes : 1), "memory of the device", NULL);
  return p;
}

/* ---- tensors */

const neo_rt_tensor *gpu_argument(const gpu_side *s, int k) {
  return &s->model->tensors[s->model->entry_args[s->entry->args + k]];
}

static size_t measured(gpu_side *s, const neo_rt_tensor *t, int64_t *shape) {
  size_t n = bench_type_bytes(t->type);
  for (int d = 0; d < t->rank; d++) {
    shape[d] = neo_rt_eval(s->model, s->model->extents[t->extent + d], s->sizes);
    n *= (size_t)shape[d];
  }
  return n;
}

size_t gpu_bytes(gpu_side *s, int k) {
  return measured(s, gpu_argument(s, k), s->shape[k]);
}

static neo_dl_type type_of(const neo_rt_tensor *t) {
  static const uint8_t code[] = {NEO_DL_FLOAT,  NEO_DL_FLOAT, NEO_DL_FLOAT,
                                 NEO_DL_BFLOAT, NEO_DL_INT,   NEO_DL_INT,
                                 NEO_DL_INT,    NEO_DL_UINT,  NEO_DL_BOOL};
  return (neo_dl_type){code[t->type], (uint8_t)(8 * bench_type_bytes(t->type)), 1};
}

static void bind_argument(gpu_side *s, int k) {
  const neo_rt_tensor *t = gpu_argument(s, k);
  size_t bytes = gpu_bytes(s, k);
  s->device[k] = gpu_memory(s, bytes);
  gpu_must(s->cuda.upload(s->device[k], s->host[k], bytes, s->stream), t->name, "upload");
  neo_dl_tensor dl = {.data = (void *)(uintptr_t)s->device[k],
                      .device = {NEO_DL_CUDA, 0},
                      .ndim = t->rank,
                      .dtype = type_of(t),
                      .shape = s->shape[k]};
  gpu_must(neo_rt_bind(s->ctx, s->model->entry_args[s->entry->args + k], &dl), t->name,
           neo_rt_error(s->ctx));
}

static void load_model(gpu_side *s, const char *library, const char *prefix) {
  char symbol[256];
  void *lib = dlopen(library, RTLD_NOW);
  gpu_must(!lib, library, lib ? NULL : dlerror());
  snprintf(symbol, sizeof symbol, "%s_model", prefix);
  s->model = dlsym(lib, symbol);
  gpu_must(!s->model, symbol, "not in the library");
}

static void fill_arguments(gpu_side *s) {
  for (int k = 0; k < s->entry->n_args; k++) {
    int32_t t = s->model->entry_args[s->entry->args + k];
    gpu_must(s->model->tensors[t].rank > GPU_MOST_RANK, "tensor", "has too many axes");
    s->host[k] = bench_array(s->model, &s->model->tensors[t], s->sizes, (unsigned)t + 1);
    (void)gpu_bytes(s, k);
    if (s->model->device)
      bind_argument(s, k);
  }
}

/* The processor's library is for expected values, whatever the number of threads. */
void gpu_open(gpu_side *s, const char *library, const char *prefix, const char *entry) {
  load_model(s, library, prefix);
  if (s->model->device)
    gpu_open_driver(s);
  neo_rt_config config = {.struct_size = sizeof config,
                          .threads = 1,
                          .seed = 1,
                          .stream = s->stream,
                          .flags = NEO_RT_ASYNC | NEO_RT_TRUST_INDICES};
  if (neo_rt_create(s->model, &config, &s->ctx))
    serve_missing(s->ctx ? neo_rt_error(s->ctx) : library);
  s->number = neo_rt_find_entry(s->model, entry);
  gpu_must(s->number < 0, entry, "is no entry");
  s->entry = &s->model->entries[s->number];
  gpu_must(s->entry->n_args > GPU_MOST_TENSORS || s->model->n_sizes > GPU_MOST_SIZES, library,
           "is too large");
  for (int k = 0; k < s->model->n_sizes; k++)
    s->sizes[k] = s->model->sizes[k].hi;
  for (int k = 0; k < s->entry->n_sizes; k++)
    s->given[k] = s->sizes[s->model->entry_sizes[s->entry->sizes + k]];
  fill_arguments(s);
}

bool gpu_keep(gpu_side *s, int32_t number, gpu_kept *out) {
  const neo_rt_tensor *t = &s->model->tensors[number];
  if (!t->in_safetensors || t->rank > GPU_MOST_RANK)
    return false;
  *out = (gpu_kept){.of = t};
  out->bytes = measured(s, t, out->shape);
  out->data = bench_memory(out->bytes);
  gpu_must(neo_rt_get(s->ctx, number, out->data, out->bytes), t->name, neo_rt_error(s->ctx));
  return true;
}

/* ---- running */

void gpu_run(gpu_side *s) {
  gpu_must(s->model->device ? neo_rt_run(s->ctx, s->number)
                            : neo_rt_call(s->ctx, s->number, s->given, s->host),
           "run", neo_rt_error(s->ctx));
}

void gpu_wait(gpu_side *s) {
  gpu_must(neo_rt_wait(s->ctx), "wait", neo_rt_error(s->ctx));
}

void gpu_take(gpu_side *s) {
  gpu_wait(s);
  for (int k = s->entry->n_inputs; s->model->device && k < s->entry->n_args; k++)
    gpu_must(s->cuda.download(s->host[k], s->device[k], gpu_bytes(s, k), s->stream), "download",
             NULL);
  if (s->model->device)
    gpu_must(s->cuda.stream_wait(s->stream), "download", NULL);
}

/* ---- files */

const char *gpu_type_name(uint8_t type) {
  static const char *const names[] = {"F64", "F32", "F16", "BF16", "I64",
                                      "I32", "I8",  "U8",  "BOOL"};
  return names[type];
}

void gpu_save(const char *path, const gpu_tensor *t, int n) {
  char *header;
  size_t length, at = 0;
  FILE *text = open_memstream(&header, &length), *f = fopen(path, "wb");
  gpu_must(!text || !f, path, "cannot be written");
  fputc('{', text);
  for (int k = 0; k < n; k++) {
    fprintf(text, "%s\"%s\": {\"dtype\": \"%s\", \"shape\": [", k ? ", " : "", t[k].name,
            t[k].type);
    for (int d = 0; d < t[k].rank; d++)
      fprintf(text, "%s%lld", d ? ", " : "", (long long)t[k].shape[d]);
    fprintf(text, "], \"data_offsets\": [%zu, %zu]}", at, at + t[k].bytes);
    at += t[k].bytes;
  }
  fputc('}', text);
  fclose(text);
  uint64_t bytes = length;
  fwrite(&bytes, sizeof bytes, 1, f);
  fwrite(header, 1, length, f);
  for (int k = 0; k < n; k++)
    fwrite(t[k].data, 1, t[k].bytes, f);
  free(header);
  gpu_must(fclose(f), path, "cannot be written");
}
