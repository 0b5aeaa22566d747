//! Embeds the solvers' shaders.

fn main() -> std::io::Result<()> {
    residua_embed_shaders::embed("shaders", false)
}
