#!/bin/sh
# An installation by `cmake --install` can be used: headers and libneort through pkg-config, neoc from
# its new place, and a project of its own through find_package(neo) and neoc_add_library.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
not_sanitized
needs "$NEOC" cc
prefix=$work/prefix

cmake --install "$NEO_BUILD_DIR" --prefix "$prefix" >"$work/log" 2>&1 ||
  die "cmake --install" "$work/log"
libdir=$(dirname "$(find "$prefix" -name libneort.so.0)")
for file in include/neo/neo_rt.h include/neo/neo_graph.h include/neo/neo_net.h include/neo/dlpack.h share/neo/std/nn.expr share/neo/zoo/mlp.expr share/neo/zoo/cells.expr \
  share/neo/std/optim.expr share/neo/std/linalg.expr bin/neoc bin/neo-cache; do
  source=$NEO_SOURCE_DIR/$(echo "$file" | sed 's@^share/neo@models@')
  [ -e "$prefix/$file" ] || [ ! -e "$source" ] || die "$file is not installed"
done
for file in libneort.so libneort.a libneo.so pkgconfig/neort.pc pkgconfig/neo.pc cmake/neo/neoConfig.cmake \
  cmake/neo/neoConfigVersion.cmake cmake/neo/neoAddLibrary.cmake; do
  [ -e "$libdir/$file" ] || die "$file is not installed"
done
for file in share/man/man1/neoc.1 share/man/man1/neo-cache.1 \
  share/bash-completion/completions/neoc share/bash-completion/completions/neo-cache \
  share/zsh/site-functions/_neoc share/zsh/site-functions/_neo-cache \
  share/fish/vendor_completions.d/neoc.fish share/fish/vendor_completions.d/neo-cache.fish \
  share/neo/editors/neo.tmLanguage.json share/vim/vimfiles/syntax/neo.vim \
  share/vim/vimfiles/ftdetect/neo.vim; do
  [ -s "$prefix/$file" ] || die "$file is not installed, or empty"
done
for doc in "$NEO_SOURCE_DIR"/docs/*.md "$NEO_SOURCE_DIR/README.md"; do
  [ -n "$(find "$prefix" -name "$(basename "$doc")" -path '*/doc/*')" ] ||
    die "$(basename "$doc") is not installed"
done
for page in neoc neo-cache; do
  grep -q "^.SH $page\|^.SH .*completion" "$prefix/share/man/man1/$page.1" || die "$page.1"
  if command -v man >/dev/null; then
    man -l "$prefix/share/man/man1/$page.1" >/dev/null 2>&1 || die "the format of $page.1"
  fi
done
moved=$work/moved
mv "$prefix" "$moved" # nothing may remember where it was installed
libdir=$moved${libdir#"$prefix"}

# A C program on libneort alone, shared and static.
cat >"$work/rt.c" <<'END'
#include <neo/neo_rt.h>
#include <string.h>
int main(void)
{
  neo_rt_pool *pool = 0;
  if (neo_rt_pool_create(2, &pool) != 0 || neo_rt_pool_threads(pool) != 2)
    return 1;
  neo_rt_pool_destroy(pool);
  return strcmp(neo_rt_status_text(0), "ok") != 0;
}
END
if command -v pkg-config >/dev/null; then
  PKG_CONFIG_PATH=$libdir/pkgconfig
  export PKG_CONFIG_PATH
  # shellcheck disable=SC2046
  cc -Wall -Werror -o "$work/rt" "$work/rt.c" $(pkg-config --cflags --libs neort)
  LD_LIBRARY_PATH=$libdir "$work/rt" || die "the program that pkg-config links"
fi
# The program of the page about libneo, as it is told to be linked.
if command -v pkg-config >/dev/null && [ -e "$libdir/libneo.so" ]; then
  sed -n '/^```c$/,/^```$/p' "$NEO_SOURCE_DIR/docs/library.md" | sed '/^```/d' >"$work/page.c"
  # shellcheck disable=SC2046
  cc -Wall -Wextra -Werror -o "$work/page" "$work/page.c" $(pkg-config --cflags --libs neo)
  LD_LIBRARY_PATH=$libdir "$work/page" >"$work/page.out" || die "the program of docs/library.md"
  said=$(cat "$work/page.out")
  grep -q "It prints .$said." "$NEO_SOURCE_DIR/docs/library.md" ||
    die "docs/library.md: its program prints" "$work/page.out"
fi
cc -Wall -Werror -I"$moved/include" -o "$work/rt_static" "$work/rt.c" "$libdir/libneort.a" \
  -lm -lpthread
"$work/rt_static" || die "the program with libneort.a"

model=$NEO_SOURCE_DIR/models/mnist/mlp.expr

mkdir "$work/consumer"
cp "$model" "$work/consumer/mlp.expr"
cat >"$work/consumer/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES C)
find_package(neo REQUIRED)
neoc_add_library(mlp mlp.expr)
neoc_add_library(mlp_in mlp.expr STATIC)
add_executable(shared main.c)
target_link_libraries(shared PRIVATE mlp)
add_executable(static main.c)
target_link_libraries(static PRIVATE mlp_in)
END
cat >"$work/consumer/main.c" <<'END'
#include "mlp.h"
#include <stdio.h>
int main(void)
{
  mlp_ctx *ctx = 0;
  mlp_status status = mlp_create(0, &ctx);
  if (status != 0)
    fprintf(stderr, "%s\n", ctx ? mlp_error(ctx) : "no context");
  mlp_destroy(ctx);
  return status != 0;
}
END
cd "$work/consumer"
build() {
  cmake -G Ninja -S . -B build -DCMAKE_PREFIX_PATH="$moved" && cmake --build build
}
build >"$work/log" 2>&1 || die "the project with find_package(neo)" "$work/log"
build/shared || die "the program with the shared model"
build/static || die "the program with the static model"

# Into a file: a grep that has found its line would end the build that it reads from.
rebuild() {
  cmake --build build >"$work/log" 2>&1 || die "building again" "$work/log"
}
rebuild
grep -q 'no work to do' "$work/log" || die "an unchanged model is compiled again"
sleep 1
echo "# changed" >>mlp.expr
rebuild
grep -q 'Compiling mlp.expr' "$work/log" || die "a changed model is not compiled again"

# A project that begins with a shipped model.
cd "$work"
"$moved/bin/neoc" new cell --from=lltm >"$work/log" 2>&1 || die "neoc new --from" "$work/log"
cd cell
build >"$work/log" 2>&1 || die "the project of neoc new --from" "$work/log"
build/cell >"$work/log" || die "its program" "$work/log"
grep -q '^  step(B, X, h, c, Y)' "$work/log" || die "its program tells the entries" "$work/log"
