//! What a shader declares for its host: resource variables and uniform structures.
//!
//! Each is declared once, in Rust. Its WGSL is written from the declaration, and so are the layout of its bind group ([`AccessMode`] by
//! binding number) and the words of its uniform buffer ([`uniform!`](crate::uniform)).

use std::fmt::Write;

/// How a shader accesses a resource variable; `residua_gpu` has a kind of binding for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessMode {
    /// A storage buffer that is read.
    Read,
    /// A storage buffer that is read and written.
    ReadWrite,
    /// A uniform buffer.
    Uniform,
}

/// A resource variable of bind group 0. Its binding number is its position in the shader's list of resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The variable's name.
    pub name: String,
    /// The variable's type in WGSL: `array<f32>`.
    pub ty: String,
    /// How it is accessed.
    pub access: AccessMode,
}

impl Resource {
    /// A storage buffer of elements of a type.
    pub fn array(name: &str, element: &str, written: bool) -> Resource {
        let access = if written { AccessMode::ReadWrite } else { AccessMode::Read };
        Resource { name: name.to_owned(), ty: format!("array<{element}>"), access }
    }

    /// A storage buffer that is read.
    pub fn read(name: &str, element: &str) -> Resource {
        Resource::array(name, element, false)
    }

    /// A storage buffer that is read and written.
    pub fn read_write(name: &str, element: &str) -> Resource {
        Resource::array(name, element, true)
    }

    /// A uniform buffer of a structure.
    pub fn uniform(name: &str, structure: &Structure) -> Resource {
        Resource::uniform_of(name, structure.name)
    }

    /// A uniform buffer of a type that the shader's text defines.
    pub fn uniform_of(name: &str, ty: &str) -> Resource {
        Resource { name: name.to_owned(), ty: ty.to_owned(), access: AccessMode::Uniform }
    }
}

/// The declarations of a shader's resources, one line each.
pub fn declare_resources(resources: &[Resource]) -> String {
    let mut text = String::new();
    for (binding, Resource { name, ty, access }) in resources.iter().enumerate() {
        let space = match access {
            AccessMode::Read => "storage, read",
            AccessMode::ReadWrite => "storage, read_write",
            AccessMode::Uniform => "uniform",
        };
        writeln!(text, "@group(0) @binding({binding}) var<{space}> {name}: {ty};")
            .expect("writing to a string succeeds");
    }
    text
}

/// A structure of 32-bit words, made by [`uniform!`](crate::uniform).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Structure {
    /// Its name in WGSL.
    pub name: &'static str,
    /// Its members, in order.
    pub members: &'static [Member],
}

/// A member of a [`Structure`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name, in Rust and in WGSL.
    pub name: &'static str,
    /// Its type, in Rust and in WGSL.
    pub ty: &'static str,
    /// What it is, for the reader of the generated text.
    pub comment: &'static str,
}

impl Structure {
    /// The declaration in WGSL, every member with its comment.
    pub fn declaration(&self) -> String {
        let width = self.members.iter().map(|member| member.name.len()).max().unwrap_or(0) + ": u32,".len();
        let mut text = format!("struct {} {{\n", self.name);
        for Member { name, ty, comment } in self.members {
            let declared = format!("{name}: {ty},");
            writeln!(text, "    {declared:width$} // {}", comment.trim_ascii()).expect("writing to a string succeeds");
        }
        text + "}\n"
    }
}

/// The type of a member: 32 bits with one meaning in Rust and WGSL.
pub trait Word {
    /// Its name.
    const TYPE: &'static str;
    /// Its bits.
    fn word(self) -> u32;
}

impl Word for u32 {
    const TYPE: &'static str = "u32";
    fn word(self) -> u32 {
        self
    }
}

impl Word for f32 {
    const TYPE: &'static str = "f32";
    fn word(self) -> u32 {
        self.to_bits()
    }
}

/// Declares the uniform structure of a shader: a Rust structure of 32-bit words with `STRUCTURE`, its declaration for WGSL, and
/// `words()`, the contents of the buffer. The documentation of a member is its comment in WGSL. A member without a type is a `u32`.
#[macro_export]
macro_rules! uniform {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident, $wgsl:literal { $(#[doc = $comment:literal] $member:ident $(: $type:ty)?,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        #[repr(C)]
        pub struct $name {
            $(#[doc = $comment] pub $member: $crate::uniform!(@type $($type)?),)+
        }

        impl $name {
            /// Its declaration.
            pub const STRUCTURE: $crate::wgsl::Structure = $crate::wgsl::Structure {
                name: $wgsl,
                members: &[$($crate::wgsl::Member {
                    name: stringify!($member),
                    ty: <$crate::uniform!(@type $($type)?) as $crate::wgsl::Word>::TYPE,
                    comment: $comment,
                }),+],
            };

            /// The words of the uniform buffer, in the order of the members.
            pub fn words(self) -> [u32; Self::STRUCTURE.members.len()] {
                [$($crate::wgsl::Word::word(self.$member)),+]
            }
        }
    };
    (@type) => { u32 };
    (@type $type:ty) => { $type };
}

#[cfg(test)]
mod tests {
    use super::*;

    uniform! {
        /// Two words.
        pub struct Pair, "Pair" {
            /// the first
            a,
            /// the second
            longer: f32,
        }
    }

    #[test]
    fn the_text_of_a_structure_and_its_words_come_from_one_declaration() {
        assert_eq!(
            Pair::STRUCTURE.declaration(),
            "struct Pair {\n    a: u32,      // the first\n    longer: f32, // the second\n}\n"
        );
        assert_eq!(Pair { a: 3, longer: 0.5 }.words(), [3, 0x3f00_0000]);
    }

    #[test]
    fn bindings_are_numbered_in_the_order_of_the_resources() {
        let resources = [Resource::array("x", "f32", false), Resource::array("y", "u32", true)];
        let pair = Resource::uniform("pair", &Pair::STRUCTURE);
        let text = declare_resources(&[&resources[..], &[pair]].concat());
        assert_eq!(
            text,
            "@group(0) @binding(0) var<storage, read> x: array<f32>;\n\
             @group(0) @binding(1) var<storage, read_write> y: array<u32>;\n\
             @group(0) @binding(2) var<uniform> pair: Pair;\n"
        );
    }
}
