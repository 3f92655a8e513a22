//! Which lists of words a kernel can compare with text in lower case.

use crate::ops::prelude::*;
use crate::ops::scan::is_space;

/// Whether it can, for the option `words`, or why not.
pub(super) fn can_be_listed(args: &Args) -> Result<(), &'static str> {
    let words = args.texts("words");
    // The dot is half of what `İ` becomes.
    if words.iter().any(|word| word.starts_with('\u{307}')) {
        return Err("a word of the list begins with a combining dot");
    }
    if words.iter().any(|word| word.contains(|c: char| is_space(c) && c != ' ')) {
        return Err("a word of the list has white space in it");
    }
    if words.len() > 1000 {
        return Err("more than 1,000 words are looked up faster on the CPU");
    }
    Ok(())
}
