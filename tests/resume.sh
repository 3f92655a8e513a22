#!/usr/bin/env bash
# A run that is killed at random moments and gone on with (tests/suite/resume.rs), many more times than `cargo test` tries,
# and at other moments each time; the seed brings them back:
#   tests/resume.sh [kills] [seed]
set -euo pipefail
cd "$(dirname "$0")/.."
seed="${2:-$(date +%s)}"
echo "seed $seed"
CURATOR_KILLS="${1:-50}" CURATOR_KILLS_SEED="$seed" \
    cargo test --test all a_run_killed_at_any_moment_goes_on_and_ends_with_the_same_bytes -- --nocapture
