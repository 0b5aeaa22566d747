//! From the lines of a template to a tree.

use residua_base::error::Result;

use super::source::Template;

/// Blocks, parentheses and negations within one another, at most.
const MOST_LEVELS: u32 = 32;

/// A part of a template, with the number of its line.
pub(super) enum Item {
    Text(u32, Vec<Piece>),
    /// An empty line.
    Blank,
    Import(String),
    /// The name of a file, and the indentation of the directive.
    Include(u32, String, String),
    If(u32, Condition, Vec<Item>, Vec<Item>),
    For(u32, ForHead, Vec<Item>),
}

/// A part of a line.
pub(super) enum Piece {
    Text(String),
    Value(Expression),
}

/// The head of a `#for`.
pub(super) struct ForHead {
    pub variable: String,
    pub from: Expression,
    pub to: Expression,
    pub reversed: bool,
}

pub(super) enum Condition {
    Flag(String),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

pub(super) enum Expression {
    Number(u32),
    Name(String),
    Binary(char, Box<Expression>, Box<Expression>),
}

/// What ends a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Closing<'a> {
    File,
    Else(Option<&'a str>),
    If,
    For,
}

/// The items of a template.
pub(super) fn parse(template: Template) -> Result<Vec<Item>> {
    let mut parser = Parser { template, lines: template.source.lines().collect(), next: 0, levels: 0 };
    let (items, end) = parser.block()?;
    match end {
        Closing::File => Ok(items),
        Closing::Else(_) => Err(parser.error("#else without #if")),
        Closing::If => Err(parser.error("#endif without #if")),
        Closing::For => Err(parser.error("#endfor without #for")),
    }
}

struct Parser<'a> {
    template: Template<'a>,
    lines: Vec<&'a str>,
    /// Position of the next line, which is the number of the current one.
    next: usize,
    levels: u32,
}

impl<'a> Parser<'a> {
    fn error(&self, what: &str) -> residua_base::error::Error {
        self.template.error(self.next as u32, what)
    }

    /// Items up to the line that ends their block.
    fn block(&mut self) -> Result<(Vec<Item>, Closing<'a>)> {
        let mut items = Vec::new();
        while let Some(&line) = self.lines.get(self.next) {
            self.next += 1;
            let number = self.next as u32;
            let line = line.trim_ascii_end();
            let code = line.split("//").next().unwrap_or_default().trim_ascii_end();
            let Some(directive) = code.trim_ascii_start().strip_prefix('#') else {
                if line.is_empty() {
                    items.push(Item::Blank);
                } else if !code.is_empty() {
                    items.push(Item::Text(number, self.pieces(code)?));
                }
                continue;
            };
            let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
            let rest = rest.trim_ascii();
            let alone = |end| {
                if rest.is_empty() { Ok(end) } else { Err(self.error(&format!("#{word} takes nothing, not '{rest}'"))) }
            };
            match word {
                "import" => items.push(Item::Import(self.file_name(rest)?)),
                "include" => {
                    let indentation = code.split('#').next().unwrap_or_default().to_owned();
                    items.push(Item::Include(number, self.file_name(rest)?, indentation));
                }
                "if" => items.push(self.branches(number, rest)?),
                "for" => items.push(self.repetition(number, rest)?),
                "else" if rest.is_empty() => return Ok((items, Closing::Else(None))),
                "else" => match rest.strip_prefix("if ") {
                    Some(condition) => return Ok((items, Closing::Else(Some(condition)))),
                    None => {
                        return Err(self.error(&format!("#else takes 'if' and a condition, or nothing, not '{rest}'")));
                    }
                },
                "endif" => return Ok((items, alone(Closing::If)?)),
                "endfor" => return Ok((items, alone(Closing::For)?)),
                _ => return Err(self.error(&format!("no directive is called #{word}"))),
            }
        }
        Ok((items, Closing::File))
    }

    fn file_name(&self, name: &str) -> Result<String> {
        let is_name =
            !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_/".contains(&byte));
        if is_name { Ok(name.to_owned()) } else { Err(self.error(&format!("'{name}' is not the name of a file"))) }
    }

    fn within<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.levels += 1;
        if self.levels > MOST_LEVELS {
            return Err(self.error(&format!("more than {MOST_LEVELS} blocks within one another")));
        }
        let parsed = parse(self);
        self.levels -= 1;
        parsed
    }

    /// From an `#if` or `#else if` to the `#endif`.
    fn branches(&mut self, line: u32, condition: &str) -> Result<Item> {
        let condition = Scanner::whole(self, condition, Scanner::condition)?;
        let (then, end) = self.within(Parser::block)?;
        let otherwise = match end {
            Closing::If => Vec::new(),
            Closing::Else(Some(condition)) => {
                let line = self.next as u32;
                vec![self.within(|parser| parser.branches(line, condition))?]
            }
            Closing::Else(None) => {
                let (otherwise, end) = self.within(Parser::block)?;
                if end != Closing::If {
                    return Err(self.error(&format!("the #else of the #if of line {line} has no #endif")));
                }
                otherwise
            }
            Closing::File | Closing::For => return Err(self.error(&format!("the #if of line {line} has no #endif"))),
        };
        Ok(Item::If(line, condition, then, otherwise))
    }

    /// From a `#for` to its `#endfor`.
    fn repetition(&mut self, line: u32, head: &str) -> Result<Item> {
        let malformed = || self.error(&format!("#for takes 'name in first..end', not '{head}'"));
        let (variable, range) = head.split_once(" in ").ok_or_else(malformed)?;
        let variable = variable.trim_ascii();
        let is_name = variable.starts_with(|c: char| c.is_ascii_lowercase());
        if !is_name || !variable.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')
        {
            return Err(malformed());
        }
        let range = range.trim_ascii();
        let inner = range.strip_prefix('(').and_then(|range| range.strip_suffix(").rev()"));
        let (from, to) = inner.unwrap_or(range).split_once("..").ok_or_else(malformed)?;
        let head = ForHead {
            variable: variable.to_owned(),
            from: Scanner::whole(self, from, Scanner::sum)?,
            to: Scanner::whole(self, to, Scanner::sum)?,
            reversed: inner.is_some(),
        };
        let (body, end) = self.within(Parser::block)?;
        if end != Closing::For {
            return Err(self.error(&format!("the #for of line {line} has no #endfor")));
        }
        Ok(Item::For(line, head, body))
    }

    /// The parts of a line of WGSL.
    fn pieces(&self, line: &str) -> Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        let (mut text, mut rest) = (String::new(), line);
        while let Some((before, after)) = rest.split_once('{') {
            text.push_str(before);
            if !after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '(') {
                text.push('{');
                rest = after;
                continue;
            }
            let (inside, after) = after
                .split_once('}')
                .ok_or_else(|| self.error(&format!("the placeholder '{{{after}' is not closed")))?;
            if !text.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut text)));
            }
            pieces.push(Piece::Value(Scanner::whole(self, inside, Scanner::sum)?));
            rest = after;
        }
        text.push_str(rest);
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        Ok(pieces)
    }
}

/// Reads expressions and conditions.
struct Scanner<'a> {
    rest: &'a str,
    levels: u32,
}

/// What was found where something else was expected.
struct Unexpected;

impl<'a> Scanner<'a> {
    /// All of a text as one expression or condition.
    fn whole<T>(
        parser: &Parser,
        text: &'a str,
        parse: impl FnOnce(&mut Scanner<'a>) -> Result<T, Unexpected>,
    ) -> Result<T> {
        let mut scanner = Scanner { rest: text, levels: 0 };
        let parsed = parse(&mut scanner);
        match parsed {
            Ok(parsed) if scanner.rest.trim_ascii().is_empty() => Ok(parsed),
            _ => Err(parser.error(&format!("'{}' cannot be read from '{}' on", text, scanner.rest.trim_ascii()))),
        }
    }

    fn skip(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_ascii_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// The letters, digits and underscores that come next.
    fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_ascii_start();
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn within<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, Unexpected>) -> Result<T, Unexpected> {
        self.levels += 1;
        if self.levels > MOST_LEVELS {
            return Err(Unexpected);
        }
        let parsed = parse(self)?;
        self.levels -= 1;
        Ok(parsed)
    }

    fn condition(&mut self) -> Result<Condition, Unexpected> {
        let mut left = self.conjunction()?;
        while self.skip("||") {
            left = Condition::Or(Box::new(left), Box::new(self.conjunction()?));
        }
        Ok(left)
    }

    fn conjunction(&mut self) -> Result<Condition, Unexpected> {
        let mut left = self.flag()?;
        while self.skip("&&") {
            left = Condition::And(Box::new(left), Box::new(self.flag()?));
        }
        Ok(left)
    }

    fn flag(&mut self) -> Result<Condition, Unexpected> {
        if self.skip("!") {
            return Ok(Condition::Not(Box::new(self.within(Scanner::flag)?)));
        }
        if self.skip("(") {
            let inner = self.within(Scanner::condition)?;
            return if self.skip(")") { Ok(inner) } else { Err(Unexpected) };
        }
        let word = self.word();
        if word.starts_with(|c: char| c.is_ascii_uppercase()) {
            Ok(Condition::Flag(word.to_owned()))
        } else {
            Err(Unexpected)
        }
    }

    fn sum(&mut self) -> Result<Expression, Unexpected> {
        self.operations("+-", Scanner::product)
    }

    fn product(&mut self) -> Result<Expression, Unexpected> {
        self.operations("*/", Scanner::operand)
    }

    fn operations(
        &mut self,
        operators: &str,
        operand: fn(&mut Self) -> Result<Expression, Unexpected>,
    ) -> Result<Expression, Unexpected> {
        let mut left = operand(self)?;
        while let Some(operator) = operators.chars().find(|operator| self.skip(operator.encode_utf8(&mut [0; 4]))) {
            left = Expression::Binary(operator, Box::new(left), Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Expression, Unexpected> {
        if self.skip("(") {
            let inner = self.within(Scanner::sum)?;
            return if self.skip(")") { Ok(inner) } else { Err(Unexpected) };
        }
        let word = self.word();
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            return word.parse().map(Expression::Number).map_err(|_| Unexpected);
        }
        if word.is_empty() { Err(Unexpected) } else { Ok(Expression::Name(word.to_owned())) }
    }
}
