#!/bin/sh
# docs/std.md is what tools/reference makes of models/std; every function of the library is in it, or is a part of one that is;
# every example is a model without errors, what is said of gradients is true, and options without a meaning are refused.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
needs "$NEOC"
std=$NEO_SOURCE_DIR/models/std
page=$NEO_SOURCE_DIR/docs/std.md

"$NEO_SOURCE_DIR/tools/reference" "$NEO_BUILD_DIR" "$work/std.md"
cmp -s "$page" std.md || {
  diff "$page" std.md >difference || true
  fail "docs/std.md is not what tools/reference writes" difference
}

# ---- every function is listed, or another one of the library calls it
for module in nn vision optim schedule linalg; do
  for name in $(sed -n 's/^\(fn\|optimizer\) \([a-z0-9_]*\)(.*/\2/p' "$std/$module.expr"); do
    grep -q "^### $module\.$name\$" "$page" || grep -q "^ .*[ =(]$name(" "$std/$module.expr" ||
      fail "$module.$name has no example in its comment, and no other function calls it"
  done
done

# ---- examples; NAME.facts is the list behind
awk '
  /^## / { name = "" }
  /^### / { name = $2; print name; file = ""; next }
  /^```expr fragment$/ { file = "fragment" ++n ".expr"; next }
  /^```expr$/ { file = name ".expr"; next }
  /^```$/ { file = ""; next }
  file { print > file }
  /^- / && name { print > (name ".facts") }
' std.md >listed
for part in fragment*.expr; do
  "$NEOC" fmt "$part" >/dev/null 2>err || fail "what introduces a section has errors" err
done
# flows RESULT GIVEN: the example has a gradient of the one with respect to the other.
flows() {
  { cat "$name.expr"; printf 'sum_of_it = sum[..] %s[..]\nslope = grad(sum_of_it, %s)\noutput slope\n' "$1" "$2"; } >slope.expr
  "$NEOC" check -q slope.expr >err 2>&1 && return 0
  grep -q 'E051[15]\|E0306' err || fail "the gradient of the example of $name" err # no float, or it does not depend
  return 1
}
# some_flow: some result of the call has a gradient, with respect to what the model gives or to the call's own parameters.
some_flow() {
  results=$(sed -n "s/ = $name(.*//p" "$name.expr" | sed 's/\[[^]]*\]//g; s/,//g; s/\b_\b//g')
  first=${results%% *}
  given=$(sed -n 's/^\(input\|param\) \([A-Za-z0-9_]*\)\(\[[^]]*\]\)\?\( : [bf]*[136][624]\)\?\( = .*\)\?$/\2/p' "$name.expr")
  own=$(sed -n 's/.*Parameters `\([A-Za-z0-9_]*\).*/\1/p' "$name.facts")
  for result in $results; do
    for one in ${own:+"$first.$own"} $given; do
      flows "$result" "$one" && return 0
    done
  done
  return 1
}
while read -r name; do
  [ -e "$name.expr" ] || { fail "$name has no example"; continue; }
  "$NEOC" check -q "$name.expr" >err 2>&1 || fail "the example of $name has errors" err
  grep -q "$name(" "$name.expr" || fail "the example of $name does not call it"
  grep -qs 'Gradient:' "$name.facts" || continue # an optimizer
  if some_flow; then said='yes\|its own'; else said=none; fi
  grep -q "Gradient: \($said\)\$" "$name.facts" || fail "of the gradient of $name: it is $said" "$name.facts"
done <listed

# ---- options without a meaning are refused
while read -r call; do
  printf 'import nn\nimport schedule\ninput t : i64\ninput x[5] : f32\nresult = %s\noutput result\n' "$call" >refused.expr
  expect 1 "$call" "$NEOC" check refused.expr
  says err 'E0215.*assertion fails: ' "$call names the option"
done <<'CALLS'
schedule.step_decay(t, lr = 1, every = 0)
schedule.polynomial(t, lr = 1, steps = 0)
schedule.cosine(t, lr = 1, steps = 0)
schedule.cosine_warmup(t, lr = 1, warmup = 10, steps = 10)
schedule.one_cycle(t, lr = 1, steps = 0)
nn.histogram(x, bins = 0)
CALLS

# ---- modules of others
expect 2 "no module" "$NEOC" doc
expect 3 "a module that is not there" "$NEOC" doc missing.expr
printf 'fn f(x -> y { y = x }\n' >broken.expr
expect 1 "a module with errors" "$NEOC" doc broken.expr
says err 'broken.expr:1' "where the error is"
cat >own.expr <<'MODULE'
# About the module, a*b and `a*b`.

# ---- first
#
# About the section.

fn helper(x) -> y { y = 2*x }

# Twice x. No gradient.
#
#   y = own.twice(3)
#
#   z = nn.relu(y) + own.twice(4)
fn twice(x : real; by : t = 1) -> y, z {
  param W[3] : real = 0
  y, z = case by { 1 { y : i32 = 1; z = helper(x) } else { y : i32 = 2; z[i < 2] = helper(x) } }
}# Twice, and not a block.
#
#   y = 3

# ---- second

fn other(x) -> y { y = x }; fn third(x) -> y { y = x }
# It calls nothing.
#
#   y = 3
fn fourth(x) -> y { y = x }
MODULE
"$NEOC" doc own.expr >own.md || fail "the page of a module"
cat >wanted <<'PAGE'

## own

About the module, a\*b and `a*b`.

- first: [twice](#owntwice)
- second: [fourth](#ownfourth)

**own: first**

About the section.

### own.twice

```text
own.twice(x : real; by : t = 1) -> y, z
```

Twice x. No gradient.

```expr
import own, nn
y = own.twice(3)

z = nn.relu(y) + own.twice(4)
```

- Gives `y : i32`, `z[i < 2]`
- Gradient: none
- Parameters `W[3] : real`
- `real` is the type of `x`
- `t` is the type of `by`

**own: second**

### own.fourth

```text
own.fourth(x) -> y
```

It calls nothing.

```expr
y = 3
```

- Gives `y`
- Gradient: yes
PAGE
cmp -s wanted own.md || { diff wanted own.md >difference || true; fail "the page of a module" difference; }
exit "$status"
