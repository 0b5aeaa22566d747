//! Adapters of WebGPU that compute on the CPU.

/// Why `backend: 'auto'` leaves such an adapter alone.
pub const SOFTWARE_REASON: &str = "the GPU is emulated in software, which is slower than the CPU";

/// What names a software adapter that does not say so itself.
const SOFTWARE: [&str; 6] = ["swiftshader", "llvmpipe", "lavapipe", "basic render driver", "warp", "software"];

/// Whether an adapter computes on the CPU: whether it says so (`isFallbackAdapter`), or one of the texts of its `GPUAdapterInfo` that have these names does.
pub fn is_software(told: bool, text: impl Fn(&str) -> String) -> bool {
    let is_named = |field: &&str| {
        let text = text(field);
        let text = text.as_bytes();
        SOFTWARE.iter().any(|name| text.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name.as_bytes())))
    };
    told || ["architecture", "description", "device"].iter().any(is_named)
}

#[cfg(test)]
mod tests {
    use super::is_software;

    #[test]
    fn software_adapters_are_known_by_what_they_say_and_by_their_names() {
        let with = |field: &'static str, value: &'static str| {
            move |name: &str| if name == field { value.to_owned() } else { String::new() }
        };
        for (field, value) in [
            ("architecture", "swiftshader"),
            ("device", "SwiftShader Device (Subzero)"),
            ("description", "llvmpipe (LLVM 19.1.7, 256 bits)"),
            ("description", "Microsoft Basic Render Driver"),
        ] {
            assert!(is_software(false, with(field, value)), "{field}: {value}");
        }
        assert!(is_software(true, with("architecture", "ampere")));
        for (field, value) in
            [("architecture", "ampere"), ("description", "NVIDIA H200"), ("vendor", "software"), ("device", "")]
        {
            assert!(!is_software(false, with(field, value)), "{field}: {value}");
        }
    }
}
