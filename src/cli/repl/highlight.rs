//! Colours for the line being typed.

use super::names::SharedNames;
use super::words::is_keyword;
use crate::syntax::{Token, TokenKind, tokens};
use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

/// Colours tokens; functions only if they exist, so that a slip shows while typing.
pub struct Colours {
    names: SharedNames,
}

impl Colours {
    /// Colours by the session's names.
    pub fn new(names: SharedNames) -> Self {
        Self { names }
    }

    fn style(&self, text: &str, token: &Token) -> Style {
        match token.kind {
            TokenKind::Word if is_keyword(token.text(text)) => Style::new().fg(Color::Blue).bold(),
            TokenKind::Word if self.is_call(text, token) => Style::new().fg(Color::Cyan),
            TokenKind::Text => Style::new().fg(Color::Green),
            TokenKind::Number => Style::new().fg(Color::Magenta),
            TokenKind::Parameter => Style::new().fg(Color::Yellow),
            TokenKind::Comment => Style::new().fg(Color::DarkGray),
            _ => Style::new(),
        }
    }

    fn is_call(&self, text: &str, token: &Token) -> bool {
        text[token.span.end..].trim_start().starts_with('(')
            && self.names.read().known_functions.contains(&token.text(text).to_lowercase())
    }
}

impl Highlighter for Colours {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        if line.trim_start().starts_with('\\') {
            let end = line
                .trim_start()
                .find(char::is_whitespace)
                .map_or(line.len(), |at| at + line.len() - line.trim_start().len());
            styled.push((Style::new().bold(), line[..end].to_string()));
            styled.push((Style::new(), line[end..].to_string()));
            return styled;
        }
        let mut at = 0;
        for token in tokens(line) {
            styled.push((Style::new(), line[at..token.span.start].to_string()));
            styled.push((self.style(line, &token), token.text(line).to_string()));
            at = token.span.end;
        }
        styled.push((Style::new(), line[at..].to_string()));
        styled
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::Names;
    use super::*;

    #[test]
    fn colours_change_nothing_but_the_colours() {
        let names = SharedNames::default();
        names.set(Names { known_functions: ["words".to_string()].into(), ..Names::default() });
        let colours = Colours::new(names);
        for line in
            ["FROM 'ä' |> WHERE Words(text) > $n -- why\n  AND word(x) = 1.5", "\\d docs", "'open", "/* open", ""]
        {
            assert_eq!(colours.highlight(line, 0).raw_string(), line);
        }
        let styled = colours.highlight("FROM Words(x), word(x)", 0);
        let style_of = |word: &str| styled.buffer.iter().find(|(_, text)| text == word).map(|(style, _)| *style);
        assert_eq!(style_of("FROM"), Some(Style::new().fg(Color::Blue).bold()));
        assert_eq!(style_of("Words"), Some(Style::new().fg(Color::Cyan)));
        assert_eq!(style_of("word"), Some(Style::new()));
    }
}
