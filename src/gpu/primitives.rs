//! The arithmetic, comparisons and logic that a device computes on numbers: [`Primitive`].
//!
//! Each is a function of `kernels/lib/numeric.cuh` of the same name, and gives bit for bit what DataFusion gives on the
//! CPU. Those that could fail there (a division by zero) are for arguments with which they cannot.

use super::program::Type;

/// One step of a computation on numbers and truth values. A null argument gives null, unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// Sum; whole numbers wrap around.
    Add,
    /// Difference; whole numbers wrap around.
    Subtract,
    /// Product; whole numbers wrap around.
    Multiply,
    /// Quotient. Whole numbers: the divisor must be neither 0 nor −1.
    Divide,
    /// Remainder, with the sign of the first. Whole numbers: the divisor must not be 0.
    Modulo,
    /// With the other sign; whole numbers wrap around.
    Negate,
    /// Without its sign; not for whole numbers, of which the least has none.
    Abs,
    /// The greatest whole number that is not greater.
    Floor,
    /// The least whole number that is not less.
    Ceil,
    /// Equal. Numbers compare in IEEE's total order: NaN is itself, −0 is less than 0.
    Equal,
    /// Not equal.
    NotEqual,
    /// Less.
    Less,
    /// Less or equal.
    LessOrEqual,
    /// Greater.
    Greater,
    /// Greater or equal.
    GreaterOrEqual,
    /// Not equal, where null is a value like others; never null.
    Distinct,
    /// Equal, where null is a value like others; never null.
    NotDistinct,
    /// Kleene's: false and null is false.
    And,
    /// Kleene's: true or null is true.
    Or,
    /// The other truth value.
    Not,
    /// Whether it is null; never null.
    IsNull,
    /// Whether it is not null; never null.
    IsNotNull,
    /// The second if the first is true, the third if it is false or null.
    Select,
    /// The first unless it is null, then the second.
    Coalesce,
    /// A whole number or truth value as a number, rounded to the nearest.
    ToFloat,
    /// A truth value as 1 or 0.
    ToInt,
    /// The low 8 bits, as a number with sign: what narrow arithmetic leaves.
    WrapI8,
    /// The low 16 bits, with sign.
    WrapI16,
    /// The low 32 bits, with sign.
    WrapI32,
    /// The low 8 bits, without sign.
    WrapU8,
    /// The low 16 bits, without sign.
    WrapU16,
    /// The low 32 bits, without sign.
    WrapU32,
}

impl Primitive {
    /// All of them.
    pub const ALL: [Primitive; 32] = [
        Primitive::Add,
        Primitive::Subtract,
        Primitive::Multiply,
        Primitive::Divide,
        Primitive::Modulo,
        Primitive::Negate,
        Primitive::Abs,
        Primitive::Floor,
        Primitive::Ceil,
        Primitive::Equal,
        Primitive::NotEqual,
        Primitive::Less,
        Primitive::LessOrEqual,
        Primitive::Greater,
        Primitive::GreaterOrEqual,
        Primitive::Distinct,
        Primitive::NotDistinct,
        Primitive::And,
        Primitive::Or,
        Primitive::Not,
        Primitive::IsNull,
        Primitive::IsNotNull,
        Primitive::Select,
        Primitive::Coalesce,
        Primitive::ToFloat,
        Primitive::ToInt,
        Primitive::WrapI8,
        Primitive::WrapI16,
        Primitive::WrapI32,
        Primitive::WrapU8,
        Primitive::WrapU16,
        Primitive::WrapU32,
    ];

    /// The function in `kernels/lib/numeric.cuh`.
    pub fn name(self) -> &'static str {
        match self {
            Primitive::Add => "add",
            Primitive::Subtract => "subtract",
            Primitive::Multiply => "multiply",
            Primitive::Divide => "divide",
            Primitive::Modulo => "modulo",
            Primitive::Negate => "negate",
            Primitive::Abs => "absolute",
            Primitive::Floor => "round_down",
            Primitive::Ceil => "round_up",
            Primitive::Equal => "equal",
            Primitive::NotEqual => "not_equal",
            Primitive::Less => "less",
            Primitive::LessOrEqual => "less_or_equal",
            Primitive::Greater => "greater",
            Primitive::GreaterOrEqual => "greater_or_equal",
            Primitive::Distinct => "distinct",
            Primitive::NotDistinct => "not_distinct",
            Primitive::And => "both",
            Primitive::Or => "either",
            Primitive::Not => "negation",
            Primitive::IsNull => "is_null",
            Primitive::IsNotNull => "is_not_null",
            Primitive::Select => "select",
            Primitive::Coalesce => "coalesce",
            Primitive::ToFloat => "to_float",
            Primitive::ToInt => "to_int",
            Primitive::WrapI8 => "wrap_i8",
            Primitive::WrapI16 => "wrap_i16",
            Primitive::WrapI32 => "wrap_i32",
            Primitive::WrapU8 => "wrap_u8",
            Primitive::WrapU16 => "wrap_u16",
            Primitive::WrapU32 => "wrap_u32",
        }
    }

    /// The type of the result for arguments of these types, if it takes them.
    pub fn result(self, of: &[Type]) -> Option<Type> {
        match (self, of) {
            (Primitive::Add | Primitive::Subtract | Primitive::Multiply, [a, b]) => number_pair(*a, *b),
            (Primitive::Divide | Primitive::Modulo, [a, b]) => number_pair(*a, *b),
            (Primitive::Negate, [a @ (Type::Int | Type::Float)]) => Some(*a),
            (Primitive::Abs | Primitive::Floor | Primitive::Ceil, [Type::Float]) => Some(Type::Float),
            (Primitive::Equal | Primitive::NotEqual | Primitive::Less | Primitive::LessOrEqual, [a, b])
            | (Primitive::Greater | Primitive::GreaterOrEqual | Primitive::Distinct | Primitive::NotDistinct, [a, b])
                if a == b && a.is_number() =>
            {
                Some(Type::Bool)
            }
            (Primitive::And | Primitive::Or, [Type::Bool, Type::Bool]) => Some(Type::Bool),
            (Primitive::Not, [Type::Bool]) => Some(Type::Bool),
            (Primitive::IsNull | Primitive::IsNotNull, [a]) if a.is_number() || *a == Type::Text => Some(Type::Bool),
            (Primitive::Select, [Type::Bool, a, b]) if a == b && a.is_number() => Some(*a),
            (Primitive::Coalesce, [a, b]) if a == b && a.is_number() => Some(*a),
            (Primitive::ToFloat, [Type::Int | Type::Bool]) => Some(Type::Float),
            (Primitive::ToInt, [Type::Bool]) => Some(Type::Int),
            (Primitive::WrapI8 | Primitive::WrapI16 | Primitive::WrapI32, [Type::Int]) => Some(Type::Int),
            (Primitive::WrapU8 | Primitive::WrapU16 | Primitive::WrapU32, [Type::Int]) => Some(Type::Int),
            _ => None,
        }
    }
}

fn number_pair(a: Type, b: Type) -> Option<Type> {
    (a == b && matches!(a, Type::Int | Type::Float)).then_some(a)
}
