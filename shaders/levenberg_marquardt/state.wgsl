// The words of the state block by their names, the sections of the partial sums, the vectors that share a buffer.
{WORDS}

fn number(word: u32) -> f32 {
    return bitcast<f32>(state[word]);
}

fn record_of(iteration: u32) -> u32 {
    return HISTORY + iteration % RING * RECORD_WORDS;
}
