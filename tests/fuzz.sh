#!/usr/bin/env bash
# Feeds changed files and queries to curator for a while: ten minutes a target, or so many seconds as the first argument says.
# The second names one target. No panic, no hang; memory has a bound, past which the process dies.
set -euo pipefail
cd "$(dirname "$0")/.."
export CURATOR_FUZZ_SECONDS="${1:-600}"
export CURATOR_FUZZ_SEED="${CURATOR_FUZZ_SEED:-$RANDOM}"
ulimit -v 8000000
exec cargo test --test all -- --nocapture --test-threads 1 "fuzz::${2:-}"
