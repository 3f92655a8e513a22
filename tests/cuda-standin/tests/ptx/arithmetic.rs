//! Integer arithmetic, bits and comparisons against Rust's.

use crate::each::{INTERESTING, check_integers as check, results, rows};

#[test]
fn integers_wrap_and_divide_as_rust_does() {
    check("add.s32 %wd, %wa, %wb;", |a, b, _, _| u64::from((a as u32).wrapping_add(b as u32)));
    check("add.u16 %hd, %ha, %hb;", |a, b, _, _| u64::from((a as u16).wrapping_add(b as u16)));
    check("sub.s64 %qd, %qa, %qb;", |a, b, _, _| a.wrapping_sub(b));
    check("add.sat.s32 %wd, %wa, %wb;", |a, b, _, _| u64::from((a as i32).saturating_add(b as i32) as u32));
    check("mul.lo.s64 %qd, %qa, %qb;", |a, b, _, _| a.wrapping_mul(b));
    check("mul.hi.u64 %qd, %qa, %qb;", |a, b, _, _| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check("mul.hi.s64 %qd, %qa, %qb;", |a, b, _, _| ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64);
    check("mul.hi.s32 %wd, %wa, %wb;", |a, b, _, _| {
        u64::from(((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32)
    });
    check("mul.hi.u16 %hd, %ha, %hb;", |a, b, _, _| (u64::from(a as u16) * u64::from(b as u16)) >> 16);
    check("mul.wide.s32 %qd, %wa, %wb;", |a, b, _, _| (i64::from(a as i32) * i64::from(b as i32)) as u64);
    check("mul.wide.u16 %wd, %ha, %hb;", |a, b, _, _| u64::from(a as u16) * u64::from(b as u16));
    check("mad.lo.s32 %wd, %wa, %wb, %wc;", |a, b, c, _| {
        u64::from((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32))
    });
    check("mad.wide.u32 %qd, %wa, %wb, %qc;", |a, b, c, _| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c));
    check("mad.hi.u32 %wd, %wa, %wb, %wc;", |a, b, c, _| {
        u64::from((((u64::from(a as u32) * u64::from(b as u32)) >> 32) as u32).wrapping_add(c as u32))
    });
    check("div.u64 %qd, %qa, %qb;", |a, b, _, _| a.checked_div(b).unwrap_or(u64::MAX));
    check("div.s32 %wd, %wa, %wb;", |a, b, _, _| {
        u64::from(if b as u32 == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 })
    });
    check("rem.s64 %qd, %qa, %qb;", |a, b, _, _| if b == 0 { a } else { (a as i64).wrapping_rem(b as i64) as u64 });
    check("rem.u16 %hd, %ha, %hb;", |a, b, _, _| u64::from((a as u16).checked_rem(b as u16).unwrap_or(a as u16)));
    check("min.s32 %wd, %wa, %wb;", |a, b, _, _| u64::from((a as i32).min(b as i32) as u32));
    check("max.u64 %qd, %qa, %qb;", |a, b, _, _| a.max(b));
    check("max.s16 %hd, %ha, %hb;", |a, b, _, _| u64::from((a as i16).max(b as i16) as u16));
    check("abs.s64 %qd, %qa;", |a, _, _, _| (a as i64).wrapping_abs() as u64);
    check("neg.s32 %wd, %wa;", |a, _, _, _| u64::from((a as u32).wrapping_neg()));
    check("sad.u32 %wd, %wa, %wb, %wc;", |a, b, c, _| u64::from((a as u32).abs_diff(b as u32).wrapping_add(c as u32)));
    check("sad.s32 %wd, %wa, %wb, %wc;", |a, b, c, _| u64::from((a as i32).abs_diff(b as i32).wrapping_add(c as u32)));
    check("mul24.lo.s32 %wd, %wa, %wb;", |a, b, _, _| {
        let low = |a: u64| (a as i32) << 8 >> 8;
        u64::from(low(a).wrapping_mul(low(b)) as u32)
    });
    check("dp4a.s32.u32 %wd, %wa, %wb, %wc;", |a, b, c, _| {
        let product = |i: u64| i32::from((a >> (8 * i)) as i8) * i32::from((b >> (8 * i)) as u8);
        u64::from((0..4).fold(c as i32, |sum, i| sum.wrapping_add(product(i))) as u32)
    });
}

#[test]
fn a_carry_goes_from_one_word_to_the_next() {
    let halves = "{ .reg .b32 %al, %ah, %bl, %bh, %dl, %dh; mov.b64 {%al, %ah}, %qa; mov.b64 {%bl, %bh}, %qb;";
    let joined = "mov.b64 %qd, {%dl, %dh}; }";
    check(&format!("{halves} add.cc.u32 %dl, %al, %bl; addc.u32 %dh, %ah, %bh; {joined}"), |a, b, _, _| {
        a.wrapping_add(b)
    });
    check(&format!("{halves} sub.cc.u32 %dl, %al, %bl; subc.u32 %dh, %ah, %bh; {joined}"), |a, b, _, _| {
        a.wrapping_sub(b)
    });
    let product = "mul.lo.u32 %dl, %al, %bl; mul.hi.u32 %dh, %al, %bl; mov.u32 %wa, 0; mov.u32 %wb, 0;
        mad.lo.cc.u32 %dh, %al, %bh, %dh; madc.hi.u32 %wa, %al, %bh, 0; mad.lo.cc.u32 %dh, %ah, %bl, %dh;
        madc.hi.cc.u32 %wa, %ah, %bl, %wa; addc.u32 %wb, 0, 0; mad.lo.cc.u32 %wa, %ah, %bh, %wa;
        madc.hi.u32 %wb, %ah, %bh, %wb; mov.b64 %qc, {%dl, %dh}; mov.b64 %qd, {%wa, %wb}; }";
    check(&format!("{halves} {product}"), |a, b, _, _| ((u128::from(a) * u128::from(b)) >> 64) as u64);
    check("add.cc.u64 %qd, %qa, %qb; addc.u64 %qd, 0, 0;", |a, b, _, _| u64::from(a.checked_add(b).is_none()));
}

#[test]
fn shifts_by_the_width_or_more_leave_nothing_but_signs() {
    check("shl.b32 %wd, %wa, %wb;", |a, b, _, _| u64::from((a as u32).checked_shl(b as u32).unwrap_or(0)));
    check("shl.b64 %qd, %qa, %wb;", |a, b, _, _| a.checked_shl(b as u32).unwrap_or(0));
    check("shl.b16 %hd, %ha, %wb;", |a, b, _, _| u64::from((a as u16).checked_shl(b as u32).unwrap_or(0)));
    check("shr.u32 %wd, %wa, %wb;", |a, b, _, _| u64::from((a as u32).checked_shr(b as u32).unwrap_or(0)));
    check("shr.s32 %wd, %wa, %wb;", |a, b, _, _| u64::from(((a as i32) >> (b as u32).min(31)) as u32));
    check("shr.s64 %qd, %qa, %wb;", |a, b, _, _| ((a as i64) >> (b as u32).min(63)) as u64);
    check("shr.u16 %hd, %ha, %wb;", |a, b, _, _| u64::from((a as u16).checked_shr(b as u32).unwrap_or(0)));
    check("shr.s16 %hd, %ha, %wb;", |a, b, _, _| u64::from(((a as i16) >> (b as u32).min(15)) as u16));
    let both = |a: u64, b: u64| u64::from(a as u32) | b << 32;
    check("shf.l.wrap.b32 %wd, %wa, %wb, %wc;", |a, b, c, _| both(a, b) << (c & 31) >> 32);
    check("shf.r.clamp.b32 %wd, %wa, %wb, %wc;", |a, b, c, _| {
        u64::from((both(a, b) >> u64::from(c as u32).min(32)) as u32)
    });
}

#[test]
fn bits_are_counted_found_and_moved() {
    check("popc.b64 %wd, %qa;", |a, _, _, _| u64::from(a.count_ones()));
    check("popc.b32 %wd, %wa;", |a, _, _, _| u64::from((a as u32).count_ones()));
    check("clz.b32 %wd, %wa;", |a, _, _, _| u64::from((a as u32).leading_zeros()));
    check("clz.b64 %wd, %qa;", |a, _, _, _| u64::from(a.leading_zeros()));
    check("brev.b32 %wd, %wa;", |a, _, _, _| u64::from((a as u32).reverse_bits()));
    check("brev.b64 %qd, %qa;", |a, _, _, _| a.reverse_bits());
    check("bfind.u32 %wd, %wa;", |a, _, _, _| u64::from((a as u32).checked_ilog2().unwrap_or(u32::MAX)));
    check("bfind.s64 %wd, %qa;", |a, _, _, _| {
        u64::from(if (a as i64) < 0 { !a } else { a }.checked_ilog2().unwrap_or(u32::MAX))
    });
    check("bfind.shiftamt.u64 %wd, %qa;", |a, _, _, _| u64::from(if a == 0 { u32::MAX } else { a.leading_zeros() }));
    check("not.b64 %qd, %qa;", |a, _, _, _| !a);
    check("cnot.b32 %wd, %wa;", |a, _, _, _| u64::from(a as u32 == 0));
    check("lop3.b32 %wd, %wa, %wb, %wc, 0xe8;", |a, b, c, _| u64::from((a & b | b & c | a & c) as u32));
    check("mov.b32 {%hb, %hc}, %wa; mov.b32 %wd, {%hc, %hb};", |a, _, _, _| u64::from((a as u32).rotate_left(16)));
    check(
        "{ .reg .b16 %x<4>; mov.b64 {%x0, %x1, %x2, %x3}, %qa; mov.b64 %qd, {%x3, %x2, %x1, %x0}; }",
        |a, _, _, _| a << 48 | (a & 0xffff_0000) << 16 | (a >> 16 & 0xffff_0000) | a >> 48,
    );
}

#[test]
fn fields_are_cut_out_and_put_in_bit_by_bit() {
    let bit = |word: u64, at: u64| at < 64 && word >> at & 1 == 1;
    let extract = |a: u64, start: u64, length: u64, width: u64, signed: bool| {
        let (start, length) = (start & 0xff, length & 0xff);
        let sign = signed && length > 0 && bit(a, (start + length - 1).min(width - 1));
        let of = |i: u64| if i < length && start + i < width { bit(a, start + i) } else { sign };
        (0..width).fold(0, |out, i| out | u64::from(of(i)) << i)
    };
    let insert = |a: u64, b: u64, start: u64, length: u64, width: u64| {
        let (start, length) = (start & 0xff, length & 0xff);
        let inside = |i: u64| i >= start && i - start < length;
        (0..width).fold(0, |out, i| out | u64::from(if inside(i) { bit(a, i - start) } else { bit(b, i) }) << i)
    };
    check("bfe.u32 %wd, %wa, %wb, %wc;", |a, b, c, _| extract(a & 0xffff_ffff, b, c, 32, false));
    check("bfe.s32 %wd, %wa, %wb, %wc;", |a, b, c, _| extract(a & 0xffff_ffff, b, c, 32, true));
    check("bfe.u64 %qd, %qa, %wb, %wc;", |a, b, c, _| extract(a, b, c, 64, false));
    check("bfe.s64 %qd, %qa, %wb, %wc;", |a, b, c, _| extract(a, b, c, 64, true));
    check("bfi.b32 %wd, %wa, %wb, %wc, %we;", |a, b, c, e| insert(a, b, c, e, 32));
    check("bfi.b64 %qd, %qa, %qb, %wc, %we;", |a, b, c, e| insert(a, b, c, e, 64));
}

#[test]
fn bytes_are_permuted_by_their_selector() {
    check("prmt.b32 %wd, %wa, %wb, %wc;", |a, b, c, _| {
        let bytes = (a & 0xffff_ffff | b << 32).to_le_bytes();
        let byte = |choice: u64| {
            let byte = bytes[choice as usize & 7];
            if choice & 8 == 0 { byte } else { (byte as i8 >> 7) as u8 }
        };
        (0..4).fold(0, |out, i| out | u64::from(byte(c >> (4 * i) & 15)) << (8 * i))
    });
    // From the tables of the PTX manual, selector 1: lowest byte last.
    for (mode, [d, c, b, a]) in [
        ("f4e", [4, 3, 2, 1]),
        ("b4e", [6, 7, 0, 1]),
        ("rc8", [1, 1, 1, 1]),
        ("ecl", [3, 2, 1, 1]),
        ("ecr", [1, 1, 1, 0]),
    ] {
        let got = results(&format!("prmt.b32.{mode} %wd, %wa, %wb, %wc;"), &[[0x1312_1110, 0x1716_1514, 1, 0]]);
        assert_eq!(got[0].to_le_bytes()[..4], [0x10 + a, 0x10 + b, 0x10 + c, 0x10 + d], "{mode}");
    }
}

#[test]
fn comparisons_take_the_sign_of_their_type() {
    for (name, ordering) in [
        ("eq", [false, true, false]),
        ("ne", [true, false, true]),
        ("lt", [true, false, false]),
        ("le", [true, true, false]),
        ("gt", [false, false, true]),
        ("ge", [false, true, true]),
    ] {
        let holds = |ordering_found: std::cmp::Ordering| u64::from(ordering[(ordering_found as i8 + 1) as usize]);
        check(&format!("setp.{name}.u32 %pd, %wa, %wb;"), |a, b, _, _| holds((a as u32).cmp(&(b as u32))));
        check(&format!("setp.{name}.s32 %pd, %wa, %wb;"), |a, b, _, _| holds((a as i32).cmp(&(b as i32))));
        check(&format!("setp.{name}.s16 %pd, %ha, %hb;"), |a, b, _, _| holds((a as i16).cmp(&(b as i16))));
        check(&format!("setp.{name}.s64 %pd, %qa, %qb;"), |a, b, _, _| holds((a as i64).cmp(&(b as i64))));
        check(&format!("setp.{name}.u64 %pd, %qa, %qb;"), |a, b, _, _| holds(a.cmp(&b)));
    }
    check(
        "setp.lt.s32 %pb, %wc, 0; setp.lt.and.u32 %pd|%pc, %wa, %wb, !%pb; selp.b32 %wd, 2, 0, %pc; @%pd or.b32 %wd, %wd, 1;",
        |a, b, c, _| {
            let (less, also) = ((a as u32) < b as u32, c as i32 >= 0);
            u64::from(less && also) | u64::from(!less && also) << 1
        },
    );
    check("set.lt.u32.s64 %wd, %qa, %qb;", |a, b, _, _| if (a as i64) < b as i64 { 0xffff_ffff } else { 0 });
    check("slct.u64.s32 %qd, %qa, %qb, %wc;", |a, b, c, _| if c as i32 >= 0 { a } else { b });
    check(
        "setp.ne.u32 %pa, %wa, 0; setp.ne.u32 %pb, %wb, 0; xor.pred %pc, %pa, %pb; not.pred %pd, %pc;",
        |a, b, _, _| u64::from((a as u32 != 0) == (b as u32 != 0)),
    );
}

#[test]
fn a_lane_that_is_guarded_keeps_its_register() {
    let rows = rows(&INTERESTING);
    let got = results("mov.u64 %qd, 5; setp.eq.u64 %pa, %qa, %qb; @!%pa mul.lo.u64 %qd, %qa, %qb;", &rows);
    for (row, got) in rows.iter().zip(got) {
        assert_eq!(got, if row[0] == row[1] { 5 } else { row[0].wrapping_mul(row[1]) });
    }
}
