//! Emits WGSL: lines at the depth of the enclosing blocks. Emitted text is only ever appended to.

/// Text under construction.
#[derive(Debug, Default)]
pub struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    /// No text yet, within so many blocks.
    pub fn at_depth(depth: usize) -> Writer {
        Writer { text: String::new(), depth }
    }

    /// A line.
    pub fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push_str("    ");
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// An empty line.
    pub fn blank_line(&mut self) {
        self.text.push('\n');
    }

    /// The head of a block; lines that follow are within it.
    pub fn open(&mut self, head: &str) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
    }

    /// The head of a block, with a comment for the reader.
    pub fn open_with_comment(&mut self, head: &str, text: &str) {
        self.line(&format!("{head} {{ {}", comment(text)));
        self.depth += 1;
    }

    /// The end of the innermost block.
    pub fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    /// A block of one line.
    pub fn block(&mut self, head: &str, line: &str) {
        self.open(head);
        self.line(line);
        self.close();
    }

    /// Lines that another writer has emitted at this depth.
    pub fn append(&mut self, lines: &str) {
        self.text.push_str(lines);
    }

    /// How many blocks are open.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

/// A line comment; characters that would end it, or that WGSL refuses, become spaces.
pub fn comment(text: &str) -> String {
    let is_refused = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let plain: String = text.chars().map(|c| if is_refused(c) { ' ' } else { c }).collect();
    format!("// {plain}")
}
