//! Rust source as the house rules see it: code without comments, texts and tests.
//!
//! Invariant: line feeds stay where they are, so that lines keep their numbers.

/// `text` with spaces in place of comments and of the contents of texts and characters.
pub fn without_comments_and_texts(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let is_in_word = at > 0 && is_word(bytes[at - 1]);
        let (skipped, kept) = match rest {
            [b'/', b'/', ..] => (rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len()), 0),
            [b'/', b'*', ..] => (block_comment(rest), 0),
            [b'r', ..] if !is_in_word && raw_text(rest).is_some() => (raw_text(rest).unwrap(), 0),
            [b'b', b'r', ..] if !is_in_word && raw_text(&rest[1..]).is_some() => (1 + raw_text(&rest[1..]).unwrap(), 0),
            [b'"', ..] => (quoted(rest, b'"').unwrap_or(rest.len()), 1),
            // A lifetime has no quote at its end.
            [b'\'', ..] => (character(rest).unwrap_or(0), 1),
            _ => (0, 0),
        };
        if skipped > 2 * kept {
            let inside = at + kept..at + skipped - kept;
            out[inside].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        at += skipped.max(1);
    }
    String::from_utf8(out).unwrap()
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of `r#"…"#` with any number of hashes.
fn raw_text(rest: &[u8]) -> Option<usize> {
    let n_hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
    let end: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', n_hashes)).collect();
    let body = rest[1 + n_hashes..].strip_prefix(b"\"")?;
    let length = body.windows(end.len()).position(|window| window == end).map_or(body.len(), |at| at + end.len());
    Some(2 + n_hashes + length)
}

fn quoted(rest: &[u8], quote: u8) -> Option<usize> {
    let mut at = 1;
    while let Some(byte) = rest.get(at) {
        match byte {
            b'\\' => at += 2,
            byte if *byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

fn character(rest: &[u8]) -> Option<usize> {
    if rest.get(1) == Some(&b'\\') {
        return quoted(rest, b'\'');
    }
    let length = std::str::from_utf8(&rest[1..rest.len().min(5)])
        .or_else(|error| std::str::from_utf8(&rest[1..1 + error.valid_up_to()]))
        .ok()?
        .chars()
        .next()?
        .len_utf8();
    (rest.get(1 + length) == Some(&b'\'')).then_some(length + 2)
}

/// `text` with empty lines in place of the items that only tests have.
pub fn production(text: &str) -> String {
    let code = without_comments_and_texts(text);
    let mut out = text.as_bytes().to_vec();
    for start in gates(&code) {
        let end = end_of_item(&code[start..]).map_or(code.len(), |length| start + length);
        out[start..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8(out).unwrap()
}

/// Where an attribute says that the next item is for tests.
fn gates(code: &str) -> Vec<usize> {
    let mut found: Vec<usize> = code.match_indices("#[cfg(test)]").map(|(at, _)| at).collect();
    found.extend(code.match_indices("#[cfg(all(test,").map(|(at, _)| at));
    found
}

/// The length of the item that begins here with an attribute: to the `;` or `,` outside of brackets, or to the `}` that
/// closes its body.
fn end_of_item(code: &str) -> Option<usize> {
    let mut depth = 0;
    let mut was_attribute = true;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 => return Some(at),
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth > 0 {
            continue;
        }
        match c {
            '#' => was_attribute = true,
            ']' if was_attribute => was_attribute = false,
            // `use a::{b, c};` goes on after the brace.
            '}' if !code[at + 1..].starts_with([';', ',']) => return Some(at + 1),
            ';' | ',' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// The names that `code` takes from the root of the crate: `crate::a`, each of `crate::{a, b::c}`, and as many `super`s
/// as the file has modules above it.
pub fn names_from_root(code: &str, depth: usize) -> Vec<String> {
    let mut names = Vec::new();
    let supers = "super::".repeat(depth);
    for path in ["crate::", supers.as_str()].into_iter().filter(|path| !path.is_empty()) {
        for (at, _) in code.match_indices(path) {
            let before = code[..at].bytes().last();
            if before.is_some_and(|byte| is_word(byte) || byte == b':') {
                continue;
            }
            first_names(&code[at + path.len()..], &mut names);
        }
    }
    names
}

/// The first name of a path, or of each path of a group.
fn first_names(code: &str, names: &mut Vec<String>) {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(group) = code.trim_start().strip_prefix('{') else {
        names.push(name(code.trim_start()));
        return;
    };
    let mut depth = 1;
    let mut is_first = true;
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => is_first = true,
            c if is_first && !c.is_whitespace() => {
                names.push(name(&group[at..]));
                is_first = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
}

/// Whether `word` stands in `code` by itself.
pub fn has_word(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].bytes().last();
        let after = code[at + word.len()..].bytes().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// The names that a module gives to everyone, but for uses that its documentation hides.
pub fn public_names(text: &str) -> Vec<String> {
    let code = without_comments_and_texts(&production(text));
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = Vec::new();
    for (at, _) in code.match_indices("\npub ") {
        let item = &code[at + "\npub ".len()..];
        let Some(used) = item.strip_prefix("use ") else {
            let words: Vec<&str> = item.split(|c| !is_of_name(c)).filter(|word| !word.is_empty()).collect();
            let is_kind =
                |word: &str| ["mod", "struct", "enum", "trait", "fn", "type", "const", "static"].contains(&word);
            names.extend(words.iter().find(|word| !is_kind(word)).map(|name| (*name).to_string()));
            continue;
        };
        if code[..at].ends_with("#[doc(hidden)]") {
            continue;
        }
        let used = &used[..used.find(';').unwrap_or(used.len())];
        let given =
            used.rsplit_once("::{").map_or_else(|| used.rsplit("::").next().unwrap_or(used), |(_, group)| group);
        names.extend(given.split(',').filter_map(|name| {
            let name = name.rsplit(' ').find(|word| word.contains(is_of_name))?;
            Some(name.trim_matches(|c| !is_of_name(c)).to_string())
        }));
    }
    names
}

#[test]
fn comments_and_texts_are_not_code() {
    for (text, expected) in [
        ("a // b\nc", "a     \nc"),
        ("f(\"http://x\").g()", "f(\"        \").g()"),
        ("a /* b /* c */ d */ e", "a                   e"),
        ("r#\"a\"b\"# c", "         c"),
        ("'\\'' '\"' b", "'  ' ' ' b"),
        ("fn f<'a>(x: &'a str) // b", "fn f<'a>(x: &'a str)     "),
    ] {
        assert_eq!(without_comments_and_texts(text), expected);
    }
}

#[test]
fn only_items_of_tests_are_left_out() {
    for (text, expected) in [
        ("a\n#[cfg(test)]\nmod tests;\nb", "a b"),
        ("#[cfg(test)]\n#[allow(x)]\nmod tests {\n fn f() {}\n}\nafter", "after"),
        ("#[cfg(test)]\nuse a::{b, c};\nd", "d"),
        ("#[cfg(test)]\nfn f(a: [u8; 2]) -> u8 {\n 1\n}\nb", "b"),
        ("S {\n a,\n #[cfg(test)]\n b: 1,\n c }", "S { a, c }"),
        ("S {\n #[cfg(test)]\n b: u8 }", "S { }"),
        ("// #[cfg(test)]\na", "// #[cfg(test)] a"),
    ] {
        assert_eq!(production(text).split_whitespace().collect::<Vec<_>>().join(" "), expected);
    }
}

#[test]
fn paths_from_the_root_are_seen() {
    let code = "use crate::{\n  Config, exec::{A, B},\n physical,\n}; crate::cli::x(); use super::super::gpu; use super::a; mycrate::b";
    assert_eq!(names_from_root(code, 2), ["Config", "exec", "physical", "cli", "gpu"]);
}

#[test]
fn public_names_are_seen() {
    let text = "\npub mod a;\nmod b;\npub(crate) use c::D;\npub use e::{F, G as H};\npub use i::J;\n#[doc(hidden)]\npub use k::L;\npub const fn m() {}\nimpl N {\n    pub fn o() {}\n}\n";
    assert_eq!(public_names(text), ["a", "F", "H", "J", "m"]);
}
