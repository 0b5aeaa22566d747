//! Modules that were compiled lately, by their kernels. Problems of one structure have the same kernels, whatever their numbers are, and to write and
//! compile a module takes as long as a small solve.

use std::cell::RefCell;
use std::rc::Rc;

use residua_codegen::CheckedKernel;

use super::module::Module;

/// Modules that are kept, each with the graphs of its kernels. Those of most pages fit.
const MOST: usize = 32;

struct Known {
    kernels: Rc<[CheckedKernel]>,
    module: Rc<Module>,
}

thread_local! {
    /// The one that was used last is the last.
    static KNOWN: RefCell<Vec<Known>> = const { RefCell::new(Vec::new()) };
}

impl Known {
    fn is_of(&self, kernels: &[CheckedKernel]) -> bool {
        self.kernels.len() == kernels.len()
            && self.kernels.iter().zip(kernels).all(|(known, kernel)| known.has_code_of(kernel))
    }
}

/// The module of such kernels, if it is kept.
pub(super) fn find(kernels: &[CheckedKernel]) -> Option<Rc<Module>> {
    KNOWN.with_borrow_mut(|known| {
        let found = known.iter().rposition(|known| known.is_of(kernels))?;
        let found = known.remove(found);
        let module = found.module.clone();
        known.push(found);
        Some(module)
    })
}

/// Keeps a module, in place of the one that was not used for longest if there are many.
pub(super) fn keep(kernels: Rc<[CheckedKernel]>, module: Rc<Module>) {
    KNOWN.with_borrow_mut(|known| {
        if known.len() >= MOST {
            known.remove(0);
        }
        known.push(Known { kernels, module });
    });
}
