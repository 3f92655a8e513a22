//! What things cost: profiles and estimates.
