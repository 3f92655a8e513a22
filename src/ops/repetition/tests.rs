//! The operators on n-grams and lines against their definitions.
