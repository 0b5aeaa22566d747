//! Embeds the shader files that kernels of tensors import.

fn main() -> std::io::Result<()> {
    residua_embed_shaders::embed("shaders", true)
}
