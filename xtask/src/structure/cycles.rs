//! Cycles of `use` and `import`. One graph for each folder: its nodes are its files and folders, an edge says that one uses another, or that a file below one does.

use super::{rust_modules, script_imports, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Cycles between files of one folder that stand: at most three in the repository.
const BETWEEN_FILES: &[&str] = &[
    "crates/gpu/src: buffer.rs, context.rs, pipeline.rs, profile.rs, run.rs, scope.rs, speed.rs",
    "crates/linalg/src: choice.rs, cholesky.rs, dense_qr.rs, elimination_group.rs, fronts.rs, iterative_schur.rs, layout.rs, normal_matrix.rs, pcg.rs, subtrees.rs, supernodes.rs, system.rs",
    // A device makes stored tensors and programs, which name their device.
    "pkg-template/src/tensor/device: device.ts, kv-cache.ts, program.ts, quantized-tensor.ts, shared-tensor.ts, stored-tensor.ts",
];

/// Cycles with a folder that stand: there shall be none.
const BETWEEN_FOLDERS: &[&str] = &[];

type Graph = BTreeMap<PathBuf, BTreeSet<PathBuf>>;

/// The graph of each folder. `x.rs` beside the folder `x` is one node with it.
fn graphs(edges: &BTreeSet<(PathBuf, PathBuf)>) -> BTreeMap<PathBuf, Graph> {
    let mut graphs: BTreeMap<PathBuf, Graph> = BTreeMap::new();
    for (from, to) in edges {
        let shared: PathBuf = from.iter().zip(to.iter()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
        let node = |path: &Path| PathBuf::from(path.strip_prefix(&shared).unwrap().iter().next().unwrap());
        let folder_of = |node: PathBuf| match node.extension() {
            Some(end) if end == "rs" && crate::project::root().join(&shared).join(node.with_extension("")).is_dir() => {
                node.with_extension("")
            }
            _ => node,
        };
        let (from, to) = (folder_of(node(from)), folder_of(node(to)));
        if from != to {
            graphs.entry(shared).or_default().entry(from).or_default().insert(to);
        }
    }
    graphs
}

/// What can be reached from a node.
fn reached<'a>(graph: &'a Graph, from: &'a Path) -> BTreeSet<&'a Path> {
    let (mut open, mut found) = (vec![from], BTreeSet::new());
    while let Some(node) = open.pop() {
        for next in graph.get(node).into_iter().flatten() {
            if found.insert(next.as_path()) {
                open.push(next);
            }
        }
    }
    found
}

/// The cycles of a graph: the largest sets of nodes each of which reaches all.
fn cycles(graph: &Graph) -> BTreeSet<BTreeSet<&Path>> {
    let reach: BTreeMap<&Path, _> = graph.keys().map(|node| (node.as_path(), reached(graph, node))).collect();
    let together = |a: &Path, b: &Path| reach[a].contains(b) && reach.get(b).is_some_and(|reach| reach.contains(a));
    let cycle = |node: &&'_ Path| reach[*node].iter().copied().filter(|other| together(node, other)).collect();
    reach.keys().map(cycle).filter(|cycle: &BTreeSet<&Path>| !cycle.is_empty()).collect()
}

/// All cycles of the repository: whether one holds a folder, and its name, `folder: a, b`.
fn all() -> Vec<(bool, String)> {
    let mut edges = BTreeSet::new();
    let mut roots = vec!["src".to_owned(), "xtask/src".to_owned(), "tests/portable/src".to_owned()];
    let crates: BTreeSet<String> = sources("crates", &["lib.rs"])
        .iter()
        .map(|(path, _)| path.parent().unwrap().to_str().unwrap().to_owned())
        .collect();
    roots.extend(crates);
    roots.iter().for_each(|root| edges.extend(rust_modules::uses(root)));
    for root in ["pkg-template/src", "www", "tests", "xtask", "docs"] {
        edges.extend(script_imports::imports(root));
    }
    assert!(edges.len() > 500, "{}", edges.len());
    let mut found = Vec::new();
    for (folder, graph) in graphs(&edges) {
        for cycle in cycles(&graph) {
            let names: Vec<&str> = cycle.iter().map(|node| node.to_str().unwrap()).collect();
            let has_folder = cycle.iter().any(|node| node.extension().is_none());
            found.push((has_folder, format!("{}: {}", folder.display(), names.join(", "))));
        }
    }
    found
}

#[test]
fn files_and_folders_use_each_other_in_one_direction() {
    let found = all();
    for (of_folders, listed) in [(false, BETWEEN_FILES), (true, BETWEEN_FOLDERS)] {
        let cycles: Vec<&str> =
            found.iter().filter(|(folders, _)| *folders == of_folders).map(|(_, name)| name.as_str()).collect();
        // A cycle that was broken leaves the list.
        assert_eq!(cycles, listed, "cycles between {}", if of_folders { "folders" } else { "files" });
    }
}

#[test]
fn a_cycle_is_found_through_several_files_and_folders() {
    let pair = |(a, b): (&str, &str)| (PathBuf::from(a), PathBuf::from(b));
    let edges: BTreeSet<_> = [
        ("s/a.ts", "s/b.ts"),
        ("s/b.ts", "s/c.ts"),
        ("s/c.ts", "s/a.ts"),
        ("s/c.ts", "s/d.ts"),
        ("s/e/x.ts", "s/f/y.ts"),
        ("s/f/z.ts", "s/e/w.ts"),
    ]
    .map(pair)
    .into();
    let graphs = graphs(&edges);
    let found: Vec<Vec<&str>> = cycles(&graphs[Path::new("s")])
        .iter()
        .map(|cycle| cycle.iter().map(|node| node.to_str().unwrap()).collect())
        .collect();
    assert_eq!(found, [vec!["a.ts", "b.ts", "c.ts"], vec!["e", "f"]]);
}
