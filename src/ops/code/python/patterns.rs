//! Rules of the grammar: `match` and its patterns.

use super::grammar::Parser;
use super::lexer::Kind;

impl Parser<'_> {
    /// Whether a `match` statement begins here; then its header is taken. `match` is a name elsewhere.
    pub(super) fn match_header(&mut self) -> bool {
        let start = self.mark();
        let is_header = self.read_header().is_some();
        if !is_header {
            self.back_to(start);
        }
        is_header
    }

    fn read_header(&mut self) -> Option<()> {
        self.take("match")?;
        self.subject()?;
        self.take(":")?;
        self.end_of_line()?;
        self.take_kind(Kind::Indent)?;
        (self.text() == "case").then_some(())
    }

    /// `x`, or a tuple; a starred one alone is none.
    fn subject(&mut self) -> Option<()> {
        if self.text() != "*" && self.is_named_ahead() {
            self.named_expression()?;
            if self.text() != "," {
                return Some(());
            }
        } else {
            let first = self.star_or_named()?;
            if self.text() != "," {
                return (!first).then_some(());
            }
        }
        while self.accept(",") && self.text() != ":" {
            self.star_or_named()?;
        }
        Some(())
    }

    fn is_named_ahead(&self) -> bool {
        self.is_name_at(0) && self.text_at(1) == ":="
    }

    /// One item of a tuple; says whether it is starred.
    fn star_or_named(&mut self) -> Option<bool> {
        if self.accept("*") {
            self.operators(super::expressions::Operators::Arithmetic)?;
            return Some(true);
        }
        self.named_expression()?;
        Some(false)
    }

    /// The cases of a `match`, up to the end of its block.
    pub(super) fn cases(&mut self) -> Option<()> {
        while self.kind() != Kind::Dedent {
            self.take("case")?;
            self.open_pattern()?;
            if self.accept("if") {
                self.named_expression()?;
            }
            self.nested(|parser| parser.block(false))?;
        }
        self.advance();
        Some(())
    }

    /// A pattern, or a sequence without brackets.
    fn open_pattern(&mut self) -> Option<()> {
        let is_starred = self.star_or_pattern()?;
        if self.text() != "," {
            return (!is_starred).then_some(());
        }
        while self.accept(",") && !matches!(self.text(), ":" | "if") {
            self.star_or_pattern()?;
        }
        Some(())
    }

    /// An item of a sequence; says whether it is starred.
    fn star_or_pattern(&mut self) -> Option<bool> {
        if self.accept("*") {
            self.name()?;
            return Some(true);
        }
        self.pattern()?;
        Some(false)
    }

    fn pattern(&mut self) -> Option<()> {
        self.nested(Self::pattern_here)
    }

    fn pattern_here(&mut self) -> Option<()> {
        self.closed_pattern()?;
        while self.accept("|") {
            self.closed_pattern()?;
        }
        if self.accept("as") && (self.name()? == "_" || matches!(self.text(), "." | "(" | "=")) {
            return None;
        }
        Some(())
    }

    fn closed_pattern(&mut self) -> Option<()> {
        match self.kind() {
            Kind::String => self.strings().map(|_| ()),
            Kind::Number => self.number(),
            Kind::Name if matches!(self.text(), "None" | "True" | "False") => {
                self.advance();
                Some(())
            }
            Kind::Name => {
                self.name()?;
                while self.accept(".") {
                    self.name()?;
                }
                if self.accept("(") { self.class_pattern() } else { Some(()) }
            }
            Kind::Operator => match self.text() {
                "-" => self.number(),
                "(" => self.sequence_pattern(")"),
                "[" => self.sequence_pattern("]"),
                "{" => self.mapping_pattern(),
                _ => None,
            },
            _ => None,
        }
    }

    /// A number with its sign, or the sum of a real and an imaginary one.
    fn number(&mut self) -> Option<()> {
        self.accept("-");
        let is_imaginary = |text: &str| text.ends_with(['j', 'J']);
        let first = self.take_kind(Kind::Number)?.text;
        if self.accept("+") || self.accept("-") {
            let second = self.take_kind(Kind::Number)?.text;
            return (!is_imaginary(first) && is_imaginary(second)).then_some(());
        }
        Some(())
    }

    fn sequence_pattern(&mut self, close: &str) -> Option<()> {
        self.advance();
        if self.accept(close) {
            return Some(());
        }
        let is_starred = self.star_or_pattern()?;
        if close == ")" && is_starred && self.text() != "," {
            return None;
        }
        while self.accept(",") && self.text() != close {
            self.star_or_pattern()?;
        }
        self.take(close)
    }

    fn mapping_pattern(&mut self) -> Option<()> {
        self.take("{")?;
        while self.text() != "}" {
            if self.accept("**") {
                if self.name()? == "_" {
                    return None;
                }
                self.accept(",");
                break;
            }
            match self.kind() {
                Kind::String => self.strings().map(|_| ())?,
                Kind::Name if matches!(self.text(), "None" | "True" | "False") => {
                    self.advance();
                }
                Kind::Name => {
                    self.name()?;
                    self.take(".")?;
                    self.name()?;
                    while self.accept(".") {
                        self.name()?;
                    }
                }
                _ => self.number()?,
            }
            self.take(":")?;
            self.pattern()?;
            if !self.accept(",") {
                break;
            }
        }
        self.take("}")
    }

    /// After `Class(`: patterns, then `name=pattern`.
    fn class_pattern(&mut self) -> Option<()> {
        let mut has_keyword = false;
        while self.text() != ")" {
            if self.is_name_at(0) && self.text_at(1) == "=" {
                has_keyword = true;
                self.advance();
                self.advance();
            } else if has_keyword {
                return None;
            }
            self.pattern()?;
            if !self.accept(",") {
                break;
            }
        }
        self.take(")")
    }
}
