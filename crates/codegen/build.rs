//! Embeds the shader library that generated kernels import, with a list of the functions that each file defines.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDER: &str = "../../shaders/common";

fn main() -> io::Result<()> {
    residua_embed_shaders::embed(FOLDER, true)?;
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("OUT_DIR is not set"))?;
    fs::write(Path::new(&out).join("library.rs"), library()?)
}

/// The files as an expression of Rust: an array of `Library`.
fn library() -> io::Result<String> {
    let entries = fs::read_dir(FOLDER)?.map(|entry| entry.map(|entry| entry.path()));
    let mut files = entries.collect::<io::Result<Vec<PathBuf>>>()?;
    files.sort();
    let mut text = String::from("[\n");
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "wgsl")) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let source = fs::read_to_string(file)?;
        let functions = residua_embed_shaders::definitions(&source);
        let path = format!(r#"concat!(env!("OUT_DIR"), "/shaders/{name}.wgsl")"#);
        let template = format!("Template {{ name: \"{name}\", source: include_str!({path}) }}");
        writeln!(text, "    Library {{ template: {template}, functions: &{functions:?} }},")
            .map_err(io::Error::other)?;
    }
    Ok(text + "]\n")
}
