//! Random programs and batches: operators with kernels, arithmetic and rules over columns with nulls and extremes.

use crate::gpu::{Primitive, Program, Scalar, Type, Value, ValueId};
use crate::ops::{Args, Gpu, OpSpec, ParamType, Registry, Value as Choice};
use arrow::array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray,
    StringArray, StringViewArray, UInt16Array, UInt32Array,
};
use std::sync::Arc;

const WORDS: [&str; 30] = [
    "data",
    "curation",
    "naïve",
    "Über",
    "日本語",
    "quality",
    "#tag",
    "…",
    "...",
    "λ",
    "emoji😀",
    "a",
    "the",
    "of",
    "and",
    "x\ty",
    "1234",
    "{",
    "lorem ipsum",
    "end.",
    "what?",
    "•",
    "- item",
    "。",
    "\u{3000}",
    "\u{2028}",
    "İ",
    "½",
    "\r\n",
    "\r",
];
const INTS: [i64; 12] = [0, 1, -1, 2, 7, 50, -3, 1000, i64::MAX, i64::MIN, i64::MAX - 1, 1 << 53];
const FLOATS: [f64; 15] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.1,
    -2.5,
    50.0,
    1e300,
    1e-310,
    1e16,
    f64::MIN_POSITIVE,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    f64::from_bits(0xfff8_0000_0000_0123),
];
const DIVISORS: [i64; 7] = [2, 3, 7, -5, 1000, i64::MAX, i64::MIN];

/// Numbers that a seed determines.
pub(crate) struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        (0..20).for_each(|_| {
            dice.next();
        });
        dice
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, n: usize) -> usize {
        ((self.next() >> 11) % n as u64) as usize
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// A batch: one or two text columns of any layout, a few of numbers, all sliced.
pub(crate) fn random_columns(dice: &mut Dice, n_rows: usize) -> Vec<ArrayRef> {
    let (before, after) = (dice.below(3), dice.below(3));
    let n = before + n_rows + after;
    let mut columns: Vec<ArrayRef> = vec![];
    for _ in 0..1 + dice.below(2) {
        let texts: Vec<Option<String>> = (0..n).map(|row| random_text(dice, row)).collect();
        columns.push(match dice.below(3) {
            0 => Arc::new(StringArray::from(texts)),
            1 => Arc::new(LargeStringArray::from(texts)),
            _ => Arc::new(StringViewArray::from(texts)),
        });
    }
    for _ in 0..2 + dice.below(3) {
        columns.push(random_numbers(dice, n));
    }
    columns.iter().map(|column| column.slice(before, n_rows)).collect()
}

fn random_text(dice: &mut Dice, row: usize) -> Option<String> {
    match row % 17 {
        3 => Some(String::new()),
        5 => None,
        7 => Some(" \n \n\n".to_string()),
        9 => Some((0..dice.below(90)).filter_map(|_| char::from_u32(dice.below(0x3000) as u32)).collect()),
        11 => Some("one two three four five six ".repeat(dice.below(8))),
        _ => {
            let few = 2 + dice.below(WORDS.len() - 2);
            let words = (0..dice.below(60)).map(|_| {
                let space = dice.pick(&["\n", "\n\n", "  ", " ", " ", " ", " ", " "]);
                format!("{}{space}", dice.pick(&WORDS[..few]))
            });
            Some(words.collect())
        }
    }
}

fn random_numbers(dice: &mut Dice, n: usize) -> ArrayRef {
    let null_share = 3 * dice.below(4);
    let kind = dice.below(10);
    let some = |dice: &mut Dice| null_share == 0 || dice.below(null_share) > 0;
    macro_rules! column {
        ($array:ty, $value:expr) => {
            Arc::new((0..n).map(|_| some(dice).then(|| $value)).collect::<$array>())
        };
    }
    match kind {
        0 => column!(BooleanArray, dice.below(2) == 0),
        1 => column!(Int8Array, dice.next() as i8),
        2 => column!(Int32Array, dice.next() as i32),
        3 => column!(UInt16Array, dice.next() as u16),
        4 => column!(UInt32Array, dice.next() as u32),
        5 => column!(Float32Array, dice.below(1000) as f32 / 8.0),
        6 | 7 => {
            column!(Float64Array, if dice.below(2) == 0 { dice.pick(&FLOATS) } else { dice.below(99) as f64 / 7.0 })
        }
        _ => column!(Int64Array, if dice.below(2) == 0 { dice.pick(&INTS) } else { dice.below(300) as i64 - 100 }),
    }
}

/// A program over columns of these types.
pub(crate) fn random_program(dice: &mut Dice, columns: Vec<Type>) -> Program {
    let mut program = Program::new(columns.clone());
    let mut ids: Vec<ValueId> = (0..columns.len()).map(|column| program.push(Value::Column(column)).unwrap()).collect();
    let texts: Vec<usize> = (0..columns.len()).filter(|column| columns[*column] == Type::Text).collect();
    let operators: Vec<Arc<OpSpec>> =
        Registry::builtin().iter().filter(|spec| matches!(spec.gpu, Gpu::Kernel(_))).cloned().collect();
    for _ in 0..1 + dice.below(6) {
        let spec = dice.pick(&operators);
        if let Some(args) = random_options(dice, &spec) {
            let call = Value::Call { spec, args: Arc::new(args), document: dice.pick(&texts) };
            ids.push(program.push(call).unwrap());
        }
    }
    for _ in 0..4 {
        let scalar = match dice.below(8) {
            0 => Scalar::Bool(Some(true)),
            1 => Scalar::Int(None),
            2 => Scalar::Float(None),
            3 | 4 => Scalar::Int(Some(dice.pick(&INTS))),
            _ => Scalar::Float(Some(dice.pick(&FLOATS))),
        };
        ids.push(program.push(Value::Constant(scalar)).unwrap());
    }
    for _ in 0..5 + dice.below(25) {
        if let Some(id) = random_application(dice, &mut program, &ids) {
            ids.push(id);
        }
    }
    let of_type = |program: &Program, fits: fn(Type) -> bool| -> Vec<ValueId> {
        (0..program.values().len()).map(ValueId).filter(|id| fits(program.type_of(*id).unwrap())).collect()
    };
    let conditions = of_type(&program, |ty| ty == Type::Bool);
    for _ in 0..dice.below(4).min(conditions.len()) {
        let mut condition = dice.pick(&conditions);
        // Rules that few rows pass would leave nothing to compare.
        for _ in 0..dice.below(3) {
            let of = vec![condition, dice.pick(&conditions)];
            condition = program.push(Value::Apply { primitive: Primitive::Or, of }).unwrap();
        }
        program.add_rule(condition).unwrap();
    }
    let results = of_type(&program, |ty| ty != Type::Text);
    for _ in 0..1 + dice.below(6) {
        program.add_output(dice.pick(&results)).unwrap();
    }
    program
}

/// A random primitive on random values that it takes, if any are found.
fn random_application(dice: &mut Dice, program: &mut Program, ids: &[ValueId]) -> Option<ValueId> {
    let primitive = dice.pick(&Primitive::ALL);
    let is_division = matches!(primitive, Primitive::Divide | Primitive::Modulo);
    for _ in 0..100 {
        let mut of: Vec<ValueId> = (0..1 + dice.below(3)).map(|_| dice.pick(ids)).collect();
        if is_division && program.type_of(of[0]) == Some(Type::Int) && of.len() == 2 {
            let divisor = Scalar::Int(Some(dice.pick(&DIVISORS)));
            of[1] = program.push(Value::Constant(divisor)).unwrap();
        }
        if let Ok(id) = program.push(Value::Apply { primitive, of }) {
            return Some(id);
        }
    }
    None
}

fn random_options(dice: &mut Dice, spec: &OpSpec) -> Option<Args> {
    let given = spec.options().iter().map(|param| match param.default {
        Some(default) if dice.below(2) == 0 => Choice::from(default),
        _ => match param.ty {
            ParamType::Text => Choice::Text(dice.pick(&["a", "the", "data", ""]).to_string()),
            ParamType::Choice(words) => Choice::Text(dice.pick(words).to_string()),
            ParamType::Int { min, max } => Choice::Int((dice.below(12) as i64).clamp(min, max)),
            ParamType::Float { min, max } => Choice::Float((dice.below(100) as f64 / 100.0).clamp(min, max)),
            ParamType::Bool => Choice::Bool(dice.below(2) == 0),
            ParamType::TextList => {
                Choice::TextList((0..dice.below(4)).map(|_| dice.pick(&WORDS).to_string()).collect())
            }
            ParamType::Vector => unreachable!("no kernel reads vectors"),
            ParamType::ChoiceList(words) => Choice::TextList(vec![dice.pick(words).to_string()]),
        },
    });
    let args = Args::new(spec, given.collect()).ok()?;
    spec.gpu.kernel(&args).is_ok().then_some(args)
}
