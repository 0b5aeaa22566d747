//! Which Rust file uses which: paths that begin with `crate`, `self` or `super`, followed through re-exports to the file of the definition.
//!
//! A declaration `mod x;` and a re-export `pub use x::Y;` are no uses. Test modules are left out.

use super::sources;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A module's path in its crate.
type Module = Vec<String>;

/// A path of a `use` item and the name that it brings.
type Named = (Vec<String>, String);

struct File {
    path: PathBuf,
    /// Words and punctuation, without comments, literals and test modules.
    tokens: Vec<String>,
    /// What other modules may name here and where it comes from; `*` is in `globs`.
    exports: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

/// Pairs of files, by their paths in the repository, of which the first uses the second.
pub fn uses(root: &str) -> BTreeSet<(PathBuf, PathBuf)> {
    let files: Vec<_> = sources(root, &[".rs"]).into_iter().filter(|(path, _)| !is_test(path)).collect();
    let modules: BTreeMap<Module, File> = files
        .into_iter()
        .map(|(path, text)| (module_of(path.strip_prefix(root).unwrap()), File::new(path, &text)))
        .collect();
    let mut found = BTreeSet::new();
    for (module, file) in &modules {
        for path in file.paths(module) {
            if let Some(target) = definition(&modules, &path, 0)
                && modules[&target].path != file.path
            {
                found.insert((file.path.clone(), modules[&target].path.clone()));
            }
        }
    }
    found
}

pub fn is_test(path: &Path) -> bool {
    let stem = path.file_stem().unwrap().to_str().unwrap();
    stem == "tests" || stem.ends_with("_tests") || stem.ends_with("_test") || path.iter().any(|part| part == "tests")
}

fn module_of(path: &Path) -> Module {
    let mut module: Module = path.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if matches!(module.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        module.pop();
    }
    module
}

/// The module in whose file a path's item is defined.
fn definition(modules: &BTreeMap<Module, File>, path: &[String], depth: usize) -> Option<Module> {
    let length = (0..=path.len()).rev().find(|length| modules.contains_key(&path[..*length]))?;
    let module = path[..length].to_vec();
    let Some(name) = path.get(length).filter(|_| depth < 8) else { return Some(module) };
    let file = &modules[&module];
    if let Some(origin) = file.exports.get(name) {
        let full = absolute(&module, origin)?;
        let full: Vec<String> = full.into_iter().chain(path[length + 1..].iter().cloned()).collect();
        return definition(modules, &full, depth + 1);
    }
    if !file.defines(name) {
        for glob in &file.globs {
            let below = absolute(&module, glob)?;
            if modules.get(&below).is_some_and(|file| file.defines(name) || file.exports.contains_key(name)) {
                return definition(modules, &below.into_iter().chain([name.clone()]).collect::<Vec<_>>(), depth + 1);
            }
        }
    }
    Some(module)
}

/// A path as it stands in a module, from the crate's root on; none where it leads out of the crate.
fn absolute(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => module.to_vec(),
        // A path of a re-export that begins with a module of the same file's.
        _ => return Some(module.iter().chain(path).cloned().collect()),
    };
    let supers = path.iter().take_while(|word| *word == "super").count();
    base.truncate(base.len().checked_sub(supers)?);
    base.extend(path[supers.max(usize::from(path[0] != "super"))..].iter().cloned());
    Some(base)
}

impl File {
    fn new(path: PathBuf, text: &str) -> Self {
        let mut tokens = tokens(text);
        remove_inline_modules(&mut tokens);
        let mut file = Self { path, tokens, exports: BTreeMap::new(), globs: Vec::new() };
        for (is_public, paths) in file.use_items() {
            for (path, name) in paths.into_iter().filter(|_| is_public) {
                if name == "*" {
                    file.globs.push(path);
                } else {
                    file.exports.insert(name, path);
                }
            }
        }
        file
    }

    fn defines(&self, name: &str) -> bool {
        const KINDS: [&str; 9] = ["fn", "struct", "enum", "trait", "const", "static", "type", "union", "macro_rules"];
        self.tokens.windows(2).any(|pair| pair[1] == name && KINDS.contains(&pair[0].as_str()))
    }

    /// The `use` items: whether public, and the paths with the names that they bring.
    fn use_items(&self) -> Vec<(bool, Vec<Named>)> {
        let mut found = Vec::new();
        for (place, _) in self.tokens.iter().enumerate().filter(|(_, token)| *token == "use") {
            let is_public = place > 0 && (self.tokens[place - 1] == "pub" || self.tokens[place - 1] == ")");
            let (mut at, mut paths) = (place + 1, Vec::new());
            tree(&self.tokens, &mut at, &[], &mut paths);
            found.push((is_public, paths));
        }
        found
    }

    /// The paths into this crate that the file's code uses, from the crate's root on.
    fn paths(&self, module: &[String]) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        for (is_public, paths) in self.use_items() {
            // A re-export of a child is no use of it.
            for (path, _) in paths.into_iter().filter(|_| !is_public) {
                if self.is_local(&path) {
                    found.extend(absolute(module, &path));
                }
            }
        }
        let mut at = 0;
        while at < self.tokens.len() {
            if self.tokens[at] == "use" {
                while at < self.tokens.len() && self.tokens[at] != ";" {
                    at += 1;
                }
            }
            let mut path = Vec::new();
            // `pub(in crate::x)` names no item.
            let begins = at == 0 || !matches!(self.tokens[at - 1].as_str(), "::" | "in");
            while at < self.tokens.len() && is_word(&self.tokens[at]) {
                path.push(self.tokens[at].clone());
                at += 1;
                if self.tokens.get(at).is_none_or(|token| token != "::") {
                    break;
                }
                at += 1;
            }
            if begins && path.len() > 1 && self.is_local(&path) {
                found.extend(absolute(module, &path));
            }
            if path.is_empty() {
                at += 1;
            }
        }
        found
    }

    /// Whether a path leads into this crate: from a keyword, or from a module that the file declares.
    fn is_local(&self, path: &[String]) -> bool {
        matches!(path[0].as_str(), "crate" | "self" | "super")
            || self.tokens.windows(3).any(|three| three[0] == "mod" && three[1] == path[0] && three[2] == ";")
    }
}

/// Reads a tree of a `use` item: paths with the names that they bring.
fn tree(tokens: &[String], at: &mut usize, before: &[String], found: &mut Vec<Named>) {
    let mut path = before.to_vec();
    while *at < tokens.len() {
        match tokens[*at].as_str() {
            "{" => {
                *at += 1;
                while *at < tokens.len() && tokens[*at] != "}" {
                    tree(tokens, at, &path, found);
                    *at += usize::from(tokens.get(*at).is_some_and(|token| token == ","));
                }
                *at += 1;
                return;
            }
            "*" => {
                *at += 1;
                found.push((path, "*".to_owned()));
                return;
            }
            "::" => *at += 1,
            "as" => {
                found.push((path, tokens[*at + 1].clone()));
                *at += 2;
                return;
            }
            word if is_word(word) => {
                // `{self, …}` is the path itself.
                if word != "self" || path.is_empty() {
                    path.push(word.to_owned());
                }
                *at += 1;
                if !matches!(tokens.get(*at).map(String::as_str), Some("::" | "as")) {
                    let name = path.last().expect("a word was just pushed").clone();
                    found.push((path, name));
                    return;
                }
            }
            _ => return,
        }
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The words and punctuation of a source; `::` is one token, literals are `""`.
fn tokens(text: &str) -> Vec<String> {
    let (mut rest, mut found) = (text, Vec::new());
    while let Some(first) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            string_length(rest)
        } else if let Some(hashes) = raw_string(rest) {
            let end = format!("\"{}", "#".repeat(hashes));
            let start = hashes + 2;
            rest[start..].find(&end).map_or(rest.len(), |place| start + place + end.len())
        } else if first == '\'' && character_length(rest).is_some() {
            character_length(rest).unwrap_or(1)
        } else if first.is_alphanumeric() || first == '_' {
            rest.find(|character: char| !character.is_alphanumeric() && character != '_').unwrap_or(rest.len())
        } else if rest.starts_with("::") {
            2
        } else {
            first.len_utf8()
        };
        let token = &rest[..length];
        if token.starts_with('"') || (token.starts_with('r') && token.contains('"')) {
            found.push("\"\"".to_owned());
        } else if !first.is_whitespace() && !token.starts_with("//") && !token.starts_with("/*") && first != '\'' {
            found.push(token.to_owned());
        }
        rest = &rest[length..];
    }
    found
}

fn string_length(text: &str) -> usize {
    let mut escaped = true;
    for (place, character) in text.char_indices() {
        match character {
            '"' if !escaped => return place + 1,
            '\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    text.len()
}

/// The hashes of a raw string that begins here.
fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix('r')?;
    let hashes = after.chars().take_while(|character| *character == '#').count();
    after[hashes..].starts_with('"').then_some(hashes)
}

/// The length of a character literal that begins here; none for a lifetime.
fn character_length(text: &str) -> Option<usize> {
    let mut characters = text.char_indices().skip(1);
    let (_, first) = characters.next()?;
    if first == '\\' {
        return text[2..].char_indices().skip(1).find(|(_, character)| *character == '\'').map(|(place, _)| place + 3);
    }
    characters.next().filter(|(_, character)| *character == '\'').map(|(place, _)| place + 1)
}

/// Removes the bodies of inline modules: those of tests use what they test, the others stand in the file themselves.
fn remove_inline_modules(tokens: &mut Vec<String>) {
    let mut place = 0;
    while place + 2 < tokens.len() {
        if tokens[place] == "mod" && tokens[place + 2] == "{" {
            let (mut depth, mut end) = (0_i32, place + 2);
            while end < tokens.len() {
                depth += i32::from(tokens[end] == "{") - i32::from(tokens[end] == "}");
                end += 1;
                if depth == 0 {
                    break;
                }
            }
            tokens.drain(place..end);
        } else {
            place += 1;
        }
    }
}

#[test]
fn uses_are_followed_to_the_file_of_the_definition() {
    let source = |path: &str, text: &str| (module_of(Path::new(path)), File::new(path.into(), text));
    let modules: BTreeMap<Module, File> = [
        source("mod.rs", "mod a; mod b; pub use a::{Thing, inner::*}; pub fn own<'a>(_: &'a str) {}"),
        source("a.rs", "pub mod inner; pub struct Thing; #[cfg(test)] mod tests { use super::super::own; }"),
        source("a/inner.rs", "pub fn deep() { r#\"use crate::b::x;\"#; }"),
        source("b.rs", "use super::{Thing as T, deep, own}; // use crate::a::tests;\nfn f() { let c = '\"'; crate::a::inner::deep(); }"),
    ]
    .into();
    let b = &modules[&module_of(Path::new("b.rs"))];
    let targets: Vec<_> =
        b.paths(&["b".to_owned()]).iter().map(|path| definition(&modules, path, 0).unwrap().join("/")).collect();
    assert_eq!(targets, ["a", "a/inner", "", "a/inner"]);
    assert_eq!(modules[&Vec::new()].paths(&[]), Vec::<Vec<String>>::new());
    assert_eq!(modules[&vec!["a".to_owned()]].paths(&["a".to_owned()]), Vec::<Vec<String>>::new());
}
