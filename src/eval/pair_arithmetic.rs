//! Whether a device's arithmetic holds for pairs, and in which form: one dispatch a context, when kernels in pairs are asked for first.
//!
//! WGSL lets compilers rearrange and fuse operations, and rounds `fma` once or twice. The library of pairs guards each rounding that
//! matters; this test finds whether that holds. Sums and products with their errors are compared with the host's, bit by bit, over
//! operands of many sizes, ties and sums that cancel; then a loop of sums and products of pairs, quotients and roots, with f64.

use crate::shader_source::{binding_kinds, template};
use residua_base::error::{Error, ErrorCode, Result};
use residua_base::list::PushAll;
use residua_codegen::uniform;
use residua_codegen::wgsl::{Dispatch, NoParameters, PairForm, ProgramText, Resource};
use residua_gpu::{BindingKind, Rounding};

/// Threads of the test, each with operands of its own.
pub const THREADS: u32 = 256;

/// Steps of the loop.
const STEPS: u32 = 64;

/// Pairs of numbers that a thread takes: addends, factors, and two pairs.
const OPERANDS: usize = 4;

/// Pairs of numbers that a thread gives: a sum and a product with their errors, the end of the loop, a quotient, a root.
const RESULTS: usize = 5;

/// Unit roundoff of single precision.
const U: f32 = f32::EPSILON / 2.0;

uniform! {
    /// Uniforms of the test.
    pub struct TestUniforms, "Uniforms" {
        /// steps of the loop
        steps,
        /// bits of a NaN
        nan,
    }
}

impl TestUniforms {
    /// Those that the test runs with.
    pub fn new() -> TestUniforms {
        TestUniforms { steps: STEPS, nan: Dispatch::NAN }
    }
}

fn resources() -> [Resource; 4] {
    [
        Resource::read("operands", "vec2<f32>"),
        Resource::read_write("results", "vec2<f32>"),
        // The guard's word.
        Resource::read("zero", "u32"),
        Resource::uniform("dispatch", &TestUniforms::STRUCTURE),
    ]
}

/// What the test's kernel binds.
pub fn layout() -> Vec<BindingKind> {
    binding_kinds(&resources())
}

/// The text of the test's kernel, whose entry point is `pair_arithmetic_test`, for a form of products.
pub fn wgsl(form: PairForm) -> String {
    let mut program = ProgramText::new();
    program.declare(&[&TestUniforms::STRUCTURE], &resources());
    program.read_guard_from("zero[0]");
    program.set_pair_form(form);
    program.push_template(template!("pair_arithmetic_test"), &[], &NoParameters);
    program.finish()
}

/// Random words, the same in every run (Marsaglia's xorshift, 2003).
struct Words(u32);

impl Words {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    /// A number of random sign and digits, with an exponent from −`range` to `range`.
    fn number(&mut self, range: u32) -> f32 {
        let exponent = 127 - range + self.next() % (2 * range + 1);
        f32::from_bits((self.next() & 0x807f_ffff) | (exponent << 23))
    }

    /// A pair of ±[1, 2).
    fn pair(&mut self) -> [f32; 2] {
        [self.number(0), self.number(0) * (U / 4.0)]
    }
}

/// The operands of all threads, as the kernel takes them.
pub fn operands() -> Vec<[f32; 2]> {
    let mut words = Words(2_463_534_242);
    let mut operands = Vec::new();
    for thread in 0..THREADS {
        let near_one = 1.0 + 2.0 * U * (thread / 8) as f32;
        let any = words.number(60);
        let addends = match thread % 8 {
            // Ties: half a unit of the last place, of even numbers and of odd ones.
            0 => [near_one, U],
            1 => [-near_one, U],
            // Sums that cancel all digits, or all but some.
            2 => [any, -any],
            3 => [any, -any * near_one],
            // The smaller first.
            4 => [words.number(3), any * 256.0],
            _ => [any, words.number(60)],
        };
        let factors = match thread % 4 {
            0 => [near_one, 1.0 - U],
            // Products of odd numbers of 13 bits have 25 or 26: ties.
            1 => [(4097 + 2 * thread) as f32, (4099 + 2 * (words.next() & 1023)) as f32],
            // Errors of products below 2⁻⁷⁸ would not be normal numbers.
            _ => [words.number(30), words.number(30)],
        };
        // The loop's factor is below 1, so that it converges.
        let [high, low] = words.pair();
        operands.push_all([addends, factors, [high * 0.5, low * 0.5], words.pair()]);
    }
    operands
}

/// What of the results of a form is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Sums: no form helps.
    Sums,
    /// Products: another form may.
    Products,
    /// Pairs, though sums and products are right: another form may.
    Pairs,
}

/// Compares a kernel's results with the host's.
pub fn check(results: &[f32]) -> std::result::Result<(), Fault> {
    let operands = operands();
    let mut fault = None;
    let mut found = |what: Fault, holds: bool| {
        if !holds && fault.is_none_or(|known| (what as u8) < known as u8) {
            fault = Some(what);
        }
    };
    for (given, got) in operands.chunks_exact(OPERANDS).zip(results.chunks_exact(2 * RESULTS)) {
        let [[a, b], [c, d], factor, addend] = [given[0], given[1], given[2], given[3]];
        let sum = a + b;
        let b_part = sum - a;
        let error = (a - (sum - b_part)) + (b - b_part);
        found(Fault::Sums, got[0] == sum && got[1] == error);

        let product = c * d;
        // Both products have 48 bits.
        let error = (f64::from(c) * f64::from(d) - f64::from(product)) as f32;
        found(Fault::Products, got[2] == product && got[3] == error);

        let join = |pair: &[f32]| f64::from(pair[0]) + f64::from(pair[1]);
        let is_near = |pair: &[f32], expected: f64, bound: f64| (join(pair) - expected).abs() <= bound * expected.abs();
        let (factor, addend) = (join(&factor), join(&addend));
        let end = (0..STEPS).fold(addend, |x, _| x * factor + addend);
        // Some 2⁻⁴⁵ a step, of numbers up to 1/(1 − factor) as large as the last.
        let size = addend / (1.0 - factor.abs());
        found(Fault::Pairs, (join(&got[4..]) - end).abs() <= 1e-12 * size.abs());
        found(Fault::Pairs, is_near(&got[6..], factor / addend, 1e-13));
        found(Fault::Pairs, is_near(&got[8..], addend.abs(), 1e-13));
    }
    fault.map_or(Ok(()), Err)
}

/// What holds for a device, from the results of the forms that were tried, the preferred one first.
pub fn rounding(tried: &[(PairForm, Vec<f32>)]) -> Rounding {
    let mut last = Fault::Products;
    for (form, results) in tried {
        match check(results) {
            Ok(()) if *form == PairForm::Fused => return Rounding::Fused,
            Ok(()) => return Rounding::Separate,
            Err(fault) => last = fault,
        }
    }
    Rounding::Unfit(match last {
        Fault::Sums => "additions are not rounded to nearest, or are rearranged",
        Fault::Products => "products are not rounded to nearest, or are rounded with the sums that they are part of",
        Fault::Pairs => "sums, products, quotients or roots of pairs lose digits in longer kernels",
    })
}

/// The form of what rounding allows.
pub fn form_of(rounding: Rounding) -> Result<PairForm> {
    match rounding {
        Rounding::Fused => Ok(PairForm::Fused),
        Rounding::Separate => Ok(PairForm::Split),
        Rounding::Unfit(reason) => Err(pairs_do_not_hold(reason)),
    }
}

/// The error of a device on which pairs do not hold, for this reason.
pub(in crate::eval) fn pairs_do_not_hold(reason: &str) -> Error {
    let message = format!("double-single arithmetic does not hold on this device: {reason}");
    Error::new(ErrorCode::GpuUnavailable, message)
}

#[cfg(target_arch = "wasm32")]
mod device {
    use super::{OPERANDS, RESULTS, THREADS, TestUniforms, form_of, layout, operands, rounding, wgsl};
    use residua_base::error::Result;
    use residua_base::list::Listed;
    use residua_codegen::wgsl::PairForm;
    use residua_gpu::{BufferRequest, CommandList, Context, PipelineRequest, Rounding};

    /// The form in which kernels in pairs are written for a device. Tested at the first request and kept until the context is disposed.
    ///
    /// # Errors
    /// `gpu-unavailable`, with the reason, where pairs do not hold in any form; those of the device.
    pub async fn pair_form(context: &Context) -> Result<PairForm> {
        let found = match context.rounding() {
            Some(known) => known,
            None => test(context, &[PairForm::Fused, PairForm::Split]).await?,
        };
        form_of(found)
    }

    /// Tests some forms, the preferred one first, and keeps for the context what holds.
    pub async fn test(context: &Context, forms: &[PairForm]) -> Result<Rounding> {
        let request = |form: &PairForm| PipelineRequest {
            wgsl: wgsl(*form),
            entry: "pair_arithmetic_test".to_owned(),
            layout: layout(),
        };
        let pipelines = context.pipelines(&forms.iter().map(request).list(), &mut |_, _| Ok(())).await?;
        let of_threads = |pairs: usize| u64::from(THREADS) * 8 * pairs as u64;
        let (taken, given) = (of_threads(OPERANDS), of_threads(RESULTS));
        let uniforms = TestUniforms::new().words();
        let uniform_bytes = 4 * uniforms.len() as u64;

        let mut list = CommandList::new();
        let mut requests = vec![
            BufferRequest::storage("operands of the test", taken),
            BufferRequest::storage("zero", 4).zeroed(),
            BufferRequest::uniform("uniforms of the test", uniform_bytes),
        ];
        let (operands_id, zero) = (list.buffer("operands", taken), list.buffer("zero", 4));
        let uniform = list.buffer("uniforms", uniform_bytes);
        list.upload(operands_id, 0, bytemuck::cast_slice(&operands()).to_vec());
        list.upload(uniform, 0, bytemuck::cast_slice(&uniforms).to_vec());
        let mut downloads = Vec::new();
        for _ in forms {
            requests.push(BufferRequest::storage("results of the test", given));
            let results = list.buffer("results", given);
            let kernel = list.pipeline("pair_arithmetic_test", &layout());
            let bindings = [operands_id, results, zero, uniform].map(|buffer| list.whole(buffer));
            list.dispatch(kernel, &bindings, [1, 1]);
            downloads.push(list.download(bindings[1]));
        }
        let buffers = context.allocate(&requests).await?;
        let results = context.prepare(&list, &buffers, &pipelines).await?.run(&[]).await?;
        let tried =
            forms.iter().zip(downloads).map(|(form, download)| (*form, results.reals(download).to_vec())).list();
        let found = rounding(&tried);
        context.set_rounding(found);
        Ok(found)
    }
}

#[cfg(target_arch = "wasm32")]
pub use device::{pair_form, test};

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::shader_source::tests::check_module;

    #[test]
    fn the_kernel_is_valid_in_both_forms() {
        for form in [PairForm::Fused, PairForm::Split] {
            check_module(&wgsl(form), "pair_arithmetic_test", &layout());
        }
    }

    #[test]
    fn operands_have_ties_and_sums_that_cancel() {
        let operands = operands();
        let sums = || operands.chunks_exact(OPERANDS).map(|given| given[0]);
        // Half a unit of the last place is lost, or nothing is left.
        assert!(sums().filter(|[a, b]| a.abs() >= 1.0 && *b == U && a + b != *a).count() >= 10);
        assert!(sums().filter(|[a, b]| a + b == 0.0).count() >= 30);
        let products = || operands.chunks_exact(OPERANDS).map(|given| given[1]);
        assert!(products().all(|[c, d]| (c * d).abs() >= 2f32.powi(-78)));
        assert!(products().filter(|[c, d]| f64::from(c * d) != f64::from(*c) * f64::from(*d)).count() >= 200);
    }
}
