//! The kernels of single steps: every operator that has one, every primitive for every type.
//!
//! They are compiled before, so that a machine without a compiler runs programs too, step by step (`steps.rs`).
//!
//! Invariant: they take any options that the operator's kernel takes. Which parts of a document an operator may read is
//! found by trying options, and a call that reads more is refused, not computed wrongly.

use super::codegen::{Form, source};
use super::groups::group_kernels;
use super::primitives::Primitive;
use super::program::{Program, Scalar, Type, Value, needs};
use super::vectors::vector_kernels;
use crate::ops::{Args, DeviceNeeds, OpSpec, Param, ParamType, Registry, Value as Choice};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// Sets `failed` to "passes" for each row.
pub(super) const BEGIN: &str = "run_begin";
/// Sets `failed` to the number of a rule where it is not true.
pub(super) const RULE: &str = "run_rule";

const NUMBERS: [Type; 3] = [Type::Bool, Type::Int, Type::Float];

/// The kernels of all single steps: the entry point, which is the name, and its source. The order is fixed.
#[cfg_attr(not(test), expect(dead_code, reason = "the pack of precompiled kernels is made by a test"))]
pub fn single_kernels() -> Vec<(String, String)> {
    let mut kernels = vec![];
    let mut add = |name: String, form: Form, program: Result<Program, String>| {
        if let Ok(program) = program {
            let source = source(&program, form, &name);
            kernels.push((name, source));
        }
    };
    let single = Form::Single { needs: DeviceNeeds::default(), same_parts: true };
    add(BEGIN.to_string(), Form::Fused, one_rule(vec![], Value::Constant(Scalar::Bool(Some(true)))));
    add(RULE.to_string(), single, one_rule(vec![Type::Bool], Value::Column(0)));
    for ty in NUMBERS {
        add(copy_kernel(ty), single, one_output(vec![ty], Value::Column(0)));
        for scalar in [zero(ty), null(ty)] {
            add(constant_kernel(scalar), single, one_output(vec![], Value::Constant(scalar)));
        }
    }
    for primitive in Primitive::ALL {
        for types in argument_types(primitive) {
            add(primitive_kernel(primitive, &types), single, one_application(primitive, types));
        }
    }
    for (name, call) in TRIED.iter() {
        let value = Value::Call { spec: Arc::clone(&call.spec), args: Arc::clone(&call.example), document: 0 };
        let form = Form::Single { needs: call.needs, same_parts: call.same_parts };
        add(call_kernel(name), form, one_output(vec![Type::Text], value));
    }
    kernels.extend(vector_kernels());
    kernels.extend(group_kernels());
    kernels
}

/// The kernel of an operator, or why there is none for a call with these options.
pub(super) fn kernel_of_call(spec: &OpSpec, args: &Args) -> Result<String, String> {
    let refuse = |why: &str| Err(format!("there is no kernel for `{}` alone {why}", spec.name));
    let Some(call) = TRIED.get(spec.name) else { return refuse("") };
    let (asked, known) = (needs(spec, args).on_device(), call.needs);
    let parts_fit = if call.same_parts { asked.parts == known.parts } else { asked.parts & !known.parts == 0 };
    let fits = parts_fit
        && (asked.word_grams == 0 || known.word_grams != 0)
        && (asked.refined_grams == 0 || known.refined_grams != 0)
        && (asked.joined_grams == 0 || known.joined_grams != 0)
        && (asked.char_grams == 0 || known.char_grams != 0);
    if fits { Ok(call_kernel(spec.name)) } else { refuse("with these options") }
}

fn call_kernel(name: &str) -> String {
    format!("run_{name}")
}

/// The kernel of a primitive for arguments of these types.
pub(super) fn primitive_kernel(primitive: Primitive, types: &[Type]) -> String {
    // The last argument tells overloads apart: conditions come first.
    format!("run_{}_{}", primitive.name(), types.last().map_or("", |ty| ty.name()))
}

/// The kernel that writes a constant to each row.
pub(super) fn constant_kernel(scalar: Scalar) -> String {
    let kind = if scalar.bits().is_none() { "null" } else { "constant" };
    format!("run_{kind}_{}", scalar.ty().name())
}

/// The kernel that copies a column.
pub(super) fn copy_kernel(ty: Type) -> String {
    format!("run_copy_{}", ty.name())
}

fn zero(ty: Type) -> Scalar {
    match ty {
        Type::Bool => Scalar::Bool(Some(false)),
        Type::Float => Scalar::Float(Some(0.0)),
        _ => Scalar::Int(Some(0)),
    }
}

fn null(ty: Type) -> Scalar {
    match ty {
        Type::Bool => Scalar::Bool(None),
        Type::Float => Scalar::Float(None),
        _ => Scalar::Int(None),
    }
}

fn one_output(columns: Vec<Type>, value: Value) -> Result<Program, String> {
    let mut program = Program::new(columns);
    let id = program.push(value)?;
    program.add_output(id)?;
    Ok(program)
}

fn one_rule(columns: Vec<Type>, value: Value) -> Result<Program, String> {
    let mut program = Program::new(columns);
    let id = program.push(value)?;
    program.add_rule(id)?;
    Ok(program)
}

fn one_application(primitive: Primitive, types: Vec<Type>) -> Result<Program, String> {
    let n_arguments = types.len();
    let mut program = Program::new(types);
    let of = (0..n_arguments).map(|column| program.push(Value::Column(column))).collect::<Result<_, _>>()?;
    let id = program.push(Value::Apply { primitive, of })?;
    program.add_output(id)?;
    Ok(program)
}

/// All types of arguments that a primitive takes.
fn argument_types(primitive: Primitive) -> Vec<Vec<Type>> {
    let types = [Type::Bool, Type::Int, Type::Float, Type::Text];
    let one = types.iter().map(|a| vec![*a]);
    let two = types.iter().map(|a| vec![*a, *a]);
    let three = types.iter().map(|a| vec![Type::Bool, *a, *a]);
    one.chain(two).chain(three).filter(|types| primitive.result(types).is_some()).collect()
}

/// An operator, options that its kernel takes, and what it reads with any options that were tried.
struct Tried {
    spec: Arc<OpSpec>,
    example: Arc<Args>,
    needs: DeviceNeeds,
    same_parts: bool,
}

static TRIED: LazyLock<BTreeMap<&'static str, Tried>> =
    LazyLock::new(|| Registry::builtin().iter().filter_map(|spec| Some((spec.name, try_options(spec)?))).collect());

fn try_options(spec: &Arc<OpSpec>) -> Option<Tried> {
    let choices: Vec<Vec<Choice>> = spec.options().iter().map(choices).collect();
    let first: Vec<Choice> = choices.iter().map(|choices| choices.first().cloned()).collect::<Option<_>>()?;
    let mut tried: Option<Tried> = None;
    let mut take = |options: Vec<Choice>| {
        let Ok(args) = Args::new(spec, options) else { return };
        if spec.gpu.kernel(&args).is_err() {
            return;
        }
        let read = needs(spec, &args).on_device();
        let tried = tried.get_or_insert_with(|| Tried {
            spec: Arc::clone(spec),
            example: Arc::new(args),
            needs: read,
            same_parts: true,
        });
        tried.same_parts &= tried.needs.parts == read.parts;
        tried.needs.parts |= read.parts;
        tried.needs.word_grams |= read.word_grams;
        tried.needs.refined_grams |= read.refined_grams;
        tried.needs.joined_grams |= read.joined_grams;
        tried.needs.char_grams |= read.char_grams;
    };
    take(first.clone());
    for (place, choices) in choices.into_iter().enumerate() {
        for choice in choices {
            let mut options = first.clone();
            options[place] = choice;
            take(options);
        }
    }
    tried
}

/// Values of an option to try: its default first.
fn choices(param: &Param) -> Vec<Choice> {
    let mut choices: Vec<Choice> = param.default.map(Choice::from).into_iter().collect();
    match param.ty {
        ParamType::Text => choices.push(Choice::Text("a".to_string())),
        ParamType::Choice(words) => choices.extend(words.iter().map(|word| Choice::Text(word.to_string()))),
        ParamType::Int { min, max } => choices.extend([1, 2, 3, 5, 10].map(|n: i64| Choice::Int(n.clamp(min, max)))),
        ParamType::Float { min, max } => choices.push(Choice::Float(0.5f64.clamp(min, max))),
        ParamType::Bool => choices.extend([Choice::Bool(false), Choice::Bool(true)]),
        // No kernel reads one.
        ParamType::Vector => {}
        ParamType::TextList => choices.push(Choice::TextList(vec!["a".to_string()])),
        ParamType::ChoiceList(words) => {
            choices.push(Choice::TextList(words.iter().map(|word| word.to_string()).collect()));
        }
    }
    choices
}
