//! Embeds the shader library that generated kernels import.

fn main() -> std::io::Result<()> {
    residua_embed_shaders::embed("../../shaders/common", true)
}
