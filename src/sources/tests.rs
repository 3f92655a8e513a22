//! The whole way: files on disk, through a scan, to rows and rejects.
