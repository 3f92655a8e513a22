//! Texts by their bytes: which of them another text begins with.

/// A tree of bytes in arrays: the children of a node stand side by side, in the order of their bytes.
#[derive(Debug)]
pub(super) struct Trie {
    nodes: Vec<Node>,
    /// The byte that leads to each node.
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    first_child: u32,
    n_children: u16,
    /// The number of the text that ends here.
    number: u32,
}

const NONE: u32 = u32::MAX;

impl Trie {
    /// The trie of texts with their numbers. Of equal texts the first counts.
    pub(super) fn new(mut texts: Vec<(&[u8], u32)>) -> Self {
        texts.sort_by(|a, b| a.0.cmp(b.0));
        texts.dedup_by_key(|(text, _)| *text);
        let mut trie = Self { nodes: vec![Node { first_child: 0, n_children: 0, number: NONE }], bytes: vec![0] };
        // Nodes whose children are to be made, each with its texts and the number of bytes that lead to it.
        let mut open = std::collections::VecDeque::from([(0, texts.as_slice(), 0)]);
        while let Some((node, mut texts, depth)) = open.pop_front() {
            if let Some((text, number)) = texts.first()
                && text.len() == depth
            {
                trie.nodes[node].number = *number;
                texts = &texts[1..];
            }
            trie.nodes[node].first_child = trie.nodes.len() as u32;
            for group in texts.chunk_by(|a, b| a.0[depth] == b.0[depth]) {
                trie.nodes[node].n_children += 1;
                open.push_back((trie.nodes.len(), group, depth + 1));
                trie.nodes.push(Node { first_child: 0, n_children: 0, number: NONE });
                trie.bytes.push(group[0].0[depth]);
            }
        }
        trie
    }

    /// Each text that the given one begins with, as its bytes and its number, the shortest first.
    pub(super) fn beginning(&self, text: &[u8]) -> impl Iterator<Item = (usize, u32)> {
        let mut node = self.nodes[0];
        let ways = text.iter().enumerate().map_while(move |(i, byte)| {
            let first = node.first_child as usize;
            let children = &self.bytes[first..first + usize::from(node.n_children)];
            let place = if children.len() < 8 {
                children.iter().position(|b| b == byte)
            } else {
                children.binary_search(byte).ok()
            };
            node = self.nodes[first + place?];
            Some((i + 1, node.number))
        });
        ways.filter(|(_, number)| *number != NONE)
    }
}
