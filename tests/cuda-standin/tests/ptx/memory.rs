//! Loads, stores, atomics, and what belongs to no allocation.

use crate::device::{BASE, Device};
use cuda::ptx::{FaultKind, Module};

/// A kernel of one parameter `%out`, its body given; `%t` is the thread.
fn kernel(declarations: &str, body: &str) -> String {
    format!(
        "{declarations}
        .visible .entry k(.param .u64 out) {{
            .reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>, %t; .reg .f32 %f<9>; .reg .b64 %q<20>, %out, %mine;
            .reg .f64 %d<9>;
            ld.param.u64 %out, [out];
            mov.u32 %t, %tid.x;
            mul.wide.u32 %mine, %t, 8;
            add.u64 %mine, %mine, %out;
            {body}
            ret;
        }}"
    )
}

#[test]
fn values_are_loaded_by_width_and_sign() {
    let device = Device::new(256);
    device.put(0, &0xfedc_ba98_7654_8281u64.to_le_bytes());
    let body = "
        ld.global.u8 %r1, [%out]; st.global.u32 [%out+16], %r1;
        ld.global.s8 %r1, [%out]; st.global.u32 [%out+20], %r1;
        ld.global.nc.s16 %q1, [%out]; st.global.u64 [%out+24], %q1;
        ld.volatile.global.u16 %h1, [%out+2]; st.global.u16 [%out+32], %h1;
        ld.relaxed.gpu.global.u32 %r1, [%out+4]; st.relaxed.gpu.global.b32 [%out+40], %r1;
        ld.global.v2.u32 {%r1, %r2}, [%out]; st.global.v2.b32 [%out+48], {%r2, %r1};
        ld.global.v4.u8 {%h1, %h2, %h3, %h4}, [%out+4]; st.global.v4.u8 [%out+56], {%h4, %h3, %h2, %h1};
        add.u64 %q2, %out, 8; ld.global.u64 %q1, [%q2+-8]; st.u64 [%out+64], %q1;";
    device.run(&kernel("", body), [1, 1, 1], [1, 1, 1], &[BASE]).unwrap();
    assert_eq!((device.u32(16), device.u32(20)), (0x81, 0xffff_ff81));
    assert_eq!(device.u64(24), 0xffff_ffff_ffff_8281);
    assert_eq!((device.u32(32), device.u32(40)), (0x7654, 0xfedc_ba98));
    assert_eq!((device.u32(48), device.u32(52), device.u32(56)), (0xfedc_ba98, 0x7654_8281, 0x98ba_dcfe));
    assert_eq!(device.u64(64), 0xfedc_ba98_7654_8281);
}

#[test]
fn generic_addresses_find_their_space() {
    let device = Device::new(1024);
    let body = "
        .shared .align 8 .b8 s[1024]; .local .align 8 .b8 l[16];
        mov.u64 %q1, s; mul.wide.u32 %q2, %t, 8; add.u64 %q1, %q1, %q2; cvta.shared.u64 %q3, %q1;
        mov.u64 %q4, l; cvta.local.u64 %q5, %q4;
        setp.lt.u32 %p1, %t, 16;
        selp.u64 %q6, %q3, %q5, %p1;
        cvt.u64.u32 %q7, %t; mul.lo.u64 %q7, %q7, 3;
        st.u64 [%q6], %q7;
        ld.u64 %q8, [%q6];
        isspacep.shared %p2, %q6; isspacep.global %p3, %out; isspacep.local %p4, %q6;
        selp.u64 %q9, 1000, 2000, %p2;
        add.u64 %q8, %q8, %q9;
        @%p3 add.u64 %q8, %q8, 10000;
        @%p4 add.u64 %q8, %q8, 100000;
        cvta.to.shared.u64 %q10, %q3;
        setp.ne.u64 %p5, %q10, %q1;
        @%p5 trap;
        st.u64 [%mine], %q8;";
    device.run(&kernel("", body), [1, 1, 1], [64, 1, 1], &[BASE]).unwrap();
    for t in 0..64 {
        let more = if t < 16 { 11000 } else { 112000 };
        assert_eq!(device.u64(t * 8), t * 3 + more, "thread {t}");
    }
}

#[test]
fn atomics_of_all_lanes_add_up() {
    let device = Device::new(1024);
    device.put(80, &u64::MAX.to_le_bytes());
    device.put(112, &(-5i64).to_le_bytes());
    let body = "
        cvt.u64.u32 %q1, %t;
        atom.global.add.u32 %r1, [%out], 1;
        atom.global.add.u64 %q2, [%out+8], %q1;
        red.global.max.u32 [%out+16], %t;
        red.global.min.s32 [%out+20], -7;
        red.global.or.b32 [%out+24], %t;
        red.global.xor.b32 [%out+28], %t;
        atom.exch.b64 %q3, [%out+32], %q1;
        atom.global.cas.b32 %r2, [%out+40], 0, 99;
        atom.global.inc.u32 %r3, [%out+44], 9;
        red.global.add.f64 [%out+48], 0d3FE0000000000000;
        red.global.add.f32 [%out+56], 0f3E800000;
        atom.global.dec.u32 %r3, [%out+60], 9;
        atom.global.cas.b64 %q4, [%out+64], 0, 77;
        atom.global.and.b64 %q5, [%out+80], -2;
        atom.global.max.s64 %q6, [%out+112], -3;
        atom.global.min.u64 %q6, [%out+120], 5;";
    device.run(&kernel("", body), [2, 1, 1], [64, 1, 1], &[BASE]).unwrap();
    assert_eq!((device.u32(0), device.u64(8)), (128, 2 * (63 * 64 / 2)));
    assert_eq!((device.u32(16), device.u32(20) as i32, device.u32(24), device.u32(28)), (63, -7, 63, 0));
    assert_eq!((device.u64(32), device.u32(40), device.u32(44)), (63, 99, 8));
    assert_eq!((f64::from_bits(device.u64(48)), f32::from_bits(device.u32(56))), (64.0, 32.0));
    assert_eq!((device.u32(60), device.u64(64), device.u64(80)), (2, 77, u64::MAX - 1));
    assert_eq!((device.u64(112) as i64, device.u64(120)), (-3, 0));
}

#[test]
fn the_old_value_of_an_atomic_is_each_lanes_own_turn() {
    let device = Device::new(1024);
    let body = ".shared .align 4 .u32 n;
        setp.ne.u32 %p1, %t, 0; @!%p1 st.shared.u32 [n], 0; bar.sync 0;
        atom.shared.add.u32 %r1, [n], 2; cvt.u64.u32 %q1, %r1; st.global.u64 [%mine], %q1;";
    device.run(&kernel("", body), [1, 1, 1], [128, 1, 1], &[BASE]).unwrap();
    let mut old: Vec<u64> = (0..128).map(|t| device.u64(t * 8)).collect();
    old.sort_unstable();
    assert_eq!(old, (0..128).map(|i| i * 2).collect::<Vec<_>>());
}

#[test]
fn variables_of_the_module_have_their_values_and_addresses() {
    let device = Device::new(1024);
    let declarations = ".global .align 4 .u32 n = 7; .const .align 8 .b8 table[16] = {1, 2, 3};
        .global .align 8 .u64 names[2] = {generic(table), table+1};";
    let body = "
        ld.global.u32 %r1, [n]; add.u32 %r1, %r1, 1; st.global.u32 [n], %r1; st.global.u32 [%out], %r1;
        ld.const.u8 %r2, [table+2]; st.global.u32 [%out+4], %r2;
        mov.u64 %q1, names; cvta.global.u64 %q1, %q1; ld.u64 %q2, [%q1+8]; ld.u8 %r3, [%q2]; st.global.u32 [%out+8], %r3;";
    device.run(&kernel(declarations, body), [1, 1, 1], [1, 1, 1], &[BASE]).unwrap();
    assert_eq!((device.u32(0), device.u32(4), device.u32(8)), (8, 3, 2));
}

#[test]
fn static_and_dynamic_shared_memory_lie_side_by_side() {
    let mut device = Device::new(1024);
    device.dynamic_shared_bytes = 256;
    let body = ".shared .align 4 .b8 fixed[20];
        mov.u32 %r1, fixed; mov.u32 %r2, dyn; sub.u32 %r3, %r2, %r1; st.global.u32 [%out], %r3;
        mov.u32 %r4, %dynamic_smem_size; st.global.u32 [%out+4], %r4;
        st.shared.u32 [dyn+252], %r3; st.shared.u32 [fixed+16], %r4; ld.shared.u32 %r5, [dyn+252]; st.global.u32 [%out+8], %r5;";
    let source = kernel(".extern .shared .align 16 .b8 dyn[];", body);
    device.run(&source, [1, 1, 1], [1, 1, 1], &[BASE]).unwrap();
    assert_eq!((device.u32(0), device.u32(4), device.u32(8)), (32, 256, 32));
    device.dynamic_shared_bytes = 255;
    assert_eq!(device.run(&source, [1, 1, 1], [1, 1, 1], &[BASE]).unwrap_err().kind, FaultKind::OutOfBounds);
}

#[test]
fn accesses_out_of_place_stop_the_launch_and_name_the_line() {
    for (body, kind) in [
        (".shared .align 4 .b8 s[16];\n st.shared.u32 [s+16], 1;", FaultKind::OutOfBounds),
        (".shared .align 4 .b8 s[16];\n st.shared.u8 [s+-1], 1;", FaultKind::OutOfBounds),
        (".shared .align 4 .b8 s[16];\n st.shared.u32 [s+2], 1;", FaultKind::Misaligned),
        (".local .align 8 .b8 l[16];\n ld.local.u32 %r1, [l+1048576];", FaultKind::OutOfBounds),
        ("st.global.u8\n [%out+64], 1;", FaultKind::OutOfBounds),
        ("ld.global.u64\n %q1, [%out+4];", FaultKind::Misaligned),
        ("ld.global.v2.u32\n {%r1, %r2}, [%out+4];", FaultKind::Misaligned),
        ("mov.u64 %q1, 0;\n ld.u8 %r1, [%q1];", FaultKind::OutOfBounds),
        ("mov.u64 %q1, 0;\n atom.add.u32 %r1, [%q1], 1;", FaultKind::OutOfBounds),
        ("\nst.param.u64 [out], 1;", FaultKind::OutOfBounds),
    ] {
        let fault = Device::new(64).run(&kernel("", body), [1, 1, 1], [1, 1, 1], &[BASE]).unwrap_err();
        assert_eq!(fault.kind, kind, "{body}: {fault}");
        assert!(fault.message.contains("line 1") && fault.message.contains("kernel k"), "{fault}");
    }
}

#[test]
fn a_kernel_says_what_it_takes() {
    let text = format!(
        "{}.visible .entry k(.param .u32 a, .param .align 8 .b8 b[24], .param .u8 c) .maxntid 128, 2, 1\n{{ .shared .b8 s[40]; ret; }}\n\0",
        crate::device::HEAD
    );
    let module = Module::parse(&text).unwrap();
    let kernel = module.kernel("k").unwrap();
    let places: Vec<_> = kernel.params().iter().map(|p| (p.offset, p.size)).collect();
    assert_eq!((places, kernel.param_bytes()), (vec![(0, 4), (8, 24), (32, 1)], 33));
    assert_eq!((kernel.static_shared_bytes(), kernel.max_threads()), (40, Some(256)));
    assert_eq!((module.version(), module.target(), module.kernels().len()), ((8, 0), 70, 1));
    assert!(module.kernel("other").is_none());
}
