//! Floating-point arithmetic and conversions against Rust's.

use crate::each::{DOUBLES, SINGLES, check, check_doubles, check_integers, check_singles};

fn flush(value: f32) -> f32 {
    if value.is_subnormal() { 0f32.copysign(value) } else { value }
}

#[test]
fn doubles_round_to_nearest_as_rust_does() {
    check_doubles("add.rn.f64 %qd, %qa, %qb;", |a, b, _| a + b);
    check_doubles("sub.f64 %qd, %qa, %qb;", |a, b, _| a - b);
    check_doubles("mul.rn.f64 %qd, %qa, %qb;", |a, b, _| a * b);
    check_doubles("div.rn.f64 %qd, %qa, %qb;", |a, b, _| a / b);
    check_doubles("fma.rn.f64 %qd, %qa, %qb, %qc;", f64::mul_add);
    check_doubles("sqrt.rn.f64 %qd, %qa;", |a, _, _| a.sqrt());
    check_doubles("rcp.rn.f64 %qd, %qa;", |a, _, _| 1.0 / a);
    check_doubles("abs.f64 %qd, %qa;", |a, _, _| a.abs());
    check_doubles("neg.f64 %qd, %qa;", |a, _, _| -a);
    check_doubles("copysign.f64 %qd, %qa, %qb;", |a, b, _| b.copysign(a));
}

#[test]
fn singles_round_to_nearest_as_rust_does() {
    check_singles("add.f32 %wd, %wa, %wb;", |a, b, _| a + b);
    check_singles("mul.rn.f32 %wd, %wa, %wb;", |a, b, _| a * b);
    check_singles("div.rn.f32 %wd, %wa, %wb;", |a, b, _| a / b);
    check_singles("fma.rn.f32 %wd, %wa, %wb, %wc;", f32::mul_add);
    check_singles("sqrt.rn.f32 %wd, %wa;", |a, _, _| a.sqrt());
    check_singles("sub.ftz.f32 %wd, %wa, %wb;", |a, b, _| flush(flush(a) - flush(b)));
    check_singles("add.sat.f32 %wd, %wa, %wb;", |a, b, _| {
        let sum = a + b;
        if sum > 1.0 {
            1.0
        } else if sum > 0.0 {
            sum
        } else {
            0.0
        }
    });
}

#[test]
fn the_smaller_of_nan_and_a_number_is_the_number() {
    check_doubles("min.f64 %qd, %qa, %qb;", |a, b, _| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b && a.is_sign_negative() => a,
        _ => {
            if a < b {
                a
            } else {
                b
            }
        }
    });
    check_singles("max.f32 %wd, %wa, %wb;", |a, b, _| match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if a == b && a.is_sign_positive() => a,
        _ => {
            if a > b {
                a
            } else {
                b
            }
        }
    });
}

#[test]
fn directed_rounding_goes_its_way() {
    // 1 + a small part: exact results lie between two neighbours.
    let cases: [(f64, f64); 4] = [(1.0, 1e-20), (1.0, -1e-20), (-1.0, 1e-20), (-1.0, -1e-20)];
    for (mode, want) in [
        ("rm", [1.0, 1f64.next_down(), -1.0, (-1f64).next_down()]),
        ("rp", [1f64.next_up(), 1.0, (-1f64).next_up(), -1.0]),
        ("rz", [1.0, 1f64.next_down(), (-1f64).next_up(), -1.0]),
    ] {
        for ((a, b), want) in cases.iter().zip(want) {
            let values = [a.to_bits(), b.to_bits()];
            let got = crate::each::results(&format!("add.{mode}.f64 %qd, %qa, %qb;"), &[[values[0], values[1], 0, 0]]);
            assert_eq!(f64::from_bits(got[0]), want, "add.{mode} {a} {b}");
        }
    }
    // A double holds the product of two singles exactly.
    check_singles("mul.rz.f32 %wd, %wa, %wb;", |a, b, _| {
        let exact = f64::from(a) * f64::from(b);
        let near = exact as f32;
        match f64::from(near).abs() > exact.abs() {
            true if near > 0.0 => near.next_down(),
            true => near.next_up(),
            false => near,
        }
    });
}

#[test]
fn comparisons_with_nan_hold_only_in_their_unordered_form() {
    for (name, ordered, with_nan) in [
        ("lt", [true, false, false], false),
        ("geu", [false, true, true], true),
        ("equ", [false, true, false], true),
        ("ne", [true, false, true], false),
        ("neu", [true, false, true], true),
        ("nan", [false, false, false], true),
        ("num", [true, true, true], false),
    ] {
        let holds =
            |found: Option<std::cmp::Ordering>| u64::from(found.map_or(with_nan, |o| ordered[(o as i8 + 1) as usize]));
        check(&format!("setp.{name}.f64 %pd, %qa, %qb;"), &DOUBLES.map(f64::to_bits), |a, b, _, _| {
            holds(f64::from_bits(a).partial_cmp(&f64::from_bits(b)))
        });
        check(&format!("setp.{name}.f32 %pd, %wa, %wb;"), &SINGLES.map(|v| u64::from(v.to_bits())), |a, b, _, _| {
            holds(f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)))
        });
    }
}

#[test]
fn integers_change_width_by_their_signs() {
    check_integers("cvt.s64.s32 %qd, %wa;", |a, _, _, _| a as i32 as u64);
    check_integers("cvt.u64.u32 %qd, %wa;", |a, _, _, _| u64::from(a as u32));
    check_integers("cvt.u32.u64 %wd, %qa;", |a, _, _, _| u64::from(a as u32));
    check_integers("cvt.s32.s8 %wd, %wa;", |a, _, _, _| u64::from(a as i8 as u32));
    check_integers("cvt.u16.u8 %hd, %ha;", |a, _, _, _| u64::from(a as u8));
    check_integers("cvt.s64.s16 %qd, %ha;", |a, _, _, _| a as i16 as u64);
    check_integers("cvt.s8.s32 %wd, %wa;", |a, _, _, _| u64::from(a as i8 as u32));
    check_integers("cvt.sat.s16.s32 %hd, %wa;", |a, _, _, _| {
        u64::from((a as i32).clamp(i32::from(i16::MIN), i32::from(i16::MAX)) as u16)
    });
    check_integers("cvt.sat.u8.s64 %wd, %qa;", |a, _, _, _| (a as i64).clamp(0, 255) as u64);
    check_integers("cvt.sat.s32.u32 %wd, %wa;", |a, _, _, _| u64::from((a as u32).min(i32::MAX as u32)));
}

#[test]
fn floats_become_integers_by_clamping() {
    let doubles = DOUBLES.map(f64::to_bits);
    check("cvt.rzi.s32.f64 %wd, %qa;", &doubles, |a, _, _, _| u64::from(f64::from_bits(a) as i32 as u32));
    check("cvt.rzi.u64.f64 %qd, %qa;", &doubles, |a, _, _, _| f64::from_bits(a) as u64);
    check("cvt.rni.s64.f64 %qd, %qa;", &doubles, |a, _, _, _| f64::from_bits(a).round_ties_even() as i64 as u64);
    check("cvt.rmi.s64.f64 %qd, %qa;", &doubles, |a, _, _, _| f64::from_bits(a).floor() as i64 as u64);
    check("cvt.rpi.u8.f64 %wd, %qa;", &doubles, |a, _, _, _| u64::from(f64::from_bits(a).ceil() as u8));
    let singles = SINGLES.map(|value| u64::from(value.to_bits()));
    check("cvt.rni.u32.f32 %wd, %wa;", &singles, |a, _, _, _| {
        u64::from(f32::from_bits(a as u32).round_ties_even() as u32)
    });
    check_doubles("cvt.rni.f64.f64 %qd, %qa;", |a, _, _| a.round_ties_even());
    check_doubles("cvt.rmi.f64.f64 %qd, %qa;", |a, _, _| a.floor());
}

#[test]
fn numbers_become_floats_rounded_once() {
    check_integers("cvt.rn.f64.u64 %qd, %qa;", |a, _, _, _| (a as f64).to_bits());
    check_integers("cvt.rn.f64.s64 %qd, %qa;", |a, _, _, _| (a as i64 as f64).to_bits());
    check_integers("cvt.rn.f64.s32 %qd, %wa;", |a, _, _, _| f64::from(a as i32).to_bits());
    check_integers("cvt.rn.f32.u64 %wd, %qa;", |a, _, _, _| u64::from((a as f32).to_bits()));
    check_integers("cvt.rz.f32.u32 %wd, %wa;", |a, _, _, _| {
        let near = a as u32 as f32;
        u64::from(if near as u64 > u64::from(a as u32) { near.next_down() } else { near }.to_bits())
    });
    check_singles("cvt.f64.f32 %qd, %wa; cvt.rn.f32.f64 %wd, %qd; { cvt.u64.u32 %qd, %wd; }", |a, _, _| a);
    check("cvt.rp.f32.f64 %wd, %qa;", &DOUBLES.map(f64::to_bits), |a, _, _, _| {
        let (value, near) = (f64::from_bits(a), f64::from_bits(a) as f32);
        let up = if f64::from(near) < value { near.next_up() } else { near };
        u64::from(if up.is_nan() { 0x7fff_ffff } else { up.to_bits() })
    });
    check("cvt.sat.f32.f32 %wd, %wa;", &SINGLES.map(|v| u64::from(v.to_bits())), |a, _, _, _| {
        let value = f32::from_bits(a as u32);
        u64::from(if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) }.to_bits())
    });
}

#[test]
fn halves_go_through_singles_unchanged() {
    // 1.0, -2.0, the largest, the smallest subnormal, infinity.
    for half in [0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0x8000] {
        let got = crate::each::results("cvt.f32.f16 %wb, %ha; cvt.rn.f16.f32 %hd, %wb;", &[[half, 0, 0, 0]]);
        assert_eq!(got[0], half);
    }
    let sum = crate::each::results("add.f16 %hd, %ha, %hb;", &[[0x3c00, 0x4000, 0, 0]]);
    assert_eq!(sum[0], 0x4200);
    let rounded = crate::each::results("cvt.rz.f16.f32 %hd, %wa;", &[[u64::from(1e9f32.to_bits()), 0, 0, 0]]);
    assert_eq!(rounded[0], 0x7bff);
}

#[test]
fn approximate_functions_are_close() {
    for (name, f) in [
        ("sin", f64::sin as fn(f64) -> f64),
        ("cos", f64::cos),
        ("lg2", f64::log2),
        ("ex2", f64::exp2),
        ("sqrt", f64::sqrt),
        ("rsqrt", |a| 1.0 / a.sqrt()),
        ("rcp", |a| 1.0 / a),
        ("tanh", f64::tanh),
    ] {
        check_singles(&format!("{name}.approx.f32 %wd, %wa;"), |a, _, _| f(f64::from(a)) as f32);
    }
    let got = crate::each::results("rcp.approx.ftz.f64 %qd, %qa;", &[[3f64.to_bits(), 0, 0, 0]]);
    assert!((f64::from_bits(got[0]) * 3.0 - 1.0).abs() < 1e-6);
    assert_eq!(got[0] as u32, 0, "only the upper word is approximated");
}
