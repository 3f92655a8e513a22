//! Writes documents: files that appear complete or not at all.
