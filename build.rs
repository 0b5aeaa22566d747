//! Packs the files of `shaders/` into one text for `src/codegen/wgsl/source.rs`: without comments and indentation, which only their
//! readers need, and with repetitions told by their places. They take a quarter of their size in the module so.

#[path = "build/packing.rs"]
mod packing;

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("shaders");
    for read in ["build.rs", "build", "shaders"] {
        println!("cargo::rerun-if-changed={read}");
    }
    let mut files = Vec::new();
    shaders_below(&folder, &mut files)?;
    files.sort();
    let (mut text, mut names, mut ends) = (String::new(), Vec::new(), Vec::new());
    for file in &files {
        text += &packing::without_comments(&fs::read_to_string(file)?);
        let name = file.strip_prefix(&folder).expect("it was found below");
        names.push(name.to_string_lossy().replace('\\', "/"));
        ends.push(text.len());
    }
    let packed = packing::pack(&text);
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(
        out.join("shaders.rs"),
        format!(
            "pub(super) const NAMES: [&str; {count}] = {names:?};\nstatic ENDS: [u32; {count}] = {ends:?};\n\
             static PACKED: [u8; {size}] = {packed:?};\nconst LENGTH: usize = {length};\n",
            count = files.len(),
            size = packed.len(),
            length = text.len()
        ),
    )
}

fn shaders_below(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            shaders_below(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "wgsl") {
            files.push(path);
        }
    }
    Ok(())
}
