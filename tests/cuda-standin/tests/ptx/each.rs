//! Runs one instruction on many operands: the frame of the tests by instruction family.

use crate::device::{BASE, Device};

/// Bits worth trying: borders of every width, shifts around it, floats, and some noise.
pub const INTERESTING: [u64; 24] = [
    0,
    1,
    2,
    7,
    31,
    32,
    33,
    63,
    64,
    0x7f,
    0x80,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0001,
    u64::MAX,
    u64::MAX - 1,
    1 << 63,
    (1 << 63) - 1,
    0x0123_4567_89ab_cdef,
    0xfedc_ba98_7654_3210,
    0xdead_beef_cafe_f00d,
    0x8080_7f7f_0101_fefe,
];

/// Doubles worth trying.
pub const DOUBLES: [f64; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    1e300,
    -1e300,
    5e-324,
    f64::MAX,
    f64::MIN_POSITIVE,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    4294967296.5,
];

/// Singles worth trying.
pub const SINGLES: [f32; 18] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    1.5,
    2.5,
    -2.5,
    0.1,
    1e38,
    -1e38,
    1e-45,
    f32::MAX,
    f32::MIN_POSITIVE,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    16777217.0,
];

/// The results of an instruction on each row of operands.
///
/// Its operands are `%qa` to `%qe` for 64 bits, `%wa` to `%we` for 32, `%ha` to `%he` for 16; the result goes to `%qd`,
/// `%wd`, `%hd` or the predicate `%pd`, and comes back with zeros above.
pub fn results(instruction: &str, operands: &[[u64; 4]]) -> Vec<u64> {
    let store = if instruction.contains("%qd") {
        ""
    } else if instruction.contains("%wd") {
        "cvt.u64.u32 %qd, %wd;"
    } else if instruction.contains("%hd") {
        "cvt.u64.u16 %qd, %hd;"
    } else {
        "selp.u64 %qd, 1, 0, %pd;"
    };
    let loads: String = ["a", "b", "c", "e"]
        .iter()
        .zip((0..).step_by(8))
        .map(|(name, at)| {
            format!(
                "ld.global.u64 %q{name}, [%at+{at}]; cvt.u32.u64 %w{name}, %q{name}; cvt.u16.u64 %h{name}, %q{name};\n"
            )
        })
        .collect();
    let registers: String = ["a", "b", "c", "d", "e"]
        .iter()
        .map(|name| format!(".reg .b64 %q{name}; .reg .b32 %w{name}; .reg .b16 %h{name}; .reg .pred %p{name};\n"))
        .collect();
    let source = format!(
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) {{
            .reg .b64 %at, %to, %i; .reg .b32 %x, %y, %z, %n; .reg .pred %out;
            {registers}
            ld.param.u64 %at, [in]; ld.param.u64 %to, [out]; ld.param.u32 %n, [n];
            mov.u32 %x, %ctaid.x; mov.u32 %y, %ntid.x; mov.u32 %z, %tid.x; mad.lo.u32 %x, %x, %y, %z;
            setp.ge.u32 %out, %x, %n;
            @%out bra end;
            mul.wide.u32 %i, %x, 32; add.u64 %at, %at, %i;
            mul.wide.u32 %i, %x, 8; add.u64 %to, %to, %i;
            {loads}
            {instruction}
            {store}
            st.global.u64 [%to], %qd;
        end: ret;
        }}"
    );
    let n = operands.len() as u64;
    let device = Device::new(operands.len() * 40);
    for (row, at) in operands.iter().zip((0..).step_by(32)) {
        for (value, place) in row.iter().zip((at..).step_by(8)) {
            device.put(place, &value.to_le_bytes());
        }
    }
    let blocks = operands.len().div_ceil(96) as u32;
    device.run(&source, [blocks, 1, 1], [96, 1, 1], &[BASE, BASE + n * 32, n]).unwrap();
    (0..n).map(|i| device.u64(n * 32 + i * 8)).collect()
}

/// Every pair and a spread of triples and quadruples of `values`.
pub fn rows(values: &[u64]) -> Vec<[u64; 4]> {
    let n = values.len();
    let row =
        |(i, j): (usize, usize)| [values[i], values[j], values[(i * 5 + j * 3 + 1) % n], values[(i * 7 + j * 11) % n]];
    (0..n * n).map(|i| row((i / n, i % n))).collect()
}

/// Compares an instruction with a function of its operands, on rows of `values`.
pub fn check(instruction: &str, values: &[u64], expected: impl Fn(u64, u64, u64, u64) -> u64) {
    let rows = rows(values);
    for (row, got) in rows.iter().zip(results(instruction, &rows)) {
        let want = expected(row[0], row[1], row[2], row[3]);
        assert_eq!(got, want, "{instruction} of {row:x?} gave {got:x}, not {want:x}");
    }
}

/// As [`check`], for integers.
pub fn check_integers(instruction: &str, expected: impl Fn(u64, u64, u64, u64) -> u64) {
    check(instruction, &INTERESTING, expected);
}

/// As [`check`], for doubles; any NaN is as good as another.
pub fn check_doubles(instruction: &str, expected: impl Fn(f64, f64, f64) -> f64) {
    let rows = rows(&DOUBLES.map(f64::to_bits));
    for (row, got) in rows.iter().zip(results(instruction, &rows)) {
        let [a, b, c, _] = row.map(f64::from_bits);
        let (got, want) = (f64::from_bits(got), expected(a, b, c));
        let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(equal, "{instruction} of {a:?} {b:?} {c:?} gave {got:?}, not {want:?}");
    }
}

/// As [`check`], for singles; any NaN is as good as another.
pub fn check_singles(instruction: &str, expected: impl Fn(f32, f32, f32) -> f32) {
    let rows = rows(&SINGLES.map(|value| u64::from(value.to_bits())));
    for (row, got) in rows.iter().zip(results(instruction, &rows)) {
        let [a, b, c, _] = row.map(|bits| f32::from_bits(bits as u32));
        let (got, want) = (f32::from_bits(got as u32), expected(a, b, c));
        let equal = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(equal, "{instruction} of {a:?} {b:?} {c:?} gave {got:?}, not {want:?}");
    }
}
