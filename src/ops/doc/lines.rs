//! Lines: what line feeds separate, as `text.split('\n')` gives them. A document has at least one.

/// The lines of a document.
#[derive(Debug, Default)]
pub struct Lines {
    /// Where each line begins and ends, in bytes, without its line feed.
    pub spans: Vec<(u32, u32)>,
}

impl Lines {
    pub(super) fn read(&mut self, text: &str) {
        self.spans.clear();
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]) {
            self.spans.push((start, end as u32));
            start = end as u32 + 1;
        }
    }

    /// The lines themselves; `text` is the document.
    pub fn iter<'t>(&self, text: &'t str) -> impl Iterator<Item = &'t str> {
        self.spans.iter().map(move |&(start, end)| text.get(start as usize..end as usize).unwrap_or_default())
    }
}
