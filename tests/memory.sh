#!/usr/bin/env bash
# Peak memory of whole runs: queries that hold much, over data larger than the limit, each compared with the run without one.
#
#   tests/memory.sh [MEGABYTES] [CASE…]     200 MB and all cases unless said otherwise
#
# CURATOR   the program (a release build; else `cargo run`'s)        LIMIT    the memory limit, 512MB
# THREADS   thread counts, "2 16"                                    WORK     a folder with room for six times the data
#
# A line for each run: the greatest resident set, what lay in temporary files at most, seconds, and whether the bytes are those
# of the run without a limit. A resident set of more than the limit and 200 MB, or other bytes, is an error.
set -euo pipefail
megabytes=${1:-200}
shift || true
only=" $* "
curator=${CURATOR:-$(dirname "$0")/../target/debug/curator}
limit=${LIMIT:-512MB}
threads=${THREADS:-2 16}
work=${WORK:-$(mktemp -d)}
allowed_mb=$((${limit%MB} + 200))
failed=0
mkdir -p "$work"
[ -n "${WORK:-}" ] || trap 'rm -rf "$work"' EXIT

run() { "$curator" query -q "$@"; }

# Documents of some 900 bytes: every ninth is a copy, every seventh has one word changed, many share lines; among them three of
# 50 MB. And rows of a key each, as many as make five million groups of 4 GB.
make_data() {
  mkdir -p "$work/plain"
  awk -v bytes=$((megabytes * 1000000)) -v folder="$work/plain" 'BEGIN {
    state = 42; n = 0; file = 0
    for (i = 0; i < 4096; i++) word[i] = sprintf("%c%c%s%d", 97 + i % 26, 97 + int(i / 26) % 26, i % 3 ? "en" : "tion", i % 97)
    while (n < bytes) {
      id++
      if (id % 9 == 0 && text != "") again = text; else again = ""
      if (again == "") {
        text = ""
        for (line = 0; line < 6; line++) {
          for (w = 0; w < 18; w++) { state = (state * 1103515245 + 12345) % 2147483648; text = text word[int(state / 524288)] " " }
          text = text "\\n"
        }
        if (id % 5 == 0) text = text "all rights reserved by nobody in particular\\n"
      }
      shown = text
      if (id % 7 == 0) sub(/en[0-9]+/, "changed", shown)
      row = sprintf("{\"id\":%d,\"bucket\":%d,\"key\":%d,\"text\":\"%s\"}\n", id, id % 1000, (id * 7919) % 1000003, shown)
      printf "%s", row > (folder "/part-" (int(n * 8 / bytes)) ".jsonl")
      n += length(row)
    }
  }'
  for number in 1 2 3; do
    { printf '{"id":%d,"bucket":%d,"key":%d,"text":"' $((-number)) $number $number
      head -c 50000000 < <(yes "long document number $number of words") | tr '\n' ' '
      printf '"}\n'; } >> "$work/plain/part-$((number * 2)).jsonl"
  done
  awk -v rows=$((megabytes * 1250)) 'BEGIN { for (i = 0; i < rows; i++) printf "{\"k\":\"key-%d\",\"n\":%d}\n", (i * 7919) % rows, i }' > "$work/keys.jsonl"
  for packed in jsonl.gz jsonl.zst parquet; do
    options="format = '${packed%%.*}'"
    case $packed in *.*) options="$options, compression = '$( [ "${packed#*.}" = gz ] && echo gzip || echo zstd )'" ;; esac
    run --threads 2 -e "FROM '$work/plain/' |> INTO '$work/${packed//./-}/' WITH ($options, max_file_size = '64MB')"
  done
}

# The bytes of an output, without the manifest, which has times.
sum() { find "$1" -type f ! -name '_manifest.json' ! -name '.*' | LC_ALL=C sort | xargs cat | sha256sum | cut -c1-16; }

# Runs one query under a limit; sets peak_mb, spill_mb, seconds, and code.
watched() {
  local started=$SECONDS pid spilled
  peak_mb=0 spill_mb=0 code=0
  "$curator" query -q "$@" > "$work/told" 2>&1 &
  pid=$!
  while kill -0 $pid 2>/dev/null; do
    now=$(awk '/VmHWM/ { print int($2 / 1000) }' /proc/$pid/status 2>/dev/null || true)
    [ "${now:-0}" -gt $peak_mb ] && peak_mb=$now
    spilled=$(find /proc/$pid/fd -lname '*(deleted)' -exec stat -L -c %b {} + 2>/dev/null | awk '{ n += $1 } END { print int(n * 512 / 1000000) }' || true)
    [ "${spilled:-0}" -gt $spill_mb ] && spill_mb=$spilled
    sleep 0.1
  done
  wait $pid || code=$?
  seconds=$((SECONDS - started))
}

one_case() {
  local name=$1 query=$2 options=${3:-}
  [ "$only" = "  " ] || [[ "$only" == *" $name "* ]] || return 0
  rm -rf "$work/expected"
  run --threads 2 --memory 1000GB -e "$query |> INTO '$work/expected/' WITH (format = 'jsonl'$options)"
  local expected
  expected=$(sum "$work/expected")
  rm -rf "$work/expected"
  for n in $threads; do
    rm -rf "$work/out"
    watched --threads "$n" --memory "$limit" -e "$query |> INTO '$work/out/' WITH (format = 'jsonl'$options)"
    local equal=no
    [ $code = 0 ] && [ "$(sum "$work/out")" = "$expected" ] && equal=yes
    [ $equal = yes ] && [ $peak_mb -le $allowed_mb ] || failed=1
    printf '%-14s %3s %8s MB %8s MB %6s s  %s\n' "$name" "$n" $peak_mb $spill_mb $seconds $equal
    [ $code = 0 ] || sed 's/^/    /' "$work/told" | head -5
  done
}

[ -d "$work/parquet" ] || make_data
printf '%-14s %3s %11s %11s %8s  %s\n' case thr peak spill time equal
plain="FROM '$work/plain/'"
for format in plain jsonl-gz jsonl-zst parquet; do
  one_case "filters-${format#jsonl-}" "FROM '$work/$format/' |> WHERE words(text) > 20 AND gopher_repetition(text)"
done
one_case exact "$plain |> DEDUP EXACT ON text"
one_case exact-parquet "FROM '$work/parquet/' |> DEDUP EXACT ON text"
one_case fuzzy "$plain |> DEDUP FUZZY ON text"
one_case lines "$plain |> DEDUP LINES ON text"
one_case substring "$plain |> DEDUP SUBSTRING ON text"
one_case order "$plain |> ORDER BY text, id"
one_case distinct "$plain |> DISTINCT ON (text)"
one_case shuffle "$plain |> SHUFFLE SEED 7"
one_case sample "$plain |> SAMPLE 100000 ROWS"
one_case group "FROM '$work/keys.jsonl' |> AGGREGATE count(*) AS n, max(n) AS most GROUP BY k |> ORDER BY k"
one_case join "$plain AS a |> JOIN '$work/jsonl-zst/' AS b ON a.id = b.id |> SELECT a.id, b.text"
one_case hive "$plain" ", partition_by = 'bucket'"
exit $failed
