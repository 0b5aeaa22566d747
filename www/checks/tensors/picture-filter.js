/** A filter of pictures: denoised, sharpened, edges drawn in, darker towards the corners. */
import { V } from 'residua';
import { conv2d, iota, map } from 'residua/tensor';

/** Bytes [height, width, 4] and a strength as numbers [height, width, 3]. */
export function filtered(frame, strength) {
  const [height, width] = frame.sizes;
  // Pixels to linear light, one plane a colour.
  const linear = map((byte) => byte.div(255).pow(2.2), frame.slice(null, null, [0, 3])).permute([2, 0, 1]);
  const smooth = bilateral(linear, 1, 0.1);
  const sharp = map((x, y, amount) => x.add(x.sub(y).mul(amount)), smooth, blurred(smooth, 0.6), strength);
  const light = map((r, g, b) => r.mul(0.2126).add(g.mul(0.7152)).add(b.mul(0.0722)), sharp.pick(0, 0), sharp.pick(0, 1), sharp.pick(0, 2));
  const [y, x] = [iota([height, width], 0), iota([height, width], 1)];
  return map(
    (colour, edge, row, column) => {
      const [u, v] = [column.div(width).sub(0.5), row.div(height).sub(0.5)];
      return colour.mul(V.sub(1, u.square().add(v.square()))).mul(V.sub(1, edge.mul(2).min(1))).clamp(0, 1).pow(1 / 2.2);
    },
    sharp, edges(light), y, x,
  ).permute([1, 2, 0]);
}

/** The length of Sobel's gradient: eight shifted views. */
function edges(light) {
  const around = [[-1, -1], [-1, 0], [-1, 1], [0, -1], [0, 1], [1, -1], [1, 0], [1, 1]];
  return map((nw, n, ne, w, e, sw, s, se) => {
    const across = ne.add(e.mul(2)).add(se).sub(nw).sub(w.mul(2)).sub(sw);
    const down = sw.add(s.mul(2)).add(se).sub(nw).sub(n.mul(2)).sub(ne);
    return V.hypot(across, down);
  }, ...around.map((offsets) => light.shift(offsets)));
}

/** Weighted by distance and by likeness. */
function bilateral(planes, radius, tolerance) {
  const offsets = [];
  for (let dy = -radius; dy <= radius; dy++) for (let dx = -radius; dx <= radius; dx++) offsets.push([dy, dx]);
  return map((centre, ...around) => {
    const weights = around.map((value, k) => value.sub(centre).square().mul(-0.5 / tolerance ** 2).sub((offsets[k][0] ** 2 + offsets[k][1] ** 2) / (2 * radius ** 2)).exp());
    return V.sum(around.map((value, k) => value.mul(weights[k]))).div(V.sum(weights));
  }, planes, ...offsets.map((offset) => planes.shift(offset)));
}

/** Gaussian, separable: two convolutions of each plane by itself. */
export function blurred(planes, deviation) {
  const radius = Math.ceil(3 * deviation);
  const weights = map((k) => k.sub(radius).square().mul(-0.5 / deviation ** 2).exp(), iota([2 * radius + 1], 0));
  const kernel = weights.div(weights.sum());
  const options = { groups: planes.sizes[0], padding: 'same' };
  const along = (shape) => kernel.reshape(shape).repeat(options.groups, 0);
  return conv2d(conv2d(planes.expandDims(0), along([1, 1, -1, 1]), options), along([1, 1, 1, -1]), options).squeeze(0);
}
