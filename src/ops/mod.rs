//! The operators: one file each, and the registry that holds them.
