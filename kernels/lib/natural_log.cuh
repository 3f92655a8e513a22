// The natural logarithm of a share: twin of src/ops/repetition/natural_log.rs, operation by operation.
#include "lib/abi.cuh"

DEVICE f64 natural_log(f64 x) {
    // x = 2^exponent × (1 + above), with 1 + above around 1: from √½ to √2.
    u64 bits = (u64)__double_as_longlong(x);
    f64 exponent = (f64)(bits >> 52) - 1023.0;
    f64 around_one = __longlong_as_double((i64)((bits & 0xfffffffffffffull) | 1023ull << 52));
    if (around_one > 1.4142135623730951) {
        around_one *= 0.5;
        exponent += 1.0;
    }
    f64 above = around_one - 1.0;
    // ln (1 + above) = 2 artanh s = 2 s + s × rest, and 2 s = above − s × above: what is rounded stays small.
    f64 s = above / (2.0 + above);
    f64 square = s * s;
    f64 rest = 0.0;
    for (u32 i = 12; i > 0; i--) rest = square * (2.0 / (f64)(2 * i + 1) + rest);
    f64 ln_2_high = __longlong_as_double(0x3fe62e42fefa0000ll), ln_2_low = __longlong_as_double(0x3d7cf79abc9e3b3all);
    return exponent * ln_2_high - ((s * (above - rest) - exponent * ln_2_low) - above);
}
