//! Reads the body of a function: registers and variables by scope, labels, instructions.
//!
//! Invariant: inner scopes hide outer names, as PTX from inlined functions and assembler snippets relies on.
//! Not here: the meaning of an opcode.

use super::super::source::{Function, Operand, Raw, Type};
use super::{Cursor, variables};
use crate::ptx::token::TokenKind;
use std::collections::HashMap;

/// What a name stands for inside a function.
#[derive(Clone, Copy)]
enum Named {
    Register(u32),
    Predicate(u32),
    Variable(usize),
}

/// `%r<18>`: eighteen registers whose names end in a number.
struct Range {
    first: Named,
    n: u32,
}

#[derive(Default)]
struct Scope {
    names: HashMap<String, Named>,
    ranges: HashMap<String, Range>,
}

/// `([{a|b}])` is deeper than any operand that PTX has.
const MAX_DEPTH: u32 = 8;
/// Registers of one kind that a function may name.
const MAX_REGISTERS: u32 = 1 << 17;

struct Body<'f> {
    function: &'f mut Function,
    scopes: Vec<Scope>,
}

/// Reads up to the function's closing brace; the opening one is read already.
pub fn body(cursor: &mut Cursor, function: &mut Function) -> Result<(), String> {
    let outer = function.variables.iter().enumerate().map(|(i, v)| (v.name.clone(), Named::Variable(i))).collect();
    let mut body = Body { function, scopes: vec![Scope { names: outer, ..Scope::default() }, Scope::default()] };
    loop {
        match cursor.next()? {
            TokenKind::Sign('{') => body.scopes.push(Scope::default()),
            TokenKind::Sign('}') => {
                body.scopes.pop();
                if body.scopes.len() == 1 {
                    return Ok(());
                }
            }
            TokenKind::Sign(';') => {}
            TokenKind::Sign('@') => {
                let negated = cursor.take('!');
                let name = cursor.word()?;
                let Some(Named::Predicate(predicate)) = body.find(name) else {
                    return Err(format!("`{name}` is not a predicate"));
                };
                let opcode = cursor.word()?;
                body.instruction(cursor, opcode, Some((predicate, negated)))?;
            }
            TokenKind::Word(".reg") => body.registers(cursor)?,
            TokenKind::Word(".local" | ".shared" | ".param") => {
                cursor.at -= 1;
                body.variables(cursor)?;
            }
            TokenKind::Word(".loc" | ".file") => cursor.skip_line(),
            TokenKind::Word(".pragma") => while cursor.next()? != TokenKind::Sign(';') {},
            TokenKind::Word(word) if word.starts_with('.') => {
                return Err(format!("the directive `{word}` is not known"));
            }
            TokenKind::Word(word) if cursor.take(':') => body.label(cursor, word)?,
            TokenKind::Word(opcode) => body.instruction(cursor, opcode, None)?,
            other => return Err(format!("an instruction was expected, not {other:?}")),
        }
    }
}

impl Body<'_> {
    fn find(&self, name: &str) -> Option<Named> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, number) = name.split_at(name.len() - digits);
        let number: Option<u32> = number.parse().ok();
        self.scopes.iter().rev().find_map(|scope| {
            scope.names.get(name).copied().or_else(|| {
                let range = scope.ranges.get(prefix)?;
                let number = number.filter(|number| *number < range.n)?;
                Some(match range.first {
                    Named::Register(first) => Named::Register(first + number),
                    Named::Predicate(first) => Named::Predicate(first + number),
                    other => other,
                })
            })
        })
    }

    /// `.reg .b32 %r<18>, %x;`
    fn registers(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        let kind = cursor.word()?;
        let kind = Type::named(kind.trim_start_matches('.')).ok_or_else(|| format!("registers of type `{kind}`"))?;
        loop {
            let name = cursor.word()?.to_string();
            let n = if cursor.take('<') {
                let n =
                    u32::try_from(cursor.integer()?).ok().filter(|n| *n < MAX_REGISTERS).ok_or("too many registers")?;
                cursor.require('>')?;
                Some(n)
            } else {
                None
            };
            let count =
                if kind == Type::Pred { &mut self.function.n_predicates } else { &mut self.function.n_registers };
            let first = if kind == Type::Pred { Named::Predicate(*count) } else { Named::Register(*count) };
            *count += n.unwrap_or(1);
            if *count > MAX_REGISTERS {
                return Err("too many registers".into());
            }
            let Some(scope) = self.scopes.last_mut() else { return Err("a brace too many".into()) };
            match n {
                Some(n) => drop(scope.ranges.insert(name, Range { first, n })),
                None => drop(scope.names.insert(name, first)),
            }
            if !cursor.take(',') {
                break;
            }
        }
        cursor.require(';')
    }

    fn variables(&mut self, cursor: &mut Cursor) -> Result<(), String> {
        for variable in variables(cursor, false)? {
            let Some(scope) = self.scopes.last_mut() else { return Err("a brace too many".into()) };
            scope.names.insert(variable.name.clone(), Named::Variable(self.function.variables.len()));
            self.function.variables.push(variable);
        }
        Ok(())
    }

    /// `name:`, or `name: .branchtargets a, b;`
    fn label(&mut self, cursor: &mut Cursor, name: &str) -> Result<(), String> {
        if cursor.peek() == Some(TokenKind::Word(".branchtargets")) {
            cursor.at += 1;
            let mut labels = vec![cursor.word()?.to_string()];
            while cursor.take(',') {
                labels.push(cursor.word()?.to_string());
            }
            self.function.targets.push((name.to_string(), labels));
            return cursor.require(';');
        }
        if matches!(cursor.peek(), Some(TokenKind::Word(".callprototype" | ".calltargets"))) {
            while cursor.next()? != TokenKind::Sign(';') {}
            return Ok(());
        }
        self.function.labels.push((name.to_string(), self.function.instructions.len()));
        Ok(())
    }

    fn instruction(&mut self, cursor: &mut Cursor, opcode: &str, guard: Option<(u32, bool)>) -> Result<(), String> {
        let line = cursor.line();
        let mut operands = Vec::new();
        while !cursor.take(';') {
            operands.push(self.operand(cursor, 0)?);
            // Commas separate operands; `call (r), f, (a)` may lack one after the results.
            cursor.take(',');
        }
        let opcode = opcode.split('.').map(str::to_string).collect();
        self.function.instructions.push(Raw { line, guard, opcode, operands });
        Ok(())
    }

    fn operand(&self, cursor: &mut Cursor, depth: u32) -> Result<Operand, String> {
        if depth > MAX_DEPTH {
            return Err("operands within operands".into());
        }
        let first = match cursor.next()? {
            TokenKind::Sign('[') => {
                let base = self.operand(cursor, depth + 1)?;
                let mut offset = 0i64;
                while cursor.take('+') {
                    let negative = cursor.take('-');
                    let value = cursor.integer()? as i64;
                    offset = offset.wrapping_add(if negative { value.wrapping_neg() } else { value });
                }
                if cursor.take('-') {
                    offset = offset.wrapping_sub(cursor.integer()? as i64);
                }
                cursor.require(']')?;
                return Ok(Operand::Address(Box::new(base), offset));
            }
            TokenKind::Sign('{') => return Ok(Operand::Vector(self.list(cursor, '}', depth)?)),
            TokenKind::Sign('(') => return Ok(Operand::List(self.list(cursor, ')', depth)?)),
            TokenKind::Sign('-') => match cursor.next()? {
                TokenKind::Integer(value) => Operand::Integer(value.wrapping_neg()),
                TokenKind::Decimal(value) => Operand::Decimal(-value),
                other => return Err(format!("a number was expected, not {other:?}")),
            },
            TokenKind::Sign('!') => match self.operand(cursor, depth + 1)? {
                Operand::Predicate(predicate, negated) => Operand::Predicate(predicate, !negated),
                other => return Err(format!("`!` before {other:?}")),
            },
            TokenKind::Integer(value) => Operand::Integer(value),
            TokenKind::Decimal(value) => Operand::Decimal(value),
            TokenKind::SingleBits(bits) => Operand::SingleBits(bits),
            TokenKind::DoubleBits(bits) => Operand::DoubleBits(bits),
            TokenKind::Word("_") => Operand::Nothing,
            TokenKind::Word(name) => match self.find(name) {
                Some(Named::Register(register)) => Operand::Register(register),
                Some(Named::Predicate(predicate)) => Operand::Predicate(predicate, false),
                Some(Named::Variable(variable)) => Operand::Variable(variable),
                None => Operand::Name(name.to_string()),
            },
            other => return Err(format!("an operand was expected, not {other:?}")),
        };
        if cursor.take('|') {
            let second = self.operand(cursor, depth + 1)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn list(&self, cursor: &mut Cursor, end: char, depth: u32) -> Result<Vec<Operand>, String> {
        let mut out = Vec::new();
        while !cursor.take(end) {
            out.push(self.operand(cursor, depth + 1)?);
            cursor.take(',');
        }
        Ok(out)
    }
}
