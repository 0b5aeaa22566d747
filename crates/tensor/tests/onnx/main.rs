//! The reference, and kernels, against NumPy: cases of ONNX operators as recipes of this crate.
//!
//! [`check`] takes an engine, which computes the results of a recipe, so that every engine meets the same cases. Operators that are compositions
//! here (softmax, norms, pooling) are composed as the facade composes them.

#![cfg(not(target_arch = "wasm32"))]

mod attention;
mod case;
mod elementwise;
mod recipe;
mod reduction;
mod rotary;
mod selection;
mod shape;

use std::io::Write;

use case::{Case, Data};
use recipe::Builder;
use residua_tensor::dtype::DType;
use residua_tensor::expr::{Array, Tensor, TensorId, TensorOp, evaluate};
use residua_tensor::fuse::Target;
use residua_tensor::plan::Plan;
use residua_tensor::plan::execute::{bytes_of, elements_of, execute};
use residua_tensor::tape::{Recipe, write};

/// What computes the results of a recipe from the contents of its slots.
type Engine = fn(&Recipe, &[Vec<f64>]) -> Result<Vec<Array>, String>;

/// Operators without a recipe here, and why.
const SKIPPED: &[(&str, &str)] = &[
    ("Conv", "the facade composes convolutions, and runs these cases"),
    ("ConvTranspose", "the facade composes convolutions, and runs these cases"),
    ("DFT", "Fourier transforms are compositions of the facade, which its own tests meet"),
    ("STFT", "Fourier transforms are compositions of the facade, which its own tests meet"),
    ("GridSample", "the facade composes operations of pictures, and runs these cases"),
    ("Resize", "the facade composes operations of pictures, and runs these cases"),
    ("Upsample", "the facade composes operations of pictures, and runs these cases"),
];

/// Cases that are not as the contract is, and why.
const DIFFERENT: &[(&str, &str)] = &[
    ("bitshift_left_int32_shift_ge_width", "counts of shifts are modulo 32"),
    ("bitshift_right_int32_negative_shift", "counts of shifts are modulo 32"),
    ("bitshift_right_int32_shift_ge_width", "counts of shifts are modulo 32"),
];

/// Its results were written by hand with five digits.
const FIVE_DIGITS: &str = "averagepool_2d_ceil_last_window_starts_on_pad";

/// Cases of more elements take the interpreter of kernels seconds each: pools of three axes, which smaller ones are like.
const MOST_FOR_KERNELS: usize = 50_000;

fn reference(recipe: &Recipe, contents: &[Vec<f64>]) -> Result<Vec<Array>, String> {
    let values = evaluate(&recipe.expr, &[], contents);
    Ok(recipe.results.iter().map(|id| values[id.0 as usize].clone()).collect())
}

/// Fused into kernels for a target, which the interpreter runs in f32.
fn planned(recipe: &Recipe, contents: &[Vec<f64>], is_host: bool) -> Result<Vec<Array>, String> {
    let target = Target { is_host, most_buffers: 8 };
    let plan = Plan::new(recipe, &target).map_err(|error| error.to_string())?;
    let is_slot = |tensor: &&Tensor, slot: usize| tensor.op == TensorOp::Input(slot as u32);
    let bytes = |(slot, numbers): (usize, &Vec<f64>)| {
        let tensor = recipe.expr.nodes.iter().find(|tensor| is_slot(tensor, slot));
        bytes_of(tensor.map_or(DType::F32, |tensor| tensor.dtype), numbers)
    };
    let mut slots: Vec<Vec<u8>> = contents.iter().enumerate().map(bytes).collect();
    let results = execute(&plan, &[], &mut slots).map_err(|error| error.to_string())?;
    let array = |(bytes, id): (&Vec<u8>, &TensorId)| {
        let tensor = recipe.expr.tensor(*id);
        let shape: Vec<usize> = tensor.shape.iter().map(|size| size.at(&[]) as usize).collect();
        let data = elements_of(tensor.dtype, bytes, shape.iter().product());
        Array { shape, data }
    };
    Ok(results.iter().zip(&recipe.results).map(array).collect())
}

#[test]
fn kernels_for_the_gpu_agree_with_onnx() {
    check("kernels_for_the_gpu_agree_with_onnx", MOST_FOR_KERNELS, |recipe, contents| planned(recipe, contents, false));
}

#[test]
fn kernels_for_the_host_agree_with_onnx() {
    check("kernels_for_the_host_agree_with_onnx", MOST_FOR_KERNELS, |recipe, contents| planned(recipe, contents, true));
}

#[test]
fn the_reference_agrees_with_onnx() {
    check("the_reference_agrees_with_onnx", usize::MAX, reference);
}

/// Runs the cases of so many elements on an engine. Prints how many, and what is skipped.
fn check(test: &str, most_elements: usize, engine: Engine) {
    // Not by a macro, whose output a passing test does not show.
    let mut out = std::io::stdout();
    let Some(cases) = case::read() else {
        let folder = case::folder();
        writeln!(out, "data absent: {test}: {}", folder.display()).expect("standard output takes a line");
        return;
    };
    let mut failures = Vec::new();
    let (mut agreed, mut skipped) = (0, 0);
    for case in &cases {
        let elements = |data: &Data| data.numbers.len();
        let is_long = case.inputs.iter().flatten().map(elements).sum::<usize>() > most_elements;
        if is_long
            || SKIPPED.iter().any(|(op, _)| *op == case.op)
            || DIFFERENT.iter().any(|(name, _)| *name == case.name)
        {
            skipped += 1;
            continue;
        }
        match run(case, engine) {
            None => failures.push(format!("{}: there is no recipe for {}", case.name, case.op)),
            Some(Err(difference)) => failures.push(format!("{} ({}): {difference}", case.name, case.op)),
            Some(Ok(())) => agreed += 1,
        }
    }
    assert!(failures.is_empty(), "{agreed} of {} cases agree, but\n{}", cases.len(), failures.join("\n"));
    writeln!(out, "{test}: {agreed} cases agree, {skipped} are skipped").expect("standard output takes a line");
}

/// The recipe of a case on an engine, and what differs; none without a recipe.
fn run(case: &Case, engine: Engine) -> Option<Result<(), String>> {
    let mut builder = Builder::new(case);
    let results = elementwise::build(&mut builder)
        .or_else(|| reduction::build(&mut builder))
        .or_else(|| shape::build(&mut builder))
        .or_else(|| selection::build(&mut builder))
        .or_else(|| rotary::build(&mut builder))
        .or_else(|| attention::build(&mut builder))?;
    let (recipe, contents) = builder.finish(results);
    let recipe = match Recipe::decode(&write(&recipe)) {
        Ok(recipe) => recipe,
        Err(error) => return Some(Err(error.to_string())),
    };
    let found = match engine(&recipe, &contents) {
        Ok(found) => found,
        Err(error) => return Some(Err(error)),
    };
    let types = recipe.results.iter().map(|id| recipe.expr.dtype(*id));
    let mut pairs = found.iter().zip(types).zip(&case.outputs);
    let tolerance = |dtype| if case.name == FIVE_DIGITS { (0.0, 1e-4) } else { tolerance(dtype) };
    Some(pairs.try_for_each(|((found, dtype), expected)| compare(found, dtype, expected, tolerance(dtype))))
}

/// What ONNX's results may differ by, relative and absolute: those of f32 were computed in f32, some through a few hundred roundings; those of f16
/// are rounded to 11 bits, and to multiples of 2⁻²⁴.
fn tolerance(dtype: DType) -> (f64, f64) {
    match dtype {
        DType::F32 => (2e-5, 1e-6),
        DType::F16 => (1e-3, 6e-8),
        DType::I32 | DType::U32 | DType::U8 | DType::Bool => (0.0, 0.0),
    }
}

fn compare(found: &Array, dtype: DType, expected: &Data, (relative, absolute): (f64, f64)) -> Result<(), String> {
    let shape: Vec<i64> = found.shape.iter().map(|extent| *extent as i64).collect();
    if dtype != expected.dtype || shape != expected.shape {
        let (dtype, other) = (dtype.name(), expected.dtype.name());
        return Err(format!("{dtype} {shape:?}, not {other} {:?}", expected.shape));
    }
    for (element, (found, expected)) in found.data.iter().zip(&expected.numbers).enumerate() {
        // A number beyond the range of f16 is stored as an infinite one.
        let found = if dtype == DType::F16 && found.abs() >= 65520.0 { found * f64::INFINITY } else { *found };
        let is_same = found == *expected || (found.is_nan() && expected.is_nan());
        let is_near = (found - expected).abs() <= relative * expected.abs() + absolute;
        if !is_same && !is_near {
            return Err(format!("element {element} is {found}, not {expected}"));
        }
    }
    Ok(())
}
