//! Registers as rows of 32 lanes, and how a function of one lane becomes an instruction of a warp.
//!
//! A row holds 64 bits a lane whatever the register's type is; narrower values are in the low bits, and every reader
//! cuts off what is above. Constants and special registers are rows too, so that an operand is always a row's number.
//! Invariant: lanes that are not in the mask keep their value.

/// One register of a warp.
pub type Lanes = [u64; 32];

/// All lanes.
pub const ALL: u32 = u32::MAX;

/// The rows an instruction works on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Rows {
    /// Where the result goes.
    pub d: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
    pub e: u32,
}

/// An instruction that only computes: registers, its rows, the lanes to do.
pub type Compute = fn(&mut [Lanes], &Rows, u32);

/// The lanes of a mask, lowest first.
#[inline(always)]
pub fn each(mut lanes: u32, mut f: impl FnMut(usize)) {
    while lanes != 0 {
        f(lanes.trailing_zeros() as usize);
        lanes &= lanes - 1;
    }
}

/// Whether a mask is so thin that its lanes are better done one by one than all 32 at once.
#[inline(always)]
fn is_thin(lanes: u32) -> bool {
    let mut left = lanes;
    for _ in 0..4 {
        left &= left.wrapping_sub(1);
    }
    left == 0
}

/// Writes a whole row, or the lanes of it that are meant.
#[inline(always)]
pub fn put(rows: &mut [Lanes], d: u32, lanes: u32, values: &Lanes) {
    let row = &mut rows[d as usize];
    if lanes == ALL {
        *row = *values;
    } else {
        for lane in 0..32 {
            let keep = ((lanes >> lane & 1) as u64).wrapping_neg();
            row[lane] = (values[lane] & keep) | (row[lane] & !keep);
        }
    }
}

#[inline(always)]
fn apply(rows: &mut [Lanes], d: u32, lanes: u32, of: impl Fn(&[Lanes], usize) -> u64) {
    if lanes != ALL && is_thin(lanes) {
        each(lanes, |lane| rows[d as usize][lane] = of(rows, lane));
    } else {
        let values: Lanes = std::array::from_fn(|lane| of(rows, lane));
        put(rows, d, lanes, &values);
    }
}

/// `d = f(a)` in each lane.
#[inline(always)]
pub fn apply1(rows: &mut [Lanes], r: &Rows, lanes: u32, f: impl Fn(u64) -> u64) {
    if lanes == ALL {
        let a = &rows[r.a as usize];
        let values: Lanes = std::array::from_fn(|lane| f(a[lane]));
        rows[r.d as usize] = values;
    } else {
        apply(rows, r.d, lanes, |rows, lane| f(rows[r.a as usize][lane]));
    }
}

/// `d = f(a, b)` in each lane.
#[inline(always)]
pub fn apply2(rows: &mut [Lanes], r: &Rows, lanes: u32, f: impl Fn(u64, u64) -> u64) {
    if lanes == ALL {
        let (a, b) = (&rows[r.a as usize], &rows[r.b as usize]);
        let values: Lanes = std::array::from_fn(|lane| f(a[lane], b[lane]));
        rows[r.d as usize] = values;
    } else {
        apply(rows, r.d, lanes, |rows, lane| f(rows[r.a as usize][lane], rows[r.b as usize][lane]));
    }
}

/// `d = f(a, b, c, e)` in each lane.
#[inline(always)]
pub fn apply4(rows: &mut [Lanes], r: &Rows, lanes: u32, f: impl Fn(u64, u64, u64, u64) -> u64) {
    let of = |rows: &[Lanes], lane: usize| {
        let value = |row: u32| rows[row as usize][lane];
        f(value(r.a), value(r.b), value(r.c), value(r.e))
    };
    apply(rows, r.d, lanes, of);
}

/// The lanes for which `f(a, b)` holds.
#[inline(always)]
pub fn test2(rows: &[Lanes], a: u32, b: u32, f: impl Fn(u64, u64) -> bool) -> u32 {
    let (a, b) = (&rows[a as usize], &rows[b as usize]);
    (0..32).fold(0, |mask, lane| mask | (f(a[lane], b[lane]) as u32) << lane)
}

/// A [`Compute`] from an expression of one lane's operands.
macro_rules! compute {
    (|$a:ident| $value:expr) => {{
        fn run(rows: &mut [$crate::ptx::lanes::Lanes], r: &$crate::ptx::lanes::Rows, lanes: u32) {
            $crate::ptx::lanes::apply1(rows, r, lanes, |$a: u64| -> u64 { $value })
        }
        run as $crate::ptx::lanes::Compute
    }};
    (|$a:ident, $b:ident| $value:expr) => {{
        fn run(rows: &mut [$crate::ptx::lanes::Lanes], r: &$crate::ptx::lanes::Rows, lanes: u32) {
            $crate::ptx::lanes::apply2(rows, r, lanes, |$a: u64, $b: u64| -> u64 { $value })
        }
        run as $crate::ptx::lanes::Compute
    }};
    (|$a:ident, $b:ident, $c:ident| $value:expr) => {
        $crate::ptx::lanes::compute!(|$a, $b, $c, _e| $value)
    };
    (|$a:ident, $b:ident, $c:ident, $e:ident| $value:expr) => {{
        fn run(rows: &mut [$crate::ptx::lanes::Lanes], r: &$crate::ptx::lanes::Rows, lanes: u32) {
            $crate::ptx::lanes::apply4(rows, r, lanes, |$a: u64, $b: u64, $c: u64, $e: u64| -> u64 { $value })
        }
        run as $crate::ptx::lanes::Compute
    }};
}

/// [`compute!`] for each integer type; inside, `T` is that type and the operands have it.
macro_rules! integers {
    ($kind:expr, |$($a:ident),+| $value:expr) => {{
        use $crate::ptx::lanes::integers;
        use $crate::ptx::source::Type;
        match $kind {
            Type::U16 | Type::B16 => Some(integers!(u16: |$($a),+| $value)),
            Type::S16 => Some(integers!(i16: |$($a),+| $value)),
            Type::U32 | Type::B32 => Some(integers!(u32: |$($a),+| $value)),
            Type::S32 => Some(integers!(i32: |$($a),+| $value)),
            Type::U64 | Type::B64 => Some(integers!(u64: |$($a),+| $value)),
            Type::S64 => Some(integers!(i64: |$($a),+| $value)),
            _ => None,
        }
    }};
    ($t:ident: |$($a:ident),+| $value:expr) => {{
        #[allow(dead_code)]
        type T = $t;
        $crate::ptx::lanes::compute!(|$($a),+| {
            $(let $a = $a as $t;)+
            ($value) as u64
        })
    }};
}

pub(crate) use compute;
pub(crate) use integers;
