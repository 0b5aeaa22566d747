//! Runs compute shaders without a GPU: naga parses and validates them, and this interprets what naga made of them, in f32
//! and one workgroup after another. The threads of a workgroup are threads of the machine, so that barriers are barriers.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use naga::{
    AddressSpace, AtomicFunction, Block, BuiltIn, Expression, Function, GlobalVariable, Handle, Module, ScalarKind,
    Statement, SwitchValue, Type, TypeInner,
};

mod arithmetic;

pub use arithmetic::Value;
pub use residua_portable::validated;

/// Runs a shader's one entry point over buffers of words in binding order, the uniform last; writes to the buffers.
pub fn run(text: &str, workgroups: [u32; 2], buffers: &mut [Vec<u32>]) {
    let module = validated(text);
    let entry = &module.entry_points[0];
    let shared = entry.workgroup_size[0];
    let memory: Vec<Vec<AtomicU32>> = module
        .global_variables
        .iter()
        .map(|(_, variable)| match &variable.binding {
            Some(binding) => buffers[binding.binding as usize].iter().map(|word| AtomicU32::new(*word)).collect(),
            None => (0..words_of(&module, variable.ty)).map(|_| AtomicU32::new(0)).collect(),
        })
        .collect();
    let has_barriers = text.contains("Barrier()");
    let barrier = Barrier::new(shared as usize);
    let thread = |workgroup: [u32; 2], lane: u32| {
        let of_thread = |(_, variable): (_, &GlobalVariable)| match variable.space {
            AddressSpace::Private => (0..words_of(&module, variable.ty)).map(|_| AtomicU32::new(0)).collect(),
            _ => Vec::new(),
        };
        let own = module.global_variables.iter().map(of_thread).collect();
        let machine = Machine { module: &module, memory: &memory, own, barrier: &barrier };
        let arguments = entry
            .function
            .arguments
            .iter()
            .map(|argument| match argument.binding {
                Some(naga::Binding::BuiltIn(BuiltIn::WorkGroupId)) => vector([workgroup[0], workgroup[1], 0]),
                Some(naga::Binding::BuiltIn(BuiltIn::NumWorkGroups)) => vector([workgroups[0], workgroups[1], 1]),
                Some(naga::Binding::BuiltIn(BuiltIn::LocalInvocationIndex)) => Value::U32(lane),
                ref other => panic!("no argument of these shaders: {other:?}"),
            })
            .collect();
        machine.call(&entry.function, arguments);
    };
    for y in 0..workgroups[1] {
        for x in 0..workgroups[0] {
            if has_barriers {
                std::thread::scope(|scope| {
                    for lane in 0..shared {
                        scope.spawn(move || thread([x, y], lane));
                    }
                });
            } else {
                (0..shared).for_each(|lane| thread([x, y], lane));
            }
        }
    }
    for ((_, variable), words) in module.global_variables.iter().zip(&memory) {
        if let Some(binding) = &variable.binding {
            buffers[binding.binding as usize] = words.iter().map(|word| word.load(Relaxed)).collect();
        }
    }
}

fn vector(components: [u32; 3]) -> Value {
    Value::Composite(components.map(Value::U32).to_vec())
}

/// How many words a type takes, all scalars being words and structures packed.
fn words_of(module: &Module, ty: Handle<Type>) -> usize {
    match &module.types[ty].inner {
        TypeInner::Scalar(_) | TypeInner::Atomic(_) => 1,
        TypeInner::Vector { size, .. } => *size as usize,
        TypeInner::Array { base, size: naga::ArraySize::Constant(size), .. } => {
            size.get() as usize * words_of(module, *base)
        }
        TypeInner::Struct { members, .. } => members.iter().map(|member| words_of(module, member.ty)).sum(),
        other => panic!("no type of these shaders: {other:?}"),
    }
}

/// What a type consists of at an index: its kind if a scalar, and where in words.
fn element(module: &Module, ty: &Place, index: usize) -> (Place, usize) {
    let Place::Whole(ty) = ty else { panic!("a scalar has no elements") };
    match &module.types[*ty].inner {
        TypeInner::Vector { scalar, .. } => (Place::Scalar(scalar.kind), index),
        TypeInner::Array { base, .. } => (Place::Whole(*base), index * words_of(module, *base)),
        TypeInner::Struct { members, .. } => {
            let offset = members[..index].iter().map(|member| words_of(module, member.ty)).sum();
            (Place::Whole(members[index].ty), offset)
        }
        other => panic!("no composite of these shaders: {other:?}"),
    }
}

/// What stands at a pointer.
#[derive(Clone, Copy, Debug)]
enum Place {
    Whole(Handle<Type>),
    Scalar(ScalarKind),
}

/// Either a value or a way to one.
#[derive(Clone, Debug)]
enum Operand {
    Value(Value),
    Global { variable: usize, word: usize, place: Place },
    Local { variable: usize, path: Vec<usize> },
}

/// How a block ended.
enum Flow {
    Next,
    Break,
    Continue,
    Return(Option<Value>),
}

struct Machine<'a> {
    module: &'a Module,
    memory: &'a [Vec<AtomicU32>],
    /// Private variables of the thread.
    own: Vec<Vec<AtomicU32>>,
    barrier: &'a Barrier,
}

/// One call of a function.
struct Frame<'a> {
    function: &'a Function,
    arguments: Vec<Value>,
    locals: Vec<Value>,
    values: Vec<Option<Operand>>,
}

impl Machine<'_> {
    fn call(&self, function: &Function, arguments: Vec<Value>) -> Option<Value> {
        let mut frame =
            Frame { function, arguments, locals: Vec::new(), values: vec![None; function.expressions.len()] };
        for (_, local) in function.local_variables.iter() {
            let value = match local.init {
                Some(init) => self.value(&mut frame, init),
                None => self.zero(local.ty),
            };
            frame.locals.push(value);
        }
        match self.block(&mut frame, &function.body) {
            Flow::Return(value) => value,
            Flow::Next | Flow::Break | Flow::Continue => None,
        }
    }

    /// A word of a global variable.
    fn word(&self, variable: usize, word: usize) -> &AtomicU32 {
        self.own[variable].get(word).unwrap_or_else(|| &self.memory[variable][word])
    }

    fn block(&self, frame: &mut Frame, block: &Block) -> Flow {
        for statement in block.iter() {
            let flow = self.statement(frame, statement);
            if !matches!(flow, Flow::Next) {
                return flow;
            }
        }
        Flow::Next
    }

    fn statement(&self, frame: &mut Frame, statement: &Statement) -> Flow {
        match statement {
            Statement::Emit(range) => {
                for expression in range.clone() {
                    frame.values[expression.index()] = Some(self.evaluate(frame, expression));
                }
            }
            Statement::Block(block) => return self.block(frame, block),
            Statement::If { condition, accept, reject } => {
                let taken = if self.value(frame, *condition).truth() { accept } else { reject };
                return self.block(frame, taken);
            }
            Statement::Switch { selector, cases } => {
                let selector = SwitchValue::U32(self.value(frame, *selector).bits());
                let case = cases
                    .iter()
                    .find(|case| case.value == selector)
                    .or(cases.iter().find(|case| case.value == SwitchValue::Default))
                    .expect("a switch has a default");
                return match self.block(frame, &case.body) {
                    Flow::Break => Flow::Next,
                    flow => flow,
                };
            }
            Statement::Loop { body, continuing, break_if } => loop {
                match self.block(frame, body) {
                    Flow::Break => break,
                    Flow::Return(value) => return Flow::Return(value),
                    Flow::Next | Flow::Continue => {}
                }
                self.block(frame, continuing);
                if break_if.is_some_and(|condition| self.value(frame, condition).truth()) {
                    break;
                }
            },
            Statement::Break => return Flow::Break,
            Statement::Continue => return Flow::Continue,
            Statement::Return { value } => return Flow::Return(value.map(|value| self.value(frame, value))),
            Statement::ControlBarrier(_) => _ = self.barrier.wait(),
            Statement::Store { pointer, value } => {
                let value = self.value(frame, *value);
                let pointer = self.operand(frame, *pointer);
                self.store(frame, &pointer, value);
            }
            Statement::Call { function, arguments, result } => {
                let arguments = arguments.iter().map(|argument| self.value(frame, *argument)).collect();
                let value = self.call(&self.module.functions[*function], arguments);
                if let Some(result) = result {
                    frame.values[result.index()] = value.map(Operand::Value);
                }
            }
            Statement::WorkGroupUniformLoad { pointer, result } => {
                self.barrier.wait();
                let pointer = self.operand(frame, *pointer);
                frame.values[result.index()] = Some(Operand::Value(self.load(frame, &pointer)));
                self.barrier.wait();
            }
            Statement::Atomic { pointer, fun: AtomicFunction::Max, value, .. } => {
                let value = self.value(frame, *value).bits();
                let Operand::Global { variable, word, .. } = self.operand(frame, *pointer) else {
                    panic!("atomics are global")
                };
                self.word(variable, word).fetch_max(value, Relaxed);
            }
            other => panic!("no statement of these shaders: {other:?}"),
        }
        Flow::Next
    }

    fn operand(&self, frame: &mut Frame, expression: Handle<Expression>) -> Operand {
        if frame.values[expression.index()].is_none() {
            frame.values[expression.index()] = Some(self.evaluate(frame, expression));
        }
        frame.values[expression.index()].clone().expect("just filled")
    }

    fn value(&self, frame: &mut Frame, expression: Handle<Expression>) -> Value {
        match self.operand(frame, expression) {
            Operand::Value(value) => value,
            pointer => panic!("a pointer where a value is wanted: {pointer:?}"),
        }
    }

    fn evaluate(&self, frame: &mut Frame, expression: Handle<Expression>) -> Operand {
        let function = frame.function;
        let value = match &function.expressions[expression] {
            Expression::Literal(literal) => Value::of_literal(*literal),
            Expression::Constant(constant) => {
                let Expression::Literal(literal) =
                    self.module.global_expressions[self.module.constants[*constant].init]
                else {
                    panic!("constants of these shaders are literals")
                };
                Value::of_literal(literal)
            }
            Expression::ZeroValue(ty) => self.zero(*ty),
            Expression::Compose { components, ty } => {
                let mut values: Vec<Value> = components.iter().map(|component| self.value(frame, *component)).collect();
                // A vector may be composed of vectors.
                if let TypeInner::Vector { .. } = self.module.types[*ty].inner {
                    values = values.into_iter().flat_map(Value::into_scalars).collect();
                }
                Value::Composite(values)
            }
            Expression::Splat { size, value } => Value::Composite(vec![self.value(frame, *value); *size as usize]),
            Expression::Swizzle { size, vector, pattern } => {
                let vector = self.value(frame, *vector);
                let chosen = &pattern[..*size as usize];
                Value::Composite(
                    chosen.iter().map(|component_of| component(&vector, *component_of as usize).clone()).collect(),
                )
            }
            Expression::Access { base, index } => {
                let index = self.value(frame, *index).bits() as usize;
                return self.access(frame, *base, index);
            }
            Expression::AccessIndex { base, index } => return self.access(frame, *base, *index as usize),
            Expression::FunctionArgument(position) => frame.arguments[*position as usize].clone(),
            Expression::GlobalVariable(variable) => {
                let place = Place::Whole(self.module.global_variables[*variable].ty);
                return Operand::Global { variable: variable.index(), word: 0, place };
            }
            Expression::LocalVariable(variable) => {
                return Operand::Local { variable: variable.index(), path: Vec::new() };
            }
            Expression::Load { pointer } => {
                let pointer = self.operand(frame, *pointer);
                self.load(frame, &pointer)
            }
            Expression::Unary { op, expr } => arithmetic::unary(*op, &self.value(frame, *expr)),
            Expression::Binary { op, left, right } => {
                arithmetic::binary(*op, &self.value(frame, *left), &self.value(frame, *right))
            }
            Expression::Select { condition, accept, reject } => match self.value(frame, *condition) {
                Value::Composite(conditions) => {
                    let [accept, reject] = [accept, reject].map(|value| self.value(frame, *value));
                    let chosen = conditions.iter().enumerate().map(|(place, condition)| {
                        component(if condition.truth() { &accept } else { &reject }, place).clone()
                    });
                    Value::Composite(chosen.collect())
                }
                condition => self.value(frame, if condition.truth() { *accept } else { *reject }),
            },
            Expression::Math { fun, arg, arg1, arg2, .. } => {
                let arguments: Vec<Value> =
                    [Some(*arg), *arg1, *arg2].into_iter().flatten().map(|arg| self.value(frame, arg)).collect();
                arithmetic::math(*fun, &arguments)
            }
            Expression::As { expr, kind, convert } => {
                let value = self.value(frame, *expr);
                match convert {
                    Some(_) => value.converted(*kind),
                    None => value.reinterpreted(*kind),
                }
            }
            Expression::ArrayLength(array) => {
                let Operand::Global { variable, .. } = self.operand(frame, *array) else {
                    panic!("arrays of unknown length are global")
                };
                Value::U32(self.memory[variable].len() as u32)
            }
            other => panic!("no expression of these shaders: {other:?}"),
        };
        Operand::Value(value)
    }

    fn access(&self, frame: &mut Frame, base: Handle<Expression>, index: usize) -> Operand {
        match self.operand(frame, base) {
            Operand::Value(Value::Composite(components)) => Operand::Value(components[index].clone()),
            Operand::Value(scalar) => panic!("a scalar has no elements: {scalar:?}"),
            Operand::Global { variable, word, place } => {
                let (place, offset) = element(self.module, &place, index);
                Operand::Global { variable, word: word + offset, place }
            }
            Operand::Local { variable, mut path } => {
                path.push(index);
                Operand::Local { variable, path }
            }
        }
    }

    fn zero(&self, ty: Handle<Type>) -> Value {
        match &self.module.types[ty].inner {
            TypeInner::Scalar(scalar) if scalar.kind == ScalarKind::Bool => Value::Bool(false),
            TypeInner::Scalar(scalar) => Value::of_bits(scalar.kind, 0),
            TypeInner::Vector { size, scalar } => {
                Value::Composite(vec![Value::of_bits(scalar.kind, 0); *size as usize])
            }
            TypeInner::Struct { members, .. } => {
                Value::Composite(members.iter().map(|member| self.zero(member.ty)).collect())
            }
            TypeInner::Array { base, size: naga::ArraySize::Constant(size), .. } => {
                Value::Composite(vec![self.zero(*base); size.get() as usize])
            }
            other => panic!("no variable of these shaders: {other:?}"),
        }
    }

    fn load(&self, frame: &Frame, pointer: &Operand) -> Value {
        match pointer {
            Operand::Global { variable, word, place } => {
                let at = |word: usize, kind| Value::of_bits(kind, self.word(*variable, word).load(Relaxed));
                match place {
                    Place::Scalar(kind) => at(*word, *kind),
                    Place::Whole(ty) => match &self.module.types[*ty].inner {
                        TypeInner::Scalar(scalar) | TypeInner::Atomic(scalar) => at(*word, scalar.kind),
                        TypeInner::Vector { size, scalar } => Value::Composite(
                            (0..*size as usize).map(|component| at(word + component, scalar.kind)).collect(),
                        ),
                        other => panic!("no load of these shaders: {other:?}"),
                    },
                }
            }
            Operand::Local { variable, path } => {
                path.iter().fold(&frame.locals[*variable], |value, index| component(value, *index)).clone()
            }
            Operand::Value(value) => panic!("no pointer: {value:?}"),
        }
    }

    fn store(&self, frame: &mut Frame, pointer: &Operand, value: Value) {
        match pointer {
            Operand::Global { variable, word, .. } => {
                let components = match value {
                    Value::Composite(components) => components,
                    scalar => vec![scalar],
                };
                for (offset, component) in components.iter().enumerate() {
                    self.word(*variable, word + offset).store(component.bits(), Relaxed);
                }
            }
            Operand::Local { variable, path } => {
                let mut target = &mut frame.locals[*variable];
                for index in path {
                    let Value::Composite(components) = target else { panic!("a scalar has no elements") };
                    target = &mut components[*index];
                }
                *target = value;
            }
            Operand::Value(value) => panic!("no pointer: {value:?}"),
        }
    }
}

fn component(value: &Value, index: usize) -> &Value {
    match value {
        Value::Composite(components) => &components[index],
        scalar => panic!("a scalar has no elements: {scalar:?}"),
    }
}
