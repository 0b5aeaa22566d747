//! Evaluations of compiled functions: points as they come from JavaScript, and results on their way into its arrays.

use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Float32Array, Float64Array, Object, Uint32Array};
use wasm_bindgen::prelude::*;

use crate::eval::gpu::DeviceGradient;
use crate::eval::pairs::to_vector;
use crate::eval::{Arithmetic, Evaluation, Functions, Objective, Part, Place};
use residua_base::error::Result;
use residua_codegen::Width;

use super::value::set;

#[wasm_bindgen]
extern "C" {
    /// A `Float64Array`, of which a part is written by one call.
    type Numbers;

    #[wasm_bindgen(method)]
    fn set(this: &Numbers, numbers: &[f64], start: u32);
}

/// Puts numbers into an array from a place on, if that still has `length`: while a call waits, the application may transfer or shrink the array's
/// memory, and then writing would throw; the facade says so when the call is through.
fn fill(into: &Float64Array, length: usize, start: usize, numbers: &[f64]) {
    // An array of no length may be one whose memory is gone.
    if into.length() as usize == length && !numbers.is_empty() {
        into.unchecked_ref::<Numbers>().set(numbers, start as u32);
    }
}

/// An array that is given and has so many numbers, or a fresh one.
fn room(into: Option<Float64Array>, length: u32) -> Float64Array {
    into.filter(|into| into.length() == length).unwrap_or_else(|| Float64Array::new_with_length(length))
}

pub(super) async fn jacobian(
    functions: &mut Functions,
    point: Point,
    with_pattern: bool,
    values: Option<Float64Array>,
    entries: Option<Float64Array>,
) -> Result<JsValue> {
    let lengths = [functions.model().num_residuals, functions.differentiate()?.col_indices.len() as u32];
    let [values, entries] = [room(values, lengths[0]), room(entries, lengths[1])];
    let mut give = |part, start: usize, piece: &mut [f64]| {
        let (array, length) = if part == Part::Residuals { (&values, lengths[0]) } else { (&entries, lengths[1]) };
        fill(array, length as usize, start, piece);
    };
    let x = point.take();
    let given = functions.evaluate_jacobian_in_pieces(x.as_deref(), &mut give).await;
    point.give_back(x);
    given?;
    let object = Object::new();
    set(&object, "values", values);
    set(&object, "entries", entries);
    if let (true, Some(pattern)) = (with_pattern, functions.pattern()) {
        set(&object, "rowOffsets", Uint32Array::from(pattern.row_offsets.as_slice()));
        set(&object, "colIndices", Uint32Array::from(pattern.col_indices.as_slice()));
    }
    Ok(object.into())
}

/// Where a call is to evaluate.
pub(super) enum Point {
    /// At the current parameters.
    Current,
    /// At the numbers of an array.
    Given(Object),
    /// At those in memory of the module, which the facade has filled.
    Placed(Rc<RefCell<Vec<f64>>>),
}

impl Point {
    /// The numbers, unless they are the current ones.
    pub(super) fn take(&self) -> Option<Vec<f64>> {
        match self {
            Point::Current => None,
            Point::Given(x) => Some(x.unchecked_ref::<Float64Array>().to_vec()),
            Point::Placed(place) => Some(place.take()),
        }
    }

    /// Puts what was taken back.
    pub(super) fn give_back(&self, x: Option<Vec<f64>>) {
        if let (Point::Placed(place), Some(x)) = (self, x) {
            place.replace(x);
        }
    }

    /// The numbers as a device takes them.
    pub(super) fn on_device(&self, arithmetic: Arithmetic) -> Option<Float32Array> {
        if arithmetic == Arithmetic::F32x2 {
            let of = |numbers: &[f64]| Some(Float32Array::from(to_vector(Width::Pair, numbers).as_slice()));
            return match self {
                Point::Current => None,
                Point::Given(x) => of(&Float64Array::new(x).to_vec()),
                Point::Placed(place) => of(&place.borrow()),
            };
        }
        match self {
            Point::Current => None,
            Point::Given(x) => match x.dyn_ref::<Float32Array>() {
                Some(x) => Some(x.clone()),
                None => Some(Float32Array::new(x)),
            },
            Point::Placed(place) => Some(Float32Array::new(&Float64Array::from(place.borrow().as_slice()))),
        }
    }
}

pub(super) async fn gradient(
    functions: &mut Functions,
    objective: Objective,
    point: Point,
    into: Option<Float64Array>,
) -> Result<JsValue> {
    // Where data is shared the device computes all the same, and the point is converted here.
    let on_device = if functions.place() == Place::Device {
        let x = point.on_device(functions.arithmetic());
        functions.evaluate_on_device(objective, x.as_ref(), into.as_ref()).await?
    } else {
        None
    };
    let (value, gradient) = match on_device {
        Some(DeviceGradient { value, gradient }) => (value, gradient),
        None => {
            let x = point.take();
            let evaluation = functions.evaluate_with_gradient(objective, x.as_deref()).await;
            point.give_back(x);
            let Evaluation { cost, gradient } = evaluation?;
            if let Some(into) = &into {
                fill(into, gradient.len(), 0, &gradient);
            }
            (cost, into.map_or(JsValue::NULL, JsValue::from))
        }
    };
    let object = Object::new();
    set(&object, "value", value);
    set(&object, "gradient", gradient);
    Ok(object.into())
}
