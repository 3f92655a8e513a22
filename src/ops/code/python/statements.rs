//! Rules of the grammar: statements.

use super::grammar::Parser;
use super::lexer::Kind;

impl Parser<'_> {
    /// All statements of a file.
    pub(super) fn file(&mut self) -> Option<()> {
        let mut is_first = true;
        while self.kind() != Kind::End {
            self.statement(is_first)?;
            is_first = false;
        }
        Some(())
    }

    /// One statement, or several on one line. `is_documented`: a text here is a docstring.
    fn statement(&mut self, is_documented: bool) -> Option<()> {
        match self.text() {
            "if" => self.if_statement(),
            "while" => {
                self.advance();
                self.named_expression()?;
                self.block(false)?;
                self.else_block()
            }
            "for" => self.for_statement(),
            "try" => self.try_statement(),
            "with" => self.with_statement(),
            "def" => self.function(true),
            "class" => self.class(),
            "@" => self.decorated(),
            "async" => {
                self.advance();
                self.async_statement()
            }
            "match" if self.match_header() => self.cases(),
            _ => self.simple_statements(is_documented),
        }
    }

    fn async_statement(&mut self) -> Option<()> {
        match self.text() {
            "def" => self.function(false),
            "for" => self.for_statement(),
            "with" => self.with_statement(),
            _ => None,
        }
    }

    /// `:` and the statements that belong to it. `is_documented`: its first text is a docstring.
    pub(super) fn block(&mut self, is_documented: bool) -> Option<()> {
        self.take(":")?;
        if self.kind() != Kind::Newline {
            return self.simple_statements(is_documented);
        }
        self.advance();
        self.take_kind(Kind::Indent)?;
        let mut is_first = is_documented;
        while self.kind() != Kind::Dedent {
            self.nested(|parser| parser.statement(is_first))?;
            is_first = false;
        }
        self.advance();
        Some(())
    }

    fn else_block(&mut self) -> Option<()> {
        if self.accept("else") { self.block(false) } else { Some(()) }
    }

    fn if_statement(&mut self) -> Option<()> {
        self.take("if")?;
        loop {
            self.named_expression()?;
            self.block(false)?;
            if !self.accept("elif") {
                return self.else_block();
            }
        }
    }

    fn for_statement(&mut self) -> Option<()> {
        self.take("for")?;
        self.targets()?;
        self.take("in")?;
        self.star_expressions()?;
        self.block(false)?;
        self.else_block()
    }

    fn try_statement(&mut self) -> Option<()> {
        self.take("try")?;
        self.block(false)?;
        if self.accept("finally") {
            return self.block(false);
        }
        let is_group = self.text_at(1) == "*";
        let mut n_handlers = 0;
        while self.accept("except") {
            n_handlers += 1;
            if self.accept("*") != is_group {
                return None;
            }
            if is_group || self.text() != ":" {
                self.expression()?;
                if self.accept("as") {
                    self.name()?;
                }
            }
            self.block(false)?;
        }
        if n_handlers == 0 {
            return None;
        }
        self.else_block()?;
        if self.accept("finally") { self.block(false) } else { Some(()) }
    }

    /// A bracket after `with` holds the items, or belongs to the first of them.
    fn with_statement(&mut self) -> Option<()> {
        self.take("with")?;
        let start = self.mark();
        if self.bracketed_items().is_none() {
            self.back_to(start);
            self.with_item(&[",", ":"])?;
            while self.accept(",") {
                self.with_item(&[",", ":"])?;
            }
        }
        self.block(false)
    }

    fn bracketed_items(&mut self) -> Option<()> {
        self.take("(")?;
        loop {
            self.with_item(&[",", ")"])?;
            if !self.accept(",") || self.text() == ")" {
                break;
            }
        }
        self.take(")")?;
        (self.text() == ":").then_some(())
    }

    fn with_item(&mut self, ends: &[&str]) -> Option<()> {
        self.expression()?;
        if self.accept("as") {
            self.target()?;
        }
        ends.contains(&self.text()).then_some(())
    }

    fn decorated(&mut self) -> Option<()> {
        while self.accept("@") {
            self.named_expression()?;
            self.end_of_line()?;
        }
        match self.text() {
            "class" => self.class(),
            "def" => self.function(true),
            "async" if self.text_at(1) == "def" => {
                self.advance();
                self.function(false)
            }
            _ => None,
        }
    }

    fn class(&mut self) -> Option<()> {
        self.take("class")?;
        self.name()?;
        if self.accept("(") {
            self.arguments(false)?;
        }
        self.block(true)
    }

    /// `def`; that of an `async def` is not asked for its docstring.
    fn function(&mut self, is_documented: bool) -> Option<()> {
        self.take("def")?;
        self.name()?;
        self.take("(")?;
        self.parameters(")", false)?;
        self.take(")")?;
        if self.accept("->") {
            self.expression()?;
        }
        self.block(is_documented)
    }

    fn simple_statements(&mut self, is_documented: bool) -> Option<()> {
        self.simple_statement(is_documented)?;
        while self.accept(";") && self.kind() != Kind::Newline {
            self.simple_statement(false)?;
        }
        self.end_of_line()
    }

    fn simple_statement(&mut self, is_documented: bool) -> Option<()> {
        match self.text() {
            "pass" | "break" | "continue" => {
                self.advance();
                Some(())
            }
            "return" => {
                self.advance();
                if self.at_end_of_statement() { Some(()) } else { self.star_expressions().map(|_| ()) }
            }
            "raise" => {
                self.advance();
                if self.at_end_of_statement() {
                    return Some(());
                }
                self.expression()?;
                if self.accept("from") { self.expression().map(|_| ()) } else { Some(()) }
            }
            "global" | "nonlocal" => {
                self.advance();
                self.name()?;
                while self.accept(",") {
                    self.name()?;
                }
                Some(())
            }
            "del" => {
                self.advance();
                self.star_expressions().filter(|targets| targets.can_delete).map(|_| ())
            }
            "assert" => {
                self.advance();
                self.expression()?;
                if self.accept(",") { self.expression().map(|_| ()) } else { Some(()) }
            }
            "import" => self.import(),
            "from" => self.import_from(),
            "yield" => self.yield_expression(),
            _ => self.assignment(is_documented),
        }
    }

    fn at_end_of_statement(&self) -> bool {
        self.kind() == Kind::Newline || self.text() == ";"
    }

    /// An expression, or something that is assigned to it.
    fn assignment(&mut self, is_documented: bool) -> Option<()> {
        let mut target = self.star_expressions()?;
        match self.text() {
            ":" if target.is_single => {
                self.advance();
                self.expression()?;
                if self.accept("=") { self.value().map(|_| ()) } else { Some(()) }
            }
            "=" => {
                while self.accept("=") {
                    if !target.can_assign {
                        return None;
                    }
                    target = self.value()?;
                }
                Some(())
            }
            "+=" | "-=" | "*=" | "/=" | "//=" | "%=" | "@=" | "&=" | "|=" | "^=" | ">>=" | "<<=" | "**=" => {
                self.advance();
                if target.is_single { self.value().map(|_| ()) } else { None }
            }
            _ => {
                if let (true, Some(text)) = (is_documented, &target.literal) {
                    self.docstrings.add(text);
                }
                Some(())
            }
        }
    }

    fn dotted_name(&mut self) -> Option<()> {
        self.name()?;
        while self.accept(".") {
            self.name()?;
        }
        Some(())
    }

    fn alias(&mut self) -> Option<()> {
        if self.accept("as") { self.name().map(|_| ()) } else { Some(()) }
    }

    fn import(&mut self) -> Option<()> {
        self.take("import")?;
        loop {
            self.dotted_name()?;
            self.alias()?;
            if !self.accept(",") {
                return Some(());
            }
        }
    }

    fn import_from(&mut self) -> Option<()> {
        self.take("from")?;
        let mut is_relative = false;
        while self.accept(".") || self.accept("...") {
            is_relative = true;
        }
        if !is_relative || self.text() != "import" {
            self.dotted_name()?;
        }
        self.take("import")?;
        if self.accept("*") {
            return Some(());
        }
        let is_bracketed = self.accept("(");
        loop {
            self.name()?;
            self.alias()?;
            if !self.accept(",") || (is_bracketed && self.text() == ")") {
                break;
            }
        }
        if is_bracketed { self.take(")") } else { Some(()) }
    }
}
