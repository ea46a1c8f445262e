#!/bin/sh
# The command line itself: exit codes, help from the one table, messages for wrong usage, fmt, new,
# doctor, describe, and what goes to stdout and what to stderr.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"

cat >good.expr <<'END'
dim B <= 8
input X[B, 4]
param W[4, 3] = 0.5
Y[b, j] = relu(sum[i] X[b, i] * W[i, j]) + 1
output Y
END
printf 'input X[4]\nY[i] = X[i+1]\noutput Y\nZ[i] = Q[i]\n' >bad.expr

# ---- exit codes
expect 0 "check of a good model" "$NEOC" check good.expr
says out 'good.expr: ok' "check"
[ ! -s err ] || fail "check of a good model writes to stderr"
expect 1 "check of a bad model" "$NEOC" check bad.expr
says err 'bad.expr:2:.*error\[E0' "check of a bad model"
says err 'bad.expr:4:.*error\[E0' "all errors in one run"
[ ! -s out ] || fail "diagnostics on stdout"
expect 3 "a model that is not there" "$NEOC" check nothere.expr
says err 'nothere.expr: No such file' "a model that is not there"
expect 3 "an output folder that cannot be made" "$NEOC" compile good.expr -o good.expr/x
expect 2 "no command" "$NEOC"
expect 2 "an unknown command" "$NEOC" comple
says err 'did you mean compile' "an unknown command"
expect 2 "an unknown option" "$NEOC" compile --emitt=so good.expr
says err 'did you mean --emit' "an unknown option"
expect 2 "an option of another command" "$NEOC" check --epochs=3 good.expr
expect 2 "an option without its value" "$NEOC" compile good.expr --emit
expect 2 "a value for an option that takes none" "$NEOC" compile --quiet=1 good.expr
expect 2 "two models" "$NEOC" check good.expr good.expr
expect 2 "a wrong kind" "$NEOC" compile good.expr --emit=exe
expect 2 "PTX of a processor" "$NEOC" compile good.expr --emit=ptx
says err 'emit=ptx is for a GPU' "PTX of a processor"
expect 4 "an unknown GPU" "$NEOC" compile good.expr --target=nvptx:sm_12 -o o
says err 'unknown GPU .*known: sm_75' "an unknown GPU"
expect 4 "a processor beside a GPU" "$NEOC" compile good.expr --target=nvptx:sm_80 --mcpu=native
says err 'named by the target' "a processor beside a GPU"
expect 2 "another precision" "$NEOC" compile good.expr --math=f16
says err 'math=f16 is not available' "another precision"
expect 2 "a prefix that is no name" "$NEOC" compile good.expr --prefix=7up -o o
expect 4 "an unknown target" "$NEOC" compile good.expr --target=vax -o o
expect 2 "a pass that is not there" "$NEOC" check good.expr --skip-pass=magic
expect 2 "a pass that is needed" "$NEOC" check good.expr --skip-pass=autodiff
expect 1 "a constant that is not there" "$NEOC" check good.expr -D NOPE=3
expect 2 "the IR after a pass that is not there" "$NEOC" explain good.expr --after=rfactr
says err "after: there is no pass 'rfactr' (did you mean 'rfactor'?): they are front, wrapping" \
  "the IR after a pass that is not there"
expect 2 "the IR after what is no pass" "$NEOC" explain good.expr --after=fuse
says err "there is no pass 'fuse': they are front, .*prepack" "the IR after what is no pass"
expect 2 "the old name of a pass" "$NEOC" check good.expr --skip-pass=filter
says err "skip-pass: the pass 'filter' is called 'winograd' now" "the old name of a pass"
expect 2 "the old name of a kind of fusion" "$NEOC" explain good.expr --no-fuse=nest
says err "no-fuse: the kind 'nest' is called 'nested' now" "the old name of a kind of fusion"
expect 0 "fewer passes" "$NEOC" check good.expr --passes=cse

# ---- a model that names no result
printf 'input X[4]\nY[i] = X[i]\n' >silent.expr
expect 0 "check of a model without entries" "$NEOC" check silent.expr
says err "warning\[W0440\]: the model has neither 'output' nor 'train'" "check of a model without entries"
says err 'help: name what is wanted: output Y' "check of a model without entries"
for command in compile run verify; do
  expect 1 "$command of a model without entries" "$NEOC" "$command" silent.expr
  says err "error\[E0439\]: the model has neither 'output' nor 'train'" "$command without entries"
done
[ ! -e libsilent.so ] || fail "a model without entries is compiled"

# ---- JSON
expect 1 "JSON of a bad model" "$NEOC" check --format=json bad.expr
says out '"code": *"E0' "JSON of a bad model"
says out '"ok": false' "JSON of a bad model"
expect 0 "JSON of a good model" "$NEOC" compile --format=json good.expr -o o
says out '"ok": true' "JSON of a good model"
says out '"frame_bytes"' "JSON of a good model"
if command -v python3 >/dev/null; then
  python3 -c 'import json, sys; json.load(open("out"))' || fail "the result is not JSON"
fi

# ---- help: every command has one, and the man page names every option
expect 0 help "$NEOC" help
commands='compile check run train grad-check verify tune explain describe cache fmt doc new doctor completion help version'
[ "$(sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p' out | sort | xargs)" = "$(echo $commands | xargs -n 1 | sort | xargs)" ] ||
  fail "the help lists other commands than this test" out
for command in $commands; do
  expect 0 "$command --help" "$NEOC" "$command" --help
  says out "usage: neoc $command" "$command --help"
  expect 0 "help $command" "$NEOC" help "$command"
done
expect 0 "the help of run" "$NEOC" run --help
says out '\[\[1,2\],\[3,4\]\]' "the help of run: forms of values"
expect 0 "the help of compile" "$NEOC" compile --help
sed -n 's/^  .*--\([a-z-]*\).*/\1/p' out | sed 1q | grep -qx output || fail "help of compile begins with its results"
sed '1,/^looking for a fault/d' out | grep -q -- --skip-pass || fail "developers' options are the last section"
sed '/^looking for a fault/,$d' out | grep -q -- --skip-pass && fail "developers' options are the last section"
expect 0 "the man page" "$NEOC" help man
says out 'random:42' "the man page: forms of values"
says out 'dump.*after' "the man page"
if command -v man >/dev/null; then man -l ./out >/dev/null 2>&1 || fail "the man page's format"; fi
for shell in bash zsh fish; do
  expect 0 "completion for $shell" "$NEOC" completion $shell
  says out 'json' "completion for $shell"
  if command -v $shell >/dev/null; then $shell -n ./out || fail "the completion's syntax in $shell"; fi
done
expect 2 "completion for another shell" "$NEOC" completion tcsh
expect 0 version "$NEOC" version
says out '^neoc [0-9]' version

if command -v bash >/dev/null; then
  "$NEOC" completion bash >neoc.bash
  cat >complete.bash <<'END'
. ./neoc.bash
compopt() { :; }
try() { # COMMAND LINE: what could follow
  COMP_WORDS=($1) COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _neoc
  echo "${COMPREPLY[*]}"
}
try "neoc comp"
try "neoc run --interp --form"
try "neoc compile --runtime = st"
try "neoc grad-check --samp"
try "neoc compile --samp"
END
  bash complete.bash >completed || fail "the completion in bash"
  printf '%s\n' "compile completion" "--format=" static --samples= "" >wanted
  cmp -s completed wanted || fail "what bash completes" completed
fi

# ---- what the compiler writes and prints
expect 0 "compile" "$NEOC" compile good.expr -o o --emit=so,a,o,h,ll,s,json --depfile=o/good.d
for file in libgood.so libgood.a good.o good.h good.ll good.s good.json good.d; do
  [ -s "o/$file" ] || fail "compile does not write $file"
done
says out 'forward: memory .* lower bound' "compile"
says o/good.d 'good.expr' "the depfile"
expect 0 "compile for a GPU" "$NEOC" compile good.expr -o g --target=nvptx:sm_80
for file in libgood.so good.h good.ptx; do
  [ -s "g/$file" ] || fail "compile for a GPU does not write $file"
done
expect 0 "describe a library for a GPU" "$NEOC" describe g/libgood.so
says out 'target nvptx64-nvidia-cuda sm_80' "describe a library for a GPU"
cp out described
expect 0 "describe a model for a GPU" "$NEOC" describe good.expr --target=nvptx:sm_80
cmp -s out described || fail "a library for a GPU describes itself in another way than the model"
cmp -s o/good.h g/good.h || fail "the header for a GPU is another one"
expect 0 "compile -q" "$NEOC" compile -q good.expr -o o
[ ! -s out ] || fail "compile -q prints"
for symbol in $(nm -D --defined-only o/libgood.so | awk '{ print $3 }'); do
  case $symbol in good_*) ;; *) fail "the library exports $symbol" ;; esac
done
expect 0 "describe a model" "$NEOC" describe good.expr
says out 'X\[B, 4\] : f32' "describe a model"
cp out described
expect 0 "describe a library" "$NEOC" describe o/libgood.so
cmp -s out described || fail "the library describes itself in another way than the model"
expect 3 "describe no library" "$NEOC" describe good.so
expect 0 "explain" "$NEOC" explain good.expr --after=front
says out '^neo-ir 1' "explain"
cp out again.ir
expect 0 "textual IR is a model too" "$NEOC" check again.ir
expect 0 "explain kernels" "$NEOC" explain good.expr --kernels --groups --schedule
says out '^neo-loop 2' "explain kernels"
expect 0 "dump" "$NEOC" check good.expr --dump-after=all
says err '# after simplify' "dump"

# ---- fmt
printf 'input   X[4]\nY[i]=X[i]+1 # c\noutput Y\n' >ugly.expr
expect 1 "fmt --check of an ugly file" "$NEOC" fmt --check ugly.expr
expect 0 "fmt" "$NEOC" fmt ugly.expr
cp out pretty.expr
expect 0 "fmt -w" "$NEOC" fmt -w ugly.expr
cmp -s ugly.expr pretty.expr || fail "fmt -w and fmt differ"
expect 0 "fmt --check afterwards" "$NEOC" fmt --check ugly.expr
printf 'input X[\n' >broken.expr
expect 1 "fmt of a broken file" "$NEOC" fmt -w broken.expr
[ "$(cat broken.expr)" = 'input X[' ] || fail "fmt -w changes a broken file"

# ---- new
for template in mlp cnn charlm; do
  expect 0 "new $template" "$NEOC" new "p_$template" --template=$template
  expect 0 "check of the new $template" "$NEOC" check "p_$template/p_$template.expr"
  expect 0 "format of the new $template" "$NEOC" fmt --check "p_$template/p_$template.expr"
done
expect 3 "new over a folder" "$NEOC" new p_mlp
expect 2 "new with a bad name" "$NEOC" new a-b
expect 2 "new from nothing" "$NEOC" new x --template=gan
# A model that comes with neoc, with the modules that it imports.
expect 0 "new from a model" "$NEOC" new p_caps --from=capsulenet
cmp -s p_caps/p_caps.expr "$NEO_SOURCE_DIR/models/zoo/capsulenet.expr" || fail "the new model is not that of --from"
[ -f p_caps/capsules.expr ] && [ ! -e p_caps/nn.expr ] || fail "modules beside the model are copied, those of the library are not"
expect 0 "check of the new model" "$NEOC" check p_caps/p_caps.expr
says p_caps/README.md '^input X\[B, 1, H, H\]$' "the inputs are told"
says p_caps/README.md 'Dynamic routing between capsules' "the source is told"
expect 3 "new from a model over a folder" "$NEOC" new p_caps --from=mlp
expect 2 "new from a model that is not there" "$NEOC" new x --from=resnet
says err "no model 'resnet' (did you mean resnet18 or resnet50?)" "names that contain it are suggested"
expect 2 "new from a misspelt model" "$NEOC" new x --from=mamab
says err "did you mean mamba" "near names are suggested"
expect 2 "new from a module" "$NEOC" new x --from=cells
expect 2 "new with a module's name" "$NEOC" new cells --from=lltm
expect 2 "a model and a template" "$NEOC" new x --from=mlp --template=cnn
expect 2 "a list and a name" "$NEOC" new x --list
[ ! -e x ] && [ ! -e cells ] || fail "a refused project has a folder"
expect 0 "the models" "$NEOC" new --list
for model in "$NEO_SOURCE_DIR"/models/zoo/*.expr "$NEO_SOURCE_DIR"/docs/gallery/*.expr; do
  grep -qE '^(train|output)' "$model" || continue # a module
  grep -q "^$(basename "$model" .expr) .*[.]\$" out || fail "--list has no sentence on $model"
done
awk 'length > 142 { print; bad = 1 } END { exit bad || NR < 30 }' out >long || fail "lines of --list are short" long

# ---- doctor: nothing may be missing where the tests run
expect 0 doctor "$NEOC" doctor
says out 'Nothing is missing' doctor
expect 1 "doctor without a compiler" env CC=no-such-cc "$NEOC" doctor
says out 'MISSING.*no-such-cc' "doctor without a compiler"

# ---- colour only where asked for or on a terminal
expect 1 "colour" "$NEOC" check --color=always bad.expr
says err "$(printf '\033')" "colour"
expect 1 "no colour" "$NEOC" check bad.expr
! grep -q "$(printf '\033')" err || fail "colour on a file"
exit "$status"
