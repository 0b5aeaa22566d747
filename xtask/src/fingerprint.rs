//! Whether a step's result is still that of its inputs: one hash over the inputs and the outputs, kept in a file under
//! `target/xtask`. Outputs are hashed too, so that one made by hand or half written is made again.

use crate::command::{AtPath, Outcome};
use crate::project;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// The inputs and outputs of a step: files, or folders with all that is in them, relative to the repository's root.
pub struct Step<'a> {
    pub name: &'a str,
    pub inputs: &'a [&'a str],
    pub outputs: &'a [&'a str],
    /// What else decides the result: versions, flags.
    pub circumstances: &'a str,
}

impl Step<'_> {
    /// Calls `make` unless the outputs are those that it made of these inputs.
    pub fn unless_current(&self, make: impl FnOnce() -> Outcome) -> Outcome {
        let stamp = project::root().join("target/xtask").join(self.name);
        if fs::read_to_string(&stamp).ok() == Some(self.fingerprint()?) {
            return Ok(());
        }
        make()?;
        let folder = stamp.parent().expect("the stamp stands in target/xtask");
        fs::create_dir_all(folder).at(folder)?;
        fs::write(&stamp, self.fingerprint()?).at(&stamp)
    }

    fn fingerprint(&self) -> Outcome<String> {
        let mut hasher = DefaultHasher::new();
        self.circumstances.hash(&mut hasher);
        for path in self.inputs.iter().chain(self.outputs) {
            for file in files(&project::root().join(path))? {
                file.hash(&mut hasher);
                fs::read(&file).at(&file)?.hash(&mut hasher);
            }
        }
        Ok(format!("{:016x}", hasher.finish()))
    }
}

/// The files at or under a path, sorted; none where nothing is there.
pub fn files(path: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![path.to_path_buf()];
    while let Some(path) = open.pop() {
        if path.is_file() {
            found.push(path);
        } else if path.is_dir() {
            for entry in fs::read_dir(&path).at(&path)? {
                open.push(entry.at(&path)?.path());
            }
        }
    }
    found.sort();
    Ok(found)
}
