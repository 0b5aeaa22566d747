// Writes a number into the state block.
fn set_number(word: u32, number: f32) {
    state[word] = bitcast<u32>(number);
}
