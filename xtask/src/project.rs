//! Where things stand in the repository.

use std::env;
use std::path::{Path, PathBuf};

/// The repository's root: the folder above this crate's.
pub fn root() -> PathBuf {
    let xtask = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    xtask.parent().map_or_else(|| xtask.clone(), Path::to_path_buf)
}

/// The unpacked npm package, as a consumer would have it in `node_modules/residua`.
pub fn package() -> PathBuf {
    root().join("target/npm/residua")
}

/// The libraries that the benchmarks run beside residua, bundled.
pub fn peers() -> PathBuf {
    root().join("target/peers")
}

/// The libraries that pages draw and plot with, as modules.
pub fn vendor() -> PathBuf {
    root().join("target/vendor")
}

/// The small language model of the page of text generation.
pub fn small_decoder() -> PathBuf {
    root().join("target/small-decoder")
}

/// What stands beside the pages of `www/`, and below which path.
pub fn mounts() -> Vec<(&'static str, PathBuf)> {
    let mut mounts =
        vec![("residua/", package()), ("peers/", peers()), ("vendor/", vendor()), ("small-decoder/", small_decoder())];
    // Where the documentation is not built, www/docs/ says how to.
    let documentation = root().join("target/docs");
    if documentation.join("index.html").is_file() {
        mounts.push(("docs/", documentation));
    }
    mounts
}

/// A script that npm has put into `node_modules`; run with Node, so that it needs no executable bit and no shell.
pub fn npm_script(path: &str) -> PathBuf {
    root().join("node_modules").join(path)
}
