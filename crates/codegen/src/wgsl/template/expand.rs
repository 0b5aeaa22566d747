//! From the tree of a template to its text.

use residua_base::error::{Error, Result};

use super::parse::{Condition, Expression, ForHead, Item, Piece, parse};
use super::source::{Expansion, Parameters, Template, Value};

impl Template<'_> {
    /// The template for some parameters. `file` finds a file that is included, by its name.
    ///
    /// # Errors
    /// Directives and placeholders that are malformed, out of place or not closed, names without a value, numbers that no `u32` holds.
    pub fn expand<'a>(
        &'a self,
        parameters: &dyn Parameters,
        file: &dyn Fn(&str) -> Option<Template<'a>>,
    ) -> Result<Expansion> {
        self.expand_values(&parameters.values(), file)
    }

    pub(in crate::wgsl) fn expand_values<'a>(
        &'a self,
        values: &[(&'static str, Value)],
        file: &dyn Fn(&str) -> Option<Template<'a>>,
    ) -> Result<Expansion> {
        expand(*self, values, file)
    }
}

/// Files that include one another, at most.
const MOST_INCLUDES: u32 = 8;

/// Bytes of an expansion, at most: the longest of the project's has 40,000.
const MOST_BYTES: usize = 1 << 20;

/// Turns of a `#for`, at most.
const MOST_TURNS: u32 = 1 << 12;

pub(super) fn expand<'a>(
    template: Template<'a>,
    parameters: &[(&'static str, Value)],
    file: &dyn Fn(&str) -> Option<Template<'a>>,
) -> Result<Expansion> {
    let mut expander = Expander {
        parameters,
        file,
        variables: Vec::new(),
        includes: 0,
        indentation: String::new(),
        output: Expansion::default(),
    };
    expander.template(template)?;
    let Expansion { mut text, imports } = expander.output;
    text.truncate(text.trim_ascii_end().len());
    // The sources are embedded with tabs.
    text = text.replace('\t', "    ");
    if !text.is_empty() {
        text.push('\n');
    }
    Ok(Expansion { text, imports })
}

struct Expander<'a, 'e> {
    parameters: &'e [(&'static str, Value)],
    file: &'e dyn Fn(&str) -> Option<Template<'a>>,
    /// The enclosing loops, innermost last.
    variables: Vec<(String, u32)>,
    includes: u32,
    /// Of the included file.
    indentation: String,
    output: Expansion,
}

impl<'a> Expander<'a, '_> {
    fn template(&mut self, template: Template<'a>) -> Result<()> {
        self.items(template, &parse(template)?)
    }

    fn items(&mut self, template: Template<'a>, items: &[Item]) -> Result<()> {
        for item in items {
            match item {
                Item::Text(line, pieces) => self.line(template, *line, pieces)?,
                Item::Blank => {
                    let text = &mut self.output.text;
                    if !text.is_empty() && !text.ends_with("\n\n") {
                        text.push('\n');
                    }
                }
                Item::Import(name) => {
                    if !self.output.imports.contains(name) {
                        self.output.imports.push(name.clone());
                    }
                }
                Item::Include(line, name, indentation) => self.include(template, *line, name, indentation)?,
                Item::If(line, condition, then, otherwise) => {
                    let branch = if self.holds(template, *line, condition)? { then } else { otherwise };
                    self.items(template, branch)?;
                }
                Item::For(line, head, body) => self.repeat(template, *line, head, body)?,
            }
        }
        Ok(())
    }

    fn line(&mut self, template: Template, line: u32, pieces: &[Piece]) -> Result<()> {
        self.output.text.push_str(&self.indentation);
        for piece in pieces {
            match piece {
                Piece::Text(text) => self.output.text.push_str(text),
                Piece::Value(Expression::Name(name)) => match self.value(template, line, name)? {
                    Value::Number(number) => self.output.text.push_str(&number.to_string()),
                    Value::Text(text) => self.output.text.push_str(&text),
                    Value::Flag(_) => return Err(template.error(line, &format!("{name} is a flag: only #if takes it"))),
                },
                Piece::Value(expression) => {
                    let number = self.number(template, line, expression)?;
                    self.output.text.push_str(&number.to_string());
                }
            }
        }
        self.output.text.push('\n');
        if self.output.text.len() > MOST_BYTES {
            return Err(template.error(line, &format!("the expansion has more than {MOST_BYTES} bytes")));
        }
        Ok(())
    }

    fn include(&mut self, template: Template, line: u32, name: &str, indentation: &str) -> Result<()> {
        let file = (self.file)(name).ok_or_else(|| template.error(line, &format!("there is no file '{name}'")))?;
        if self.includes == MOST_INCLUDES {
            return Err(template.error(line, &format!("more than {MOST_INCLUDES} files include one another")));
        }
        self.includes += 1;
        let length = self.indentation.len();
        self.indentation.push_str(indentation);
        self.template(file)?;
        self.indentation.truncate(length);
        self.includes -= 1;
        Ok(())
    }

    fn repeat(&mut self, template: Template<'a>, line: u32, head: &ForHead, body: &[Item]) -> Result<()> {
        let ForHead { variable, reversed, .. } = head;
        let (from, to) = (self.number(template, line, &head.from)?, self.number(template, line, &head.to)?);
        let turns = to.saturating_sub(from);
        if turns > MOST_TURNS {
            return Err(template.error(line, &format!("a #for of {turns} turns; at most {MOST_TURNS} are possible")));
        }
        if self.variables.iter().any(|(name, _)| name == variable) {
            return Err(template.error(line, &format!("{variable} is the variable of an enclosing #for")));
        }
        for turn in 0..turns {
            let value = if *reversed { to - 1 - turn } else { from + turn };
            self.variables.push((variable.clone(), value));
            self.items(template, body)?;
            self.variables.pop();
        }
        Ok(())
    }

    fn value(&self, template: Template, line: u32, name: &str) -> Result<Value> {
        if let Some((_, value)) = self.variables.iter().find(|(variable, _)| variable == name) {
            return Ok(Value::Number(*value));
        }
        let is_parameter = !name.bytes().any(|byte| byte.is_ascii_lowercase());
        let parameter = self.parameters.iter().find(|(field, _)| is_parameter && field.eq_ignore_ascii_case(name));
        parameter.map(|(_, value)| value.clone()).ok_or_else(|| template.error(line, &format!("{name} has no value")))
    }

    fn holds(&self, template: Template, line: u32, condition: &Condition) -> Result<bool> {
        Ok(match condition {
            Condition::Flag(name) => match self.value(template, line, name)? {
                Value::Flag(flag) => flag,
                _ => return Err(template.error(line, &format!("{name} is no flag"))),
            },
            Condition::Not(inner) => !self.holds(template, line, inner)?,
            // Both sides are evaluated, so that a name without a value is an error whatever the other side is.
            Condition::And(left, right) => self.holds(template, line, left)? & self.holds(template, line, right)?,
            Condition::Or(left, right) => self.holds(template, line, left)? | self.holds(template, line, right)?,
        })
    }

    fn number(&self, template: Template, line: u32, expression: &Expression) -> Result<u32> {
        match expression {
            Expression::Number(number) => Ok(*number),
            Expression::Name(name) => match self.value(template, line, name)? {
                Value::Number(number) => Ok(number),
                _ => Err(template.error(line, &format!("{name} is no number"))),
            },
            Expression::Binary(operator, left, right) => {
                let (left, right) = (self.number(template, line, left)?, self.number(template, line, right)?);
                let result = match operator {
                    '+' => left.checked_add(right),
                    '-' => left.checked_sub(right),
                    '*' => left.checked_mul(right),
                    _ => left.checked_div(right),
                };
                result.ok_or_else(|| -> Error {
                    template.error(line, &format!("no u32 is the result of {left} {operator} {right}"))
                })
            }
        }
    }
}
