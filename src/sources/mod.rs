//! Reads documents: files, globs, folders and standard input, in every format, as one table.
