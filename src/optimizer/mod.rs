//! Our rules over the logical plan; each file is named as EXPLAIN names it.
