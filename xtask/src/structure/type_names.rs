//! A type that a crate takes from another one has a name of its own: no third meaning of it stands in a crate.

use super::{rust_modules::is_test, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The crate that a file belongs to, as paths name it.
fn crate_of(path: &Path) -> String {
    let name = match path.iter().nth(1) {
        Some(name) if path.starts_with("crates") => format!("residua_{}", name.to_str().unwrap()),
        _ => "residua".to_owned(),
    };
    name.replace('-', "_")
}

/// The types that a line defines for other files.
fn defined(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("pub")?;
    let rest = if rest.starts_with('(') { rest.split_once(") ")?.1 } else { rest.trim_start() };
    let (_, name) = rest.split_once(' ').filter(|(kind, _)| matches!(*kind, "struct" | "enum" | "trait" | "type"))?;
    name.split(|c: char| !c.is_alphanumeric()).next()
}

/// The types of other crates that a file names in paths, each with its crate.
fn taken(text: &str) -> impl Iterator<Item = (String, &str)> {
    text.split("residua_").skip(1).filter_map(|after| after.split_once("::")).flat_map(|(from, path)| {
        let end = path.find(|c: char| !c.is_alphanumeric() && !"_:{}, \n".contains(c)).unwrap_or(path.len());
        let names = path[..end].split(|c: char| !c.is_alphanumeric() && c != '_');
        let of = format!("residua_{from}");
        names.filter(|name| name.starts_with(char::is_uppercase)).map(move |name| (of.clone(), name))
    })
}

/// Names of types that a crate takes from another, and which a crate beside that one has as well.
fn namesakes<'a>(files: &[(&'a Path, &'a str)]) -> BTreeSet<&'a str> {
    let mut homes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for (path, text) in files {
        for name in text.lines().filter_map(defined) {
            homes.entry(name).or_default().insert(crate_of(path));
        }
    }
    let all = files.iter().flat_map(|(_, text)| taken(text));
    let is_shared = |of: &str, name: &str| homes.get(name).is_some_and(|homes| homes.contains(of) && homes.len() > 1);
    all.filter(|(of, name)| is_shared(of, name)).map(|(_, name)| name).collect()
}

#[test]
fn a_type_that_crates_share_has_no_namesake() {
    let files: Vec<_> = ["crates", "src"].iter().flat_map(|folder| sources(folder, &[".rs"])).collect();
    let files: Vec<_> = files
        .iter()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| (path.as_path(), text.split("\nmod tests {").next().unwrap()))
        .collect();
    assert!(files.len() > 400, "{}", files.len());
    assert_eq!(namesakes(&files), BTreeSet::new());
}

#[test]
fn a_namesake_is_found_where_it_is_private_to_a_folder() {
    let path = Path::new;
    let files = [
        (path("crates/a-b/src/lib.rs"), "pub struct Graph;\npub enum Own {}\nstruct Node;"),
        (path("src/model.rs"), "use residua_a_b::{Graph, graph::Node};"),
        (path("crates/c/src/x.rs"), "pub(super) struct Graph<T>(T);\npub type Node = u32;\npub enum Own {}"),
    ];
    assert_eq!(namesakes(&files), BTreeSet::from(["Graph"]));
}
