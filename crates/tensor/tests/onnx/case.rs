//! The cases, as they lie in a folder beside the project's: `cases.json` says what `cases.bin` holds.

use std::path::{Path, PathBuf};

use residua_tensor::dtype::DType;
use serde_json::Value;

/// Elements as f64, whatever their type.
#[derive(Clone, Debug)]
pub struct Data {
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub numbers: Vec<f64>,
}

/// One call of an operator.
pub struct Case {
    pub name: String,
    pub op: String,
    pub attributes: Value,
    /// None where an optional one is left out.
    pub inputs: Vec<Option<Data>>,
    /// Those that the case asks for.
    pub outputs: Vec<Data>,
}

/// Where the cases are; RESIDUA_DATA names another folder of data.
pub fn folder() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    std::env::var_os("RESIDUA_DATA").map_or_else(beside, PathBuf::from).join("tensor/onnx")
}

/// All cases; none if the folder is not there.
pub fn read() -> Option<Vec<Case>> {
    let list = std::fs::read_to_string(folder().join("cases.json")).ok()?;
    let numbers = std::fs::read(folder().join("cases.bin")).ok()?;
    let list: Vec<Value> = serde_json::from_str(&list).expect("cases.json is a list");
    Some(list.iter().map(|case| Case::of(case, &numbers)).collect())
}

impl Case {
    fn of(case: &Value, numbers: &[u8]) -> Case {
        let text = |field: &str| case[field].as_str().expect("names are texts").to_owned();
        let data = |field: &str| {
            let list = case[field].as_array().expect("inputs and outputs are lists");
            list.iter().map(|entry| Data::of(entry, numbers)).collect::<Vec<_>>()
        };
        let attributes = case["attributes"].clone();
        let outputs = data("outputs").into_iter().flatten().collect();
        Case { name: text("name"), op: text("op"), attributes, inputs: data("inputs"), outputs }
    }

    /// An attribute that is an integer.
    pub fn integer(&self, name: &str, default: i64) -> i64 {
        self.attributes[name].as_i64().unwrap_or(default)
    }

    pub fn float(&self, name: &str, default: f64) -> f64 {
        self.attributes[name].as_f64().unwrap_or(default)
    }

    pub fn text(&self, name: &str) -> &str {
        self.attributes[name].as_str().unwrap_or_default()
    }

    /// An attribute that is a list of integers.
    pub fn integers(&self, name: &str) -> Option<Vec<i64>> {
        let list = self.attributes[name].as_array()?;
        Some(list.iter().map(|number| number.as_i64().expect("integers")).collect())
    }

    pub fn input(&self, place: usize) -> Option<&Data> {
        self.inputs.get(place)?.as_ref()
    }

    /// An input that says how, not what: axes, sizes.
    pub fn told(&self, place: usize) -> Option<Vec<i64>> {
        Some(self.input(place)?.numbers.iter().map(|number| *number as i64).collect())
    }
}

impl Data {
    fn of(entry: &Value, bytes: &[u8]) -> Option<Data> {
        if entry.is_null() {
            return None;
        }
        let integer = |field: &str| entry[field].as_i64().expect("an integer");
        let dtype = DType::ALL.into_iter().find(|dtype| Some(dtype.name()) == entry["dtype"].as_str());
        let dtype = dtype.expect("a type of the contract");
        let shape =
            entry["shape"].as_array().expect("a shape").iter().map(|extent| extent.as_i64().expect("an extent"));
        let bytes = &bytes[integer("offset") as usize..][..integer("length") as usize];
        let numbers = bytes.chunks(dtype.bytes() as usize).map(|element| number(dtype, element));
        Some(Data { dtype, shape: shape.collect(), numbers: numbers.collect() })
    }
}

/// An element in memory as a number.
fn number(dtype: DType, bytes: &[u8]) -> f64 {
    let word = || bytes.try_into().expect("four bytes");
    match dtype {
        DType::F32 => f64::from(f32::from_le_bytes(word())),
        DType::I32 => f64::from(i32::from_le_bytes(word())),
        DType::U32 => f64::from(u32::from_le_bytes(word())),
        DType::U8 | DType::Bool => f64::from(bytes[0]),
        DType::F16 => {
            let bits = u16::from_le_bytes(bytes.try_into().expect("two bytes"));
            let (sign, exponent, mantissa) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
            let size = match exponent {
                0 => mantissa * 2f64.powi(-24),
                31 if mantissa == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1.0 + mantissa / 1024.0) * 2f64.powi(exponent - 15),
            };
            if sign == 1 { -size } else { size }
        }
    }
}
