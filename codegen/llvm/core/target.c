/* Choice of the target. The host's features decide the level, and not its CPU name, because virtual
 * machines report wrong ones. The machine is a row of base/machine.def: outputs depend on the
 * compiling machine by its level alone.
 *
 * Features do not say how fast an instruction is. In the time of an f32 multiply-add, VDPBF16PS
 * does twice the work on AMD's processors, and half of it on Intel's. So the maker counts as well,
 * which virtual machines do not hide. */
#include "codegen/llvm/target.h"
#include "base/gpu.h"
#include "base/hash.h"
#include "base/machine_text.h"
#include "base/str.h"
#include "schedule/schedule.h"
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <string.h>

typedef struct {
  const char *arch, *cpu, *triple, *needs; /* needs: features of the host for this level */
  const char *features, *rt_features;
} level;

#define X86_TRIPLE "x86_64-pc-linux-gnu"
#define V3_NEEDS "+avx,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe"
#define V4_NEEDS V3_NEEDS ",+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl"
#define V2_RT "sse3,ssse3,sse4.1,sse4.2,popcnt"
#define V3_RT V2_RT ",avx,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe"

/* Best first. */
static const level levels[] = {
    {"x86_64", "x86-64-v4", X86_TRIPLE, V4_NEEDS, V4_NEEDS,
     V3_RT ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl"},
    {"x86_64", "x86-64-v3", X86_TRIPLE, V3_NEEDS, V3_NEEDS, V3_RT},
    {"x86_64", "x86-64-v2", X86_TRIPLE, "", "+sse4.2,+popcnt", V2_RT},
    {"aarch64", "generic", "aarch64-linux-gnu", "", "+neon,+fp-armv8", "neon,fp-armv8"},
};
enum { N_LEVELS = sizeof levels / sizeof levels[0] };

enum { KNOWN_GPUS = 256 }; /* bytes of a list of names */
#define GPU_PREFIX "nvptx:"
#define ON_HOST "+host"

/* Beyond the level, for kernels that have a variant without them. */
#define MATRIX_NEEDS "+amx-tile,+amx-bf16"
#define MATRIX_RT "amx-tile,amx-bf16"
#define DOTS_NEEDS "+avx512bf16"
#define DOTS_RT "avx512bf16"
#define DOTS_MAKER "znver" /* begins the names of processors on which dots are quick */
#define PLAIN_TILES "+tiles"
#define PLAIN_DOTS "+dots"

static const char *host_arch(void) {
#if defined(__aarch64__)
  return "aarch64";
#else
  return "x86_64";
#endif
}

/* Every "+name" of `needs` is a whole item of `features`. */
static bool has_all(const char *features, const char *needs) {
  size_t n;
  for (const char *p = needs; *p; p += n + (p[n] == ',')) {
    n = strcspn(p, ",");
    const char *q = features;
    for (;;) {
      size_t m = strcspn(q, ",");
      if (m == n && memcmp(p, q, n) == 0)
        break;
      if (!q[m])
        return false;
      q += m + 1;
    }
  }
  return true;
}

static const level *native_level(const char *arch) {
  char *features = LLVMGetHostCPUFeatures();
  const level *found = NULL;
  for (int i = 0; i < N_LEVELS && !found; i++)
    if (neo_streq(levels[i].arch, arch) && has_all(features, levels[i].needs))
      found = &levels[i];
  LLVMDisposeMessage(features);
  return found;
}

static const level *named_level(const char *arch, const char *cpu) {
  for (int i = 0; i < N_LEVELS; i++)
    if (neo_streq(levels[i].arch, arch) && neo_streq(levels[i].cpu, cpu))
      return &levels[i];
  return NULL;
}

/* The level whose instructions a CPU of machine.def has; its own beyond them stay unused, but for
 * tiles and dots. */
static const level *cpu_level(const char *arch, const char *cpu) {
  const neo_machine *row = neo_machine_named(cpu);
  for (int i = 0; row && i < N_LEVELS; i++)
    if (neo_streq(levels[i].arch, arch) && neo_machine_named(levels[i].cpu)->isa == row->isa)
      return &levels[i];
  return NULL;
}

static neo_matrix named_matrix(const char *cpu) {
  if (neo_streq(cpu, "sapphirerapids") || neo_streq(cpu, "graniterapids"))
    return NEO_MATRIX_AMX;
  if (neo_streq(cpu, "znver4") || neo_streq(cpu, "znver5"))
    return NEO_MATRIX_DOTS;
  return NEO_MATRIX_NONE;
}

static neo_matrix native_matrix(void) {
  char *features = LLVMGetHostCPUFeatures(), *name = LLVMGetHostCPUName();
  neo_matrix found = NEO_MATRIX_NONE;
  if (has_all(features, MATRIX_NEEDS))
    found = NEO_MATRIX_AMX;
  else if (has_all(features, DOTS_NEEDS) && !strncmp(name, DOTS_MAKER, strlen(DOTS_MAKER)))
    found = NEO_MATRIX_DOTS;
  LLVMDisposeMessage(features);
  LLVMDisposeMessage(name);
  return found;
}

/* Removes the end from the name, such as "+tiles" from "x86-64-v3+tiles". False: the name has no
 * such end. */
static bool takes_end(neo_arena *a, const char **name, const char *end) {
  size_t n = *name ? strlen(*name) : 0, m = strlen(end);
  if (n <= m || !neo_streq(*name + n - m, end))
    return false;
  *name = neo_arena_strndup(a, *name, n - m);
  return true;
}

static void add_matrix(neo_target *t, neo_matrix kind) {
  t->matrix = kind;
  t->matrix_needs = kind == NEO_MATRIX_AMX ? MATRIX_RT : kind == NEO_MATRIX_DOTS ? DOTS_RT : "";
}

int neo_target_pairs(const neo_target *t) {
  switch (t->matrix) {
  case NEO_MATRIX_AMX:
  case NEO_MATRIX_PLAIN:
    return NEO_PAIRS_TILES;
  case NEO_MATRIX_DOTS:
  case NEO_MATRIX_PLAIN_DOTS:
    return NEO_PAIRS_DOTS;
  default:
    return 0;
  }
}

/* Copies a row of base/machine.def into the target: the processor's, or that of its level if it has
 * none. */
static void take_row(neo_target *t, const neo_machine *row) {
  t->machine = *row;
  t->isa = row->isa;
  t->vector_bytes = row->vector_bytes;
  t->vector_regs = row->vector_regs;
  t->fma = row->fma;
  t->l1_bytes = row->l1_bytes;
  t->l2_bytes = row->l2_bytes;
}

bool neo_target_take(neo_arena *a, neo_target *t, const neo_machine *profile, const char **why) {
  if (profile->isa != t->isa || (t->sm && !neo_streq(profile->name, t->machine.name))) {
    *why = neo_arena_printf(a, "the profile is of %s, the code is for %s", profile->name,
                            t->machine.name);
    return false;
  }
  uint64_t h[2];
  neo_str text = neo_str_in(a);
  neo_machine_print(profile, &text);
  neo_hash128(neo_str_text(&text), text.n, h);
  t->profile = neo_arena_printf(a, "%016llx", (unsigned long long)h[0]);
  t->machine = *profile;
  t->l1_bytes = profile->l1_bytes;
  t->l2_bytes = profile->l2_bytes;
  return true;
}

neo_machine neo_target_machine(const neo_target *t) {
  neo_machine m = t->machine;
  m.matrix = neo_target_pairs(t);
  m.gpu = t->sm != 0;
  m.warps = t->sm;
  m.warpgroups = t->gpu_has & NEO_GPU_WARPGROUPS;
  m.async = t->gpu_has & NEO_GPU_ASYNC;
  m.shared_bytes = t->shared_bytes;
  return m;
}

static void fill(neo_arena *a, const level *v, const char *cpu, neo_target *out) {
  const neo_machine *row = neo_machine_named(cpu);
  *out = (neo_target){.triple = v->triple,
                      .cpu = v->cpu,
                      .tune = neo_streq(cpu, v->cpu) ? NULL : neo_arena_strdup(a, cpu),
                      .level = v->cpu,
                      .features = v->features,
                      .rt_features = v->rt_features,
                      .is_host_arch = neo_streq(v->arch, host_arch())};
  take_row(out, row ? row : neo_machine_named(v->cpu));
}

/* Makes the target an emulated GPU: the instructions of this machine's processor, and all other
 * properties of the GPU. */
static neo_status emulate(neo_arena *a, neo_target *gpu, const char **why) {
  neo_target host;
  neo_status s = neo_target_choose(a, NULL, NULL, &host, why);
  if (s)
    return s;
  gpu->triple = host.triple;
  gpu->cpu = host.cpu;
  gpu->tune = host.tune;
  gpu->features = host.features;
  gpu->fma = host.fma;
  gpu->is_host_arch = true;
  gpu->emulated = true;
  return NEO_OK;
}

/* The message for an unknown level. Names such as "sm_100a" and "sm_120f" request instructions of
 * one generation alone. */
static neo_status unknown_gpu(neo_arena *a, const char *name, const char **why) {
  char known[KNOWN_GPUS];
  neo_gpu_choice x;
  size_t n = strlen(name);
  const char *plain = n ? neo_arena_strndup(a, name, n - 1) : "";
  if (n && strchr("af", name[n - 1]) && neo_gpu_choose(plain, &x)) {
    *why = neo_arena_printf(a, "nothing is generated for %s alone: use nvptx:%s", name, plain);
    return NEO_UNSUPPORTED;
  }
  neo_gpu_names(known, sizeof known);
  *why = neo_arena_printf(a, "unknown GPU '%s' (known: %s)", name, known);
  return NEO_UNSUPPORTED;
}

static neo_status choose_gpu(neo_arena *a, const char *name, const char *mcpu, neo_target *out,
                             const char **why) {
  bool emulated = takes_end(a, &name, ON_HOST);
  if (mcpu) {
    *why = "--mcpu is for processors: a GPU is named by the target, as in nvptx:sm_90a";
    return NEO_UNSUPPORTED;
  }
  neo_gpu_choice x;
  if (!neo_gpu_choose(name, &x))
    return unknown_gpu(a, name, why);
  *out = (neo_target){.triple = "nvptx64-nvidia-cuda",
                      .cpu = x.level->name,
                      .level = x.level->name,
                      .device = neo_arena_strdup(a, x.device),
                      .features = x.level->ptx,
                      .rt_features = "",
                      .matrix_needs = "",
                      .sm = (uint32_t)x.level->capability,
                      .sm_own = x.level->own,
                      .gpu_has = x.level->has,
                      .shared_bytes = x.shared_bytes};
  take_row(out, neo_machine_named(x.device));
  return emulated ? emulate(a, out, why) : NEO_OK;
}

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n > m && neo_streq(text + n - m, end);
}

bool neo_target_waits(const neo_target *t) {
  return t->gpu_has & NEO_GPU_WAITS;
}

bool neo_target_has_ptx(const char *target) {
  return target && strncmp(target, GPU_PREFIX, strlen(GPU_PREFIX)) == 0 &&
         !ends_with(target, ON_HOST);
}

neo_status neo_target_choose(neo_arena *a, const char *target, const char *mcpu, neo_target *out,
                             const char **why) {
  const char *arch = !target || neo_streq(target, "cpu") ? host_arch() : target;
  bool plain_tiles = takes_end(a, &mcpu, PLAIN_TILES), plain_dots = takes_end(a, &mcpu, PLAIN_DOTS);
  bool native = !mcpu || neo_streq(mcpu, "native");
  *why = "";
  if (strncmp(arch, GPU_PREFIX, strlen(GPU_PREFIX)) == 0)
    return choose_gpu(a, arch + strlen(GPU_PREFIX), mcpu, out, why);
  if (!neo_streq(arch, "x86_64") && !neo_streq(arch, "aarch64")) {
    *why = neo_arena_printf(a,
                            "unknown target '%s' (known: cpu, x86_64, aarch64, nvptx:LEVEL such as "
                            "nvptx:sm_80)",
                            arch);
    return NEO_UNSUPPORTED;
  }
  bool is_host = neo_streq(arch, host_arch());
  /* Without a named CPU another architecture gets the level that nearly every machine has. */
  if (native && !is_host)
    mcpu = neo_streq(arch, "x86_64") ? "x86-64-v3" : "generic";
  const level *v = native && is_host ? native_level(arch) : named_level(arch, mcpu);
  const char *cpu = v ? v->cpu : mcpu;
  if (!v)
    v = cpu_level(arch, cpu);
  if (!v) {
    *why =
        neo_arena_printf(a, "unknown CPU '%s' for %s (known levels: %s)", cpu, arch,
                         neo_streq(arch, "x86_64") ? "x86-64-v2, x86-64-v3, x86-64-v4" : "generic");
    return NEO_UNSUPPORTED;
  }
  fill(a, v, cpu, out);
  neo_matrix kind = named_matrix(cpu);
  if (native && is_host)
    kind = out->isa == NEO_ISA_AVX512 ? native_matrix() : NEO_MATRIX_NONE;
  if (neo_streq(arch, "x86_64") && (plain_tiles || plain_dots))
    kind = plain_tiles ? NEO_MATRIX_PLAIN : NEO_MATRIX_PLAIN_DOTS;
  add_matrix(out, kind);
  return NEO_OK;
}
