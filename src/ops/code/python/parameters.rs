//! Rules of the grammar: the parameters of functions and lambdas.

use super::grammar::Parser;

impl Parser<'_> {
    /// Parameters up to `close`, which stays. Those of a lambda have no annotations.
    pub(super) fn parameters(&mut self, close: &str, is_lambda: bool) -> Option<()> {
        let (mut n_plain, mut has_default, mut has_slash, mut has_star) = (0, false, false, false);
        // A `*` without a name must be followed by a parameter with one.
        let mut wants_name = false;
        while self.text() != close {
            if self.accept("**") {
                self.name()?;
                self.annotation(is_lambda)?;
                self.accept(",");
                return (self.text() == close && !wants_name).then_some(());
            }
            if self.accept("/") {
                if has_slash || has_star || n_plain == 0 {
                    return None;
                }
                has_slash = true;
            } else if self.accept("*") {
                if has_star {
                    return None;
                }
                has_star = true;
                if self.text() == "," {
                    wants_name = true;
                } else {
                    self.name()?;
                    self.star_annotation(is_lambda)?;
                }
            } else {
                self.name()?;
                self.annotation(is_lambda)?;
                n_plain += 1;
                wants_name = false;
                if self.accept("=") {
                    has_default = true;
                    self.expression()?;
                } else if has_default && !has_star {
                    return None;
                }
            }
            if !self.accept(",") {
                break;
            }
        }
        (self.text() == close && !wants_name).then_some(())
    }

    fn annotation(&mut self, is_lambda: bool) -> Option<()> {
        if !is_lambda && self.accept(":") {
            self.expression()?;
        }
        Some(())
    }

    /// `*args: *Ts` unpacks its annotation.
    fn star_annotation(&mut self, is_lambda: bool) -> Option<()> {
        if !is_lambda && self.text() == ":" && self.text_at(1) == "*" {
            self.advance();
            self.advance();
            return self.operators(super::expressions::Operators::Arithmetic).map(|_| ());
        }
        self.annotation(is_lambda)
    }
}
