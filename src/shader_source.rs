//! The templates of `shaders/`, and what connects their declarations with the device.

use residua_base::list::Listed;
use residua_codegen::wgsl::{AccessMode, Parameters, ProgramText, Resource, Structure, Template};
use residua_gpu::BindingKind;

/// A file of `shaders/` by its name without `.wgsl`.
macro_rules! template {
    ($name:literal) => {
        residua_codegen::wgsl::Template {
            name: $name,
            source: include_str!(concat!(env!("OUT_DIR"), "/shaders/", $name, ".wgsl")),
        }
    };
}
pub(crate) use template;

/// The bindings of the resources that a shader declares.
pub fn binding_kinds(resources: &[Resource]) -> Vec<BindingKind> {
    let kind = |resource: &Resource| match resource.access {
        AccessMode::Read => BindingKind::StorageRead,
        AccessMode::ReadWrite => BindingKind::StorageReadWrite,
        AccessMode::Uniform => BindingKind::Uniform,
    };
    resources.iter().map(kind).list()
}

/// The text of a shader that declares uniforms and resources. `guard`: a word that is zero in every run, if it has sums that are compensated.
pub fn shader_text(
    uniforms: &Structure,
    resources: &[Resource],
    guard: Option<&str>,
    template: Template<'static>,
    parameters: &dyn Parameters,
) -> String {
    let mut program = ProgramText::new();
    program.declare(&[uniforms], resources);
    if let Some(guard) = guard {
        program.read_guard_from(guard);
    }
    program.push_template(template, &[], parameters);
    program.finish()
}

#[cfg(all(test, not(target_arch = "wasm32")))]
pub(crate) mod tests {
    use naga::{AddressSpace, StorageAccess};
    use residua_gpu::BindingKind;

    /// Checks that a module is valid, has this entry point, binds the kinds of this layout, and takes the guard's zero, if it has one,
    /// from a storage buffer.
    pub(crate) fn check_module(text: &str, entry: &str, layout: &[BindingKind]) {
        let module = residua_portable::validated(text);
        assert_eq!(module.entry_points[0].name, entry);
        let mut bound = Vec::new();
        for (_, variable) in module.global_variables.iter() {
            let Some(binding) = &variable.binding else { continue };
            let kind = match variable.space {
                AddressSpace::Storage { access } if access.contains(StorageAccess::STORE) => {
                    BindingKind::StorageReadWrite
                }
                AddressSpace::Storage { .. } => BindingKind::StorageRead,
                _ => BindingKind::Uniform,
            };
            bound.push((binding.binding, kind));
        }
        bound.sort_by_key(|(binding, _)| *binding);
        let expected: Vec<_> = (0..).zip(layout.iter().copied()).collect();
        assert_eq!(bound, expected, "{entry}");
        residua_portable::assert_guard_reads_storage(&module);
    }
}
