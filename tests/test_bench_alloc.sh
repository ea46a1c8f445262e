#!/bin/sh
# tools/bench alloc: plans what a CSV file lists and says how good the plan is, the same way each time;
# a mistake in a file is told with its line; packed instances and those of networks reach their bound.
set -eu
. "$NEO_SOURCE_DIR/tests/lib.sh"
alloc=$NEO_BUILD_DIR/bin/neo-alloc
needs "$alloc"

# ---- files
printf 'id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n' >small.csv
expect 0 "a small instance" "$alloc" small.csv
says out 'small.csv .* 5 .* 12 .* 12 .* 1.00000 .* optimal .* valid' "a small instance"
printf 'size,id,upper,lower\r\n4,b4,21,9\r\n\r\n4,b1,3,0\r\n4,b5,21,0\r\n4,b3,9,0\r\n4,b2,9,3\r\n' >other.csv
expect 0 "columns and rows in another order" "$alloc" other.csv
says out 'other.csv .* 12 .* 12 .* 1.00000 .* valid' "columns and rows in another order"
printf 'id,lower,upper,size\n' >empty.csv
expect 0 "no buffers" "$alloc" empty.csv
says out 'empty.csv .* 0 .* 0 .* 1.00000 .* valid' "no buffers"
printf 'id,lower,upper,size,alignment,offset\na,0,2,3,4,\nb,0,2,3,4,8\nc,1,2,0,1,\n' >fixed.csv
expect 0 "alignments and offsets" "$alloc" fixed.csv
says out 'fixed.csv .* 3 .* 6 .* 11 .* optimal .* valid' "alignments and offsets"
printf 'id,lower,upper,size,offset\na,0,2,3,0\nb,1,2,3,2\n' >overlap.csv
expect 1 "offsets that overlap" "$alloc" overlap.csv
says out 'INVALID: buffers [12] and [12] overlap' "offsets that overlap"

# ---- mistakes
wrong() { # TEXT LINE MESSAGE
  printf "$1" >wrong.csv
  expect 3 "$3" "$alloc" wrong.csv
  says err "neo-alloc: wrong.csv:$2: $3" "$3"
}
wrong '' 1 'no line names the columns'
wrong 'id,lower,size\n' 1 "no column 'upper'"
wrong 'id,lower,upper,size,gaps\n' 1 "unknown column 'gaps'"
wrong 'id,lower,upper,size,size\n' 1 "two columns 'size'"
wrong 'id,lower,upper,size\na,0,1,2\nb,0,1\n' 3 '3 values, 4 columns'
wrong 'id,lower,upper,size\n\na,0,1,2x\n' 3 "size '2x' is no integer"
wrong 'id,lower,upper,size\na,,1,2\n' 2 "lower '' is no integer"
wrong 'id,lower,upper,size\na,0,1,99999999999999999999\n' 2 'size 99999999999999999999 is too large'
wrong 'id,lower,upper,size\na,0,1,2000000000000000000\nb,0,1,2000000000000000000\n' 3 \
  'the sum of sizes is too large'
wrong 'id,lower,upper,size\na,1,1,2\n' 2 'upper 1 is not above lower 1'
wrong 'id,lower,upper,size\na,0,1,-2\n' 2 'size -2 is negative'
wrong 'id,lower,upper,size,alignment\na,0,1,2,0\n' 2 'alignment 0 is not positive'
wrong 'id,lower,upper,size,alignment,offset\na,0,1,2,4,6\n' 2 'offset 6 is no multiple'
expect 3 "a file that is not there" "$alloc" nowhere.csv
says err 'nowhere.csv: No such file' "a file that is not there"
expect 2 "no file" "$alloc"
expect 2 "an unknown option" "$alloc" --fast small.csv
expect 2 "a budget that is no number" "$alloc" --nodes=few small.csv

# ---- through tools/bench
bench() { NEO_BUILD_DIR=$NEO_BUILD_DIR NEO_DATA=$data "$NEO_SOURCE_DIR/tools/bench" alloc "$@"; }
data=$work/nothing
expect 0 "a file of the caller's folder" bench small.csv
expect 77 "no data" bench
says err "skipped: $data has no" "no data"

[ -z "${NEO_SANITIZE:-}" ] || exit "$status"
data=${NEO_DATA:-${NEO_SHARED:-$NEO_SOURCE_DIR/../shared}/data}
if [ ! -e "$data/minimalloc/A.1048576.csv" ]; then
  echo "the known instances are skipped: no $data/minimalloc"
  exit "$status"
fi
expect 0 "known instances" bench
columns='{ print $1, $2, $3, $4, $5, $6, $8, $9 }'
awk "$columns" out >first
[ "$(grep -c ' 1.00000 .* optimal .* valid' out)" -ge 9 ] || fail "not all reach their bound" out
expect 0 "known instances again" bench
awk "$columns" out | sed '$d' >second
sed '$d' first | cmp -s - second || fail "two runs differ" out
exit "$status"
