#!/usr/bin/env bash
# Random pipelines against the interpreter of the verbs (tests/suite/differential), many more than `cargo test` tries:
#   tests/differential.sh [pipelines] [first seed]
set -euo pipefail
cd "$(dirname "$0")/.."
CURATOR_DIFFERENTIAL="${1:-20000}" CURATOR_DIFFERENTIAL_SEED="${2:-1000000}" \
    cargo test --test all suite::differential -- --nocapture
