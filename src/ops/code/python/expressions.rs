//! Rules of the grammar: expressions.

use super::grammar::{Expr, Parser};
use super::lexer::Kind;
use super::strings::Literal;

/// Which operators may join operands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operators {
    /// Arithmetic and bits.
    Arithmetic,
    /// Comparisons, `and`, `or`, `not`, too.
    All,
}

impl Parser<'_> {
    /// `a, *b`: one, or a tuple without brackets.
    pub(super) fn star_expressions(&mut self) -> Option<Expr> {
        let first = self.star_expression()?;
        if self.text() != "," {
            return Some(first);
        }
        let mut items = vec![first];
        while self.accept(",") && self.starts_expression() {
            items.push(self.star_expression()?);
        }
        Some(Expr::sequence(&items))
    }

    fn star_expression(&mut self) -> Option<Expr> {
        if self.accept("*") { self.starred(Self::arithmetic) } else { self.expression() }
    }

    fn arithmetic(&mut self) -> Option<Expr> {
        self.operators(Operators::Arithmetic)
    }

    fn starred(&mut self, rule: fn(&mut Self) -> Option<Expr>) -> Option<Expr> {
        let inner = rule(self)?;
        Some(Expr { can_assign: inner.can_assign, is_starred: true, ..Expr::default() })
    }

    /// `a`, `a, b` or `*a` as targets, up to `in`; all of them can be assigned to.
    pub(super) fn targets(&mut self) -> Option<()> {
        loop {
            self.target()?;
            if !self.accept(",") || !self.starts_expression() {
                return Some(());
            }
        }
    }

    /// One target.
    pub(super) fn target(&mut self) -> Option<()> {
        let target = if self.accept("*") { self.starred(Self::arithmetic)? } else { self.arithmetic()? };
        target.can_assign.then_some(())
    }

    /// Whether an expression can begin here; what ends a list of expressions cannot.
    fn starts_expression(&self) -> bool {
        match self.kind() {
            Kind::Name => !matches!(self.text(), "in" | "for" | "async" | "if" | "else" | "as" | "from" | "import"),
            Kind::Number | Kind::String => true,
            Kind::Operator => matches!(self.text(), "(" | "[" | "{" | "-" | "+" | "~" | "..." | "*"),
            _ => false,
        }
    }

    /// `yield`, `yield a, b`, `yield from a`.
    pub(super) fn yield_expression(&mut self) -> Option<()> {
        self.take("yield")?;
        if self.accept("from") {
            self.expression()?;
        } else if self.starts_expression() {
            self.star_expressions()?;
        }
        Some(())
    }

    /// What may stand right of `=`.
    pub(super) fn value(&mut self) -> Option<Expr> {
        if self.text() == "yield" { self.yield_expression().map(|()| Expr::default()) } else { self.star_expressions() }
    }

    /// An expression, or `x := y`.
    pub(super) fn named_expression(&mut self) -> Option<Expr> {
        if self.is_name_at(0) && self.text_at(1) == ":=" {
            self.name()?;
            self.take(":=")?;
            self.expression()?;
            return Some(Expr { is_named: true, ..Expr::default() });
        }
        self.expression()
    }

    fn star_named_expression(&mut self) -> Option<Expr> {
        if self.accept("*") { self.starred(Self::arithmetic) } else { self.named_expression() }
    }

    pub(super) fn expression(&mut self) -> Option<Expr> {
        self.nested(Self::expression_here)
    }

    /// What follows `else` and `lambda:` is walked in a loop: such chains may be long.
    fn expression_here(&mut self) -> Option<Expr> {
        let mut is_plain = true;
        loop {
            if self.accept("lambda") {
                is_plain = false;
                self.parameters(":", true)?;
                self.take(":")?;
                continue;
            }
            let first = self.operators(Operators::All)?;
            if !self.accept("if") {
                return Some(if is_plain { first } else { Expr::default() });
            }
            is_plain = false;
            self.operators(Operators::All)?;
            self.take("else")?;
        }
    }

    /// Operands and the operators between them.
    pub(super) fn operators(&mut self, allowed: Operators) -> Option<Expr> {
        let mut is_plain = true;
        let mut may_negate = allowed == Operators::All;
        loop {
            while may_negate && self.accept("not") {
                is_plain = false;
            }
            while matches!(self.text(), "-" | "+" | "~") {
                self.advance();
                is_plain = false;
            }
            is_plain &= !self.accept("await");
            let operand = self.primary()?;
            match self.text() {
                "+" | "-" | "*" | "/" | "//" | "%" | "@" | "**" | "<<" | ">>" | "&" | "|" | "^" => {
                    self.advance();
                    may_negate = false;
                }
                "and" | "or" if allowed == Operators::All => {
                    self.advance();
                    may_negate = true;
                }
                "==" | "!=" | "<" | ">" | "<=" | ">=" | "in" if allowed == Operators::All => {
                    self.advance();
                    may_negate = false;
                }
                "is" if allowed == Operators::All => {
                    self.advance();
                    self.accept("not");
                    may_negate = false;
                }
                "not" if allowed == Operators::All && self.text_at(1) == "in" => {
                    self.advance();
                    self.advance();
                    may_negate = false;
                }
                _ => return Some(if is_plain { operand } else { Expr::default() }),
            }
            is_plain = false;
        }
    }

    /// An atom with its attributes, calls and subscripts.
    fn primary(&mut self) -> Option<Expr> {
        let mut expr = self.atom()?;
        loop {
            match self.text() {
                "." => {
                    self.advance();
                    self.name()?;
                    expr = Expr::place();
                }
                "(" => {
                    self.advance();
                    self.arguments(true)?;
                    expr = Expr::default();
                }
                "[" => {
                    self.advance();
                    self.subscripts()?;
                    expr = Expr::place();
                }
                _ => return Some(expr),
            }
        }
    }

    fn atom(&mut self) -> Option<Expr> {
        match self.kind() {
            Kind::Number => {
                self.advance();
                Some(Expr::default())
            }
            Kind::String => match self.strings()? {
                Literal::Text(text) => Some(Expr { literal: Some(text), ..Expr::default() }),
                Literal::Bytes | Literal::Formatted => Some(Expr::default()),
            },
            Kind::Name if matches!(self.text(), "None" | "True" | "False") => {
                self.advance();
                Some(Expr::default())
            }
            Kind::Name => self.name().map(|_| Expr::place()),
            Kind::Operator => match self.advance().text {
                "..." => Some(Expr::default()),
                "(" => self.nested(Self::round),
                "[" => self.nested(Self::square),
                "{" => self.nested(Self::curly),
                _ => None,
            },
            _ => None,
        }
    }

    /// After `(`: a tuple, a generator, or an expression in brackets.
    fn round(&mut self) -> Option<Expr> {
        if self.accept(")") {
            return Some(Expr::sequence(&[]));
        }
        if self.text() == "yield" {
            self.yield_expression()?;
            self.take(")")?;
            return Some(Expr::default());
        }
        let first = self.star_named_expression()?;
        match self.text() {
            "," => self.rest_of_sequence(first, ")"),
            "for" | "async" if !first.is_starred => {
                self.comprehension()?;
                self.take(")")?;
                Some(Expr::default())
            }
            ")" if !first.is_starred => {
                self.advance();
                Some(Expr { is_named: false, ..first })
            }
            _ => None,
        }
    }

    /// After `[`: a list or a list comprehension.
    fn square(&mut self) -> Option<Expr> {
        if self.accept("]") {
            return Some(Expr::sequence(&[]));
        }
        let first = self.star_named_expression()?;
        if matches!(self.text(), "for" | "async") && !first.is_starred {
            self.comprehension()?;
            self.take("]")?;
            return Some(Expr::default());
        }
        self.rest_of_sequence(first, "]")
    }

    fn rest_of_sequence(&mut self, first: Expr, close: &str) -> Option<Expr> {
        let mut items = vec![first];
        while self.accept(",") && self.text() != close {
            items.push(self.star_named_expression()?);
        }
        self.take(close)?;
        Some(Expr::sequence(&items))
    }

    /// After `{`: a dictionary, a set, or a comprehension of one.
    fn curly(&mut self) -> Option<Expr> {
        if self.accept("}") {
            return Some(Expr::default());
        }
        let is_unpacked = self.text() == "**";
        let first = if is_unpacked { Expr::default() } else { self.star_named_expression()? };
        if !is_unpacked && self.text() != ":" {
            if matches!(self.text(), "for" | "async") && !first.is_starred {
                self.comprehension()?;
                self.take("}")?;
            } else {
                self.rest_of_sequence(first, "}")?;
            }
            return Some(Expr::default());
        }
        if first.is_named || first.is_starred {
            return None;
        }
        if self.accept("**") {
            self.arithmetic()?;
        } else {
            self.take(":")?;
            self.expression()?;
            if matches!(self.text(), "for" | "async") {
                self.comprehension()?;
                self.take("}")?;
                return Some(Expr::default());
            }
        }
        while self.accept(",") && self.text() != "}" {
            if self.accept("**") {
                self.arithmetic()?;
            } else {
                self.expression()?;
                self.take(":")?;
                self.expression()?;
            }
        }
        self.take("}")?;
        Some(Expr::default())
    }

    /// `for … in … if …`, once or more.
    fn comprehension(&mut self) -> Option<()> {
        while matches!(self.text(), "for" | "async") {
            self.accept("async");
            self.take("for")?;
            self.targets()?;
            self.take("in")?;
            self.operators(Operators::All)?;
            while self.accept("if") {
                self.operators(Operators::All)?;
            }
        }
        Some(())
    }

    /// After `[`: subscripts and slices.
    fn subscripts(&mut self) -> Option<()> {
        loop {
            if self.accept("*") {
                self.expression()?;
            } else {
                self.slice()?;
            }
            if !self.accept(",") || self.text() == "]" {
                return self.take("]");
            }
        }
    }

    fn slice(&mut self) -> Option<()> {
        if self.text() != ":" {
            let first = self.named_expression()?;
            if self.text() != ":" || first.is_named {
                return Some(());
            }
        }
        self.take(":")?;
        if !matches!(self.text(), ":" | "," | "]") {
            self.expression()?;
        }
        if self.accept(":") && !matches!(self.text(), "," | "]") {
            self.expression()?;
        }
        Some(())
    }

    /// After `(`: the arguments of a call, or of a class, which takes no generator without brackets.
    pub(super) fn arguments(&mut self, is_call: bool) -> Option<()> {
        let (mut is_first, mut has_keyword, mut has_unpacked) = (true, false, false);
        while self.text() != ")" {
            if self.accept("**") {
                has_unpacked = true;
                self.expression()?;
            } else if self.accept("*") {
                if has_unpacked {
                    return None;
                }
                self.expression()?;
            } else if self.is_name_at(0) && self.text_at(1) == "=" {
                has_keyword = true;
                self.advance();
                self.advance();
                self.expression()?;
            } else {
                if has_keyword || has_unpacked {
                    return None;
                }
                self.named_expression()?;
                if is_call && is_first && matches!(self.text(), "for" | "async") {
                    self.comprehension()?;
                    return self.take(")");
                }
            }
            is_first = false;
            if !self.accept(",") {
                break;
            }
        }
        self.take(")")
    }
}
