// A tolerance is met: the next step solves the system without damping.
fn begin_to_verify(stop: f32) {
    set_number(STOP, stop);
    set_number(KEPT_DAMPING, number(DAMPING));
    set_number(DAMPING, MIN_DAMPING);
}
