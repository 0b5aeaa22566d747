// The place a, rounded down and kept from 0 to last. What a conversion of a NaN gives is kept there too.
fn place_in_table(a: f32, last: u32) -> u32 {
    return min(u32(clamp(a, 0.0, f32(last))), last);
}
