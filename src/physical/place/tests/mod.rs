//! Placing: against all placements there are, and plans whose answer is known.

mod all_placements;
mod plans;
