//! Reads tokens into a [`Source`]: module directives, variables, functions.
//!
//! Invariant: what is skipped (debug information, linking and performance directives) cannot change a result.
//! Not here: function bodies (`parse/body.rs`), the meaning of opcodes (`decode`).

mod body;

use super::source::{Function, Pointer, Source, Space, Type, Variable};
use super::token::{Token, TokenKind, tokens};

/// Parses a PTX file.
pub fn parse(text: &str) -> Result<Source, String> {
    let tokens = tokens(text)?;
    let mut cursor = Cursor { tokens: &tokens, at: 0 };
    let mut source = Source::default();
    while cursor.peek().is_some() {
        statement(&mut cursor, &mut source).map_err(|what| format!("line {}: {what}", cursor.line()))?;
    }
    if source.version == (0, 0) {
        return Err("no .version: this is not PTX".into());
    }
    Ok(source)
}

fn statement(cursor: &mut Cursor, source: &mut Source) -> Result<(), String> {
    let TokenKind::Word(word) = cursor.next()? else { return Err("a directive was expected".into()) };
    match word {
        ".version" => {
            let TokenKind::Decimal(version) = cursor.next()? else { return Err("a version was expected".into()) };
            source.version = (version.trunc() as u32, (version.fract() * 10.0).round() as u32);
        }
        ".target" => {
            let TokenKind::Word(target) = cursor.next()? else { return Err("a target was expected".into()) };
            let digits: String = target.chars().filter(char::is_ascii_digit).collect();
            source.target = digits.parse().map_err(|_| format!("`{target}` is not a target"))?;
            while cursor.take(',') {
                cursor.next()?;
            }
        }
        ".address_size" => {
            if cursor.next()? != TokenKind::Integer(64) {
                return Err("only 64-bit addresses are known".into());
            }
        }
        ".visible" | ".extern" | ".weak" | ".common" => match cursor.peek() {
            Some(TokenKind::Word(".entry" | ".func")) => {}
            _ => {
                cursor.word()?;
                cursor.at -= 1;
                let variables = variables(cursor, word == ".extern")?;
                source.variables.extend(variables);
            }
        },
        ".entry" | ".func" => source.functions.push(function(cursor, word == ".entry")?),
        ".global" | ".const" | ".shared" | ".tex" => {
            cursor.at -= 1;
            let variables = variables(cursor, false)?;
            source.variables.extend(variables);
        }
        ".file" | ".loc" => cursor.skip_line(),
        ".section" => cursor.skip_braces()?,
        ".alias" | ".pragma" => while cursor.next()? != TokenKind::Sign(';') {},
        other => return Err(format!("the directive `{other}` is not known")),
    }
    Ok(())
}

/// The largest variable that a module may declare.
const MAX_BYTES: usize = 1 << 30;
/// The largest alignment of a variable.
const MAX_ALIGN: usize = 1 << 12;

/// `.space [.align n] .type name[size] [= value] {, name…};`
fn variables(cursor: &mut Cursor, is_extern: bool) -> Result<Vec<Variable>, String> {
    let space = match cursor.word()? {
        ".global" => Space::Global,
        ".const" => Space::Const,
        ".shared" => Space::Shared,
        ".local" => Space::Local,
        ".param" => Space::Param,
        other => return Err(format!("variables in `{other}` are not known")),
    };
    let mut out = Vec::new();
    let (align, kind) = variable_type(cursor)?;
    loop {
        let mut variable = named_variable(cursor, space, align, kind)?;
        variable.is_extern = is_extern;
        if cursor.take('=') {
            initial(cursor, kind, &mut variable)?;
        }
        out.push(variable);
        if !cursor.take(',') {
            break;
        }
    }
    cursor.require(';')?;
    Ok(out)
}

/// `[.align n] [.v2] .type`, with the `.ptr` notes of a kernel's parameter.
fn variable_type(cursor: &mut Cursor) -> Result<(usize, Type), String> {
    let (mut align, mut kind, mut n) = (None, None, 1);
    while let Some(TokenKind::Word(word)) = cursor.peek() {
        let Some(name) = word.strip_prefix('.') else { break };
        cursor.at += 1;
        match name {
            "align" => {
                let given = usize::try_from(cursor.integer()?).unwrap_or(0);
                if !given.is_power_of_two() || given > MAX_ALIGN {
                    return Err("an alignment must be a power of two, and a small one".into());
                }
                // After the type, as in `.u64 .ptr .align 16`, it is about what is pointed to.
                if kind.is_none() {
                    align = Some(given);
                }
            }
            "v2" => n = 2,
            "v4" => n = 4,
            "ptr" | "global" | "const" | "shared" | "local" | "managed" | "attribute" | "unified" => {}
            _ => {
                let known = Type::named(name).ok_or_else(|| format!("the type `{name}` is not known"))?;
                align = Some(align.unwrap_or(known.n_bytes()));
                kind = Some(known);
            }
        }
    }
    let kind = kind.ok_or("a type was expected")?;
    if n > 1 {
        return Err("variables of vector type are not known".into());
    }
    Ok((align.unwrap_or(1).max(1), kind))
}

/// `name` or `name[n]` or `name[]`
fn named_variable(cursor: &mut Cursor, space: Space, align: usize, kind: Type) -> Result<Variable, String> {
    let name = cursor.word()?.to_string();
    let mut n_bytes = kind.n_bytes();
    while cursor.take('[') {
        if cursor.take(']') {
            n_bytes = 0;
        } else {
            let n = cursor.integer()?;
            let all = usize::try_from(n).ok().and_then(|n| n_bytes.checked_mul(n));
            n_bytes = all.filter(|all| *all <= MAX_BYTES).ok_or("too large a variable")?;
            cursor.require(']')?;
        }
    }
    Ok(Variable { name, space, align, n_bytes, bytes: Vec::new(), pointers: Vec::new(), is_extern: false })
}

/// `5`, `{1, 2}`, `{generic(name), name+8}`
fn initial(cursor: &mut Cursor, kind: Type, variable: &mut Variable) -> Result<(), String> {
    let in_braces = cursor.take('{');
    loop {
        if in_braces && cursor.take('}') {
            break;
        }
        initial_value(cursor, kind, variable)?;
        if !cursor.take(',') {
            if in_braces {
                cursor.require('}')?;
            }
            break;
        }
    }
    if variable.n_bytes == 0 {
        variable.n_bytes = variable.bytes.len();
    }
    if variable.bytes.len() > variable.n_bytes {
        return Err(format!("`{}` has more initial values than room", variable.name));
    }
    Ok(())
}

fn initial_value(cursor: &mut Cursor, kind: Type, variable: &mut Variable) -> Result<(), String> {
    let negative = cursor.take('-');
    let bits = match cursor.next()? {
        TokenKind::Integer(value) if negative => value.wrapping_neg(),
        TokenKind::Integer(value) => value,
        TokenKind::SingleBits(bits) => u64::from(bits),
        TokenKind::DoubleBits(bits) => bits,
        TokenKind::Decimal(value) if kind == Type::F32 => u64::from((value as f32).to_bits()),
        TokenKind::Decimal(value) => value.to_bits(),
        TokenKind::Word(word) => {
            let to = if word == "generic" && cursor.take('(') {
                let to = cursor.word()?.to_string();
                cursor.require(')')?;
                to
            } else {
                word.to_string()
            };
            let plus = if cursor.take('+') { cursor.integer()? as i64 } else { 0 };
            if kind.n_bytes() != 8 {
                return Err("an address needs eight bytes".into());
            }
            variable.pointers.push(Pointer { at: variable.bytes.len(), to, plus });
            0
        }
        other => return Err(format!("{other:?} is not an initial value")),
    };
    variable.bytes.extend_from_slice(&bits.to_le_bytes()[..kind.n_bytes()]);
    Ok(())
}

/// `.entry name (params) directives { body }` or `.func (results) name (params) …`
fn function(cursor: &mut Cursor, is_kernel: bool) -> Result<Function, String> {
    let mut function = Function { is_kernel, ..Function::default() };
    let results = if cursor.peek() == Some(TokenKind::Sign('(')) { parameters(cursor)? } else { Vec::new() };
    function.name = cursor.word()?.to_string();
    let params = if cursor.peek() == Some(TokenKind::Sign('(')) { parameters(cursor)? } else { Vec::new() };
    (function.n_params, function.n_results) = (params.len(), results.len());
    function.variables = params.into_iter().chain(results).collect();
    loop {
        match cursor.next()? {
            TokenKind::Sign(';') => return Ok(function),
            TokenKind::Sign('{') => break,
            TokenKind::Word(".maxntid" | ".reqntid") => {
                let mut n = cursor.integer()?;
                while cursor.take(',') {
                    n = n.saturating_mul(cursor.integer()?);
                }
                function.max_threads = Some(u32::try_from(n).unwrap_or(u32::MAX));
            }
            _ => {}
        }
    }
    body::body(cursor, &mut function)?;
    function.has_body = true;
    Ok(function)
}

fn parameters(cursor: &mut Cursor) -> Result<Vec<Variable>, String> {
    let mut out = Vec::new();
    cursor.require('(')?;
    if cursor.take(')') {
        return Ok(out);
    }
    loop {
        let space = cursor.word()?;
        if space != ".param" {
            return Err(format!("parameters in `{space}` are not known"));
        }
        let (align, kind) = variable_type(cursor)?;
        out.push(named_variable(cursor, Space::Param, align, kind)?);
        if !cursor.take(',') {
            break;
        }
    }
    cursor.require(')')?;
    Ok(out)
}

/// A place in the tokens.
struct Cursor<'a> {
    tokens: &'a [Token<'a>],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<TokenKind<'a>> {
        self.tokens.get(self.at).map(|token| token.kind)
    }

    fn next(&mut self) -> Result<TokenKind<'a>, String> {
        let kind = self.peek().ok_or("the text ends too early")?;
        self.at += 1;
        Ok(kind)
    }

    /// The line of the token read last.
    fn line(&self) -> u32 {
        self.tokens.get(self.at.saturating_sub(1)).map_or(0, |token| token.line)
    }

    fn take(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(TokenKind::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn require(&mut self, sign: char) -> Result<(), String> {
        match self.next()? {
            TokenKind::Sign(found) if found == sign => Ok(()),
            other => Err(format!("`{sign}` was expected, not {other:?}")),
        }
    }

    fn word(&mut self) -> Result<&'a str, String> {
        match self.next()? {
            TokenKind::Word(word) => Ok(word),
            other => Err(format!("a name was expected, not {other:?}")),
        }
    }

    fn integer(&mut self) -> Result<u64, String> {
        match self.next()? {
            TokenKind::Integer(value) => Ok(value),
            other => Err(format!("a whole number was expected, not {other:?}")),
        }
    }

    fn skip_line(&mut self) {
        let line = self.line();
        while self.tokens.get(self.at).is_some_and(|token| token.line == line) {
            self.at += 1;
        }
    }

    fn skip_braces(&mut self) -> Result<(), String> {
        while !self.take('{') {
            self.next()?;
        }
        while !self.take('}') {
            self.next()?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn reads_variables_with_their_initial_bytes() {
        let source = parse(
            ".version 8.8 .target sm_70 .address_size 64 .global .align 4 .u32 n = 7; .const .b8 t[3] = {9, 8};\n\
             .global .align 8 .u64 names[2] = {generic(t), t+1}; .extern .shared .align 16 .b8 dyn[];",
        )
        .unwrap();
        assert_eq!((source.version, source.target), ((8, 8), 70));
        let shape: Vec<_> = source.variables.iter().map(|v| (v.name.as_str(), v.n_bytes, v.align)).collect();
        assert_eq!(shape, [("n", 4, 4), ("t", 3, 1), ("names", 16, 8), ("dyn", 0, 16)]);
        assert_eq!(source.variables[0].bytes, [7, 0, 0, 0]);
        assert_eq!(source.variables[2].pointers[1], Pointer { at: 8, to: "t".into(), plus: 1 });
    }

    #[test]
    fn what_is_no_ptx_is_refused_with_its_line() {
        assert!(parse("").unwrap_err().contains(".version"));
        assert!(parse(".version 8.8\n.target sm_70\n.wonder 5").unwrap_err().starts_with("line 3"));
        assert!(parse(".version 8.8 .entry k() { add.s32 %r1").is_err());
    }
}
