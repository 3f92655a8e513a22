//! Tests of the PTX interpreter: snippets of PTX as data, results compared with Rust's own arithmetic.
#![allow(clippy::unwrap_used)]

mod arithmetic;
mod checks;
mod control;
mod device;
mod each;
mod floats;
mod garbled;
mod memory;
mod warp;

use device::Device;

#[test]
fn adds_two_vectors() {
    let device = Device::new(4096);
    let n = 100u32;
    for i in 0..n {
        device.put(4 * u64::from(i), &(i * 3).to_le_bytes());
    }
    let source = "
        .visible .entry k(.param .u64 a, .param .u32 n) {
            .reg .pred %p<2>; .reg .b32 %r<8>; .reg .b64 %rd<5>;
            ld.param.u64 %rd1, [a];
            ld.param.u32 %r1, [n];
            mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
            mad.lo.s32 %r5, %r2, %r3, %r4;
            setp.ge.u32 %p1, %r5, %r1;
            @%p1 bra $done;
            mul.wide.u32 %rd2, %r5, 4;
            add.s64 %rd3, %rd1, %rd2;
            ld.global.u32 %r6, [%rd3];
            add.s32 %r7, %r6, 1;
            st.global.u32 [%rd3], %r7;
        $done:
            ret;
        }";
    let counts = device.run(source, [4, 1, 1], [32, 1, 1], &[device::BASE, u64::from(n)]).unwrap();
    for i in 0..n {
        assert_eq!(device.u32(4 * u64::from(i)), i * 3 + 1);
    }
    assert_eq!(device.u32(4 * u64::from(n)), 0);
    assert_eq!(counts.instructions, 128 * 8 + 100 * 5 + 128);
}
