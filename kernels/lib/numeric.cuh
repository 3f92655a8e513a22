// Values that may be null, and the arithmetic, comparisons and logic on them: `Primitive` in src/gpu/primitives.rs.
//
// Bit for bit what the CPU gives. Nothing here depends on the lane: a warp or a single thread may call it.
// Not here: operators, which read documents.
#include "lib/abi.cuh"

template <typename T>
struct Maybe {
    T value;
    bool valid;
};

template <typename T>
DEVICE Maybe<T> some(T value) {
    Maybe<T> some = {value, true};
    return some;
}

template <typename T>
DEVICE Maybe<T> none() {
    Maybe<T> none = {T(), false};
    return none;
}

template <typename T>
DEVICE Maybe<T> when(bool valid, T value) {
    Maybe<T> some = {value, valid};
    return some;
}

namespace numeric {

// What x86-64 makes of an invalid operation.
static const u64 DEFAULT_NAN = 0xfff8000000000000ull;
static const u64 QUIET = 0x0008000000000000ull;
static const u64 SIGN = 0x8000000000000000ull;

DEVICE u64 bits(f64 x) { return (u64)__double_as_longlong(x); }
DEVICE f64 of_bits(u64 bits) { return __longlong_as_double((i64)bits); }
DEVICE bool is_nan(f64 x) { return (bits(x) & ~SIGN) > 0x7ff0000000000000ull; }

// Devices give one NaN for all; hosts keep that of the first argument which is one. Comparisons see the difference.
DEVICE f64 settle(f64 result, f64 a, f64 b) {
    if (!is_nan(result)) return result;
    if (is_nan(a)) return of_bits(bits(a) | QUIET);
    if (is_nan(b)) return of_bits(bits(b) | QUIET);
    return of_bits(DEFAULT_NAN);
}

typedef Maybe<bool> Bool;
typedef Maybe<i64> Int;
typedef Maybe<f64> Float;

DEVICE Int add(Int a, Int b) { return when(a.valid && b.valid, (i64)((u64)a.value + (u64)b.value)); }
DEVICE Int subtract(Int a, Int b) { return when(a.valid && b.valid, (i64)((u64)a.value - (u64)b.value)); }
DEVICE Int multiply(Int a, Int b) { return when(a.valid && b.valid, (i64)((u64)a.value * (u64)b.value)); }
DEVICE Int negate(Int a) { return when(a.valid, (i64)(0 - (u64)a.value)); }

// The value of a null divisor may be anything, and the least number has no quotient by -1.
DEVICE bool divides(i64 divisor) { return divisor != 0 && divisor != -1; }
DEVICE Int divide(Int a, Int b) { return when(a.valid && b.valid, divides(b.value) ? a.value / b.value : 0); }
DEVICE Int modulo(Int a, Int b) { return when(a.valid && b.valid, divides(b.value) ? a.value % b.value : 0); }

DEVICE Float arithmetic(f64 result, Float a, Float b) {
    return when(a.valid && b.valid, settle(result, a.value, b.value));
}
DEVICE Float add(Float a, Float b) { return arithmetic(a.value + b.value, a, b); }
DEVICE Float subtract(Float a, Float b) { return arithmetic(a.value - b.value, a, b); }
DEVICE Float multiply(Float a, Float b) { return arithmetic(a.value * b.value, a, b); }
DEVICE Float divide(Float a, Float b) { return arithmetic(a.value / b.value, a, b); }
DEVICE Float modulo(Float a, Float b) { return arithmetic(fmod(a.value, b.value), a, b); }
DEVICE Float negate(Float a) { return when(a.valid, of_bits(bits(a.value) ^ SIGN)); }
DEVICE Float absolute(Float a) { return when(a.valid, of_bits(bits(a.value) & ~SIGN)); }
DEVICE Float round_down(Float a) { return arithmetic(floor(a.value), a, a); }
DEVICE Float round_up(Float a) { return arithmetic(ceil(a.value), a, a); }

// The place of a value in the order of its type. Numbers: IEEE's total order.
DEVICE i64 order(bool x) { return x; }
DEVICE i64 order(i64 x) { return x; }
DEVICE i64 order(f64 x) {
    i64 bits = __double_as_longlong(x);
    return bits ^ (i64)((u64)(bits >> 63) >> 1);
}

template <typename T>
DEVICE Bool equal(Maybe<T> a, Maybe<T> b) {
    return when(a.valid && b.valid, order(a.value) == order(b.value));
}
template <typename T>
DEVICE Bool not_equal(Maybe<T> a, Maybe<T> b) {
    return when(a.valid && b.valid, order(a.value) != order(b.value));
}
template <typename T>
DEVICE Bool less(Maybe<T> a, Maybe<T> b) {
    return when(a.valid && b.valid, order(a.value) < order(b.value));
}
template <typename T>
DEVICE Bool less_or_equal(Maybe<T> a, Maybe<T> b) {
    return when(a.valid && b.valid, order(a.value) <= order(b.value));
}
template <typename T>
DEVICE Bool greater(Maybe<T> a, Maybe<T> b) {
    return less(b, a);
}
template <typename T>
DEVICE Bool greater_or_equal(Maybe<T> a, Maybe<T> b) {
    return less_or_equal(b, a);
}
template <typename T>
DEVICE Bool not_distinct(Maybe<T> a, Maybe<T> b) {
    return some(a.valid && b.valid ? order(a.value) == order(b.value) : a.valid == b.valid);
}
template <typename T>
DEVICE Bool distinct(Maybe<T> a, Maybe<T> b) {
    return some(!not_distinct(a, b).value);
}

DEVICE bool is_true(Bool a) { return a.valid && a.value; }
DEVICE bool is_false(Bool a) { return a.valid && !a.value; }
DEVICE Bool both(Bool a, Bool b) { return when((a.valid && b.valid) || is_false(a) || is_false(b), is_true(a) && is_true(b)); }
DEVICE Bool either(Bool a, Bool b) { return when((a.valid && b.valid) || is_true(a) || is_true(b), is_true(a) || is_true(b)); }
DEVICE Bool negation(Bool a) { return when(a.valid, !a.value); }

template <typename T>
DEVICE Bool is_null(Maybe<T> a) {
    return some(!a.valid);
}
template <typename T>
DEVICE Bool is_not_null(Maybe<T> a) {
    return some(a.valid);
}
template <typename T>
DEVICE Maybe<T> select(Bool condition, Maybe<T> yes, Maybe<T> no) {
    return is_true(condition) ? yes : no;
}
template <typename T>
DEVICE Maybe<T> coalesce(Maybe<T> a, Maybe<T> b) {
    return a.valid ? a : b;
}

DEVICE Float to_float(Int a) { return when(a.valid, (f64)a.value); }
DEVICE Float to_float(Bool a) { return when(a.valid, a.value ? 1.0 : 0.0); }
DEVICE Int to_int(Bool a) { return when(a.valid, (i64)a.value); }
DEVICE Int wrap_i8(Int a) { return when(a.valid, (i64)(signed char)a.value); }
DEVICE Int wrap_i16(Int a) { return when(a.valid, (i64)(short)a.value); }
DEVICE Int wrap_i32(Int a) { return when(a.valid, (i64)(i32)a.value); }
DEVICE Int wrap_u8(Int a) { return when(a.valid, (i64)(u8)a.value); }
DEVICE Int wrap_u16(Int a) { return when(a.valid, (i64)(u16)a.value); }
DEVICE Int wrap_u32(Int a) { return when(a.valid, (i64)(u32)a.value); }

}  // namespace numeric
