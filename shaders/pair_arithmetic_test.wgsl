#import double_single
#import pair_product
#import pair_quotient
#import pair_root
#import pair_sum
// What guarded sums, products, quotients and roots are on a device, for the host to compare with its own. Long enough, and with a loop whose
// bound is a figure, for compilers to treat it as they treat kernels of residuals.
@compute @workgroup_size(256)
fn pair_arithmetic_test(@builtin(local_invocation_index) lane: u32) {
    let addends = operands[4u * lane];
    let factors = operands[4u * lane + 1u];
    let a = operands[4u * lane + 2u];
    let b = operands[4u * lane + 3u];
    results[5u * lane] = exact_sum_of_any(addends.x, addends.y);
    results[5u * lane + 1u] = product_with_error(factors.x, factors.y);
    var x = b;
    for (var step = 0u; step < dispatch.steps; step++) {
        x = pair_sum(pair_product(x, a), b);
    }
    results[5u * lane + 2u] = x;
    results[5u * lane + 3u] = pair_quotient(a, b);
    results[5u * lane + 4u] = pair_square_root(pair_product(b, b));
}
