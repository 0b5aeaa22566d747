// Numbers of the direction p = z + βp, formed where they are read.
var<private> beta: f32;

fn p_at(place: u32) -> f32 {
    var p = vectors[PRECONDITIONED * dispatch.stride + place];
    // The first direction of a step is z.
    if beta != 0.0 {
        p += beta * vectors[DIRECTION * dispatch.stride + place];
    }
    return p;
}
