/**
 * A net in plain JavaScript with hand-written derivatives, in double precision: springs with a rest length each, and every vertex attached
 * to a place, w (x − p). Takes both; returns cost with gradient, and the model that plain/levenberg-marquardt.js minimises.
 */
import { plainSprings } from './springs.js';

export class PlainNet {
  /**
   * @param {Uint32Array} edges two vertices per spring
   * @param {Float64Array} restLengths one per spring
   * @param {Float64Array} places three numbers per vertex
   * @param {number} pull w
   */
  constructor(edges, restLengths, places, pull) {
    this.edges = edges;
    this.restLengths = restLengths;
    this.places = places;
    this.square = pull * pull;
    this.gradient = new Float64Array(places.length);
    // Products with J are those of springs and do not depend on rest lengths.
    this.springs = plainSprings(edges, 0);
    this.ofSprings = new Float64Array(places.length);
  }

  #places(x, gradient) {
    const { places, square } = this;
    let sum = 0;
    for (let i = 0; i < places.length; i++) {
      const pull = x[i] - places[i];
      sum += pull * pull;
      gradient[i] = square * pull;
    }
    return square * sum;
  }

  /** ½ Σ r² with its gradient, which is `this.gradient`. */
  costWithGradient(x) {
    const { edges, restLengths, gradient } = this;
    let sum = this.#places(x, gradient);
    for (let e = 0; e < restLengths.length; e++) {
      const a = 3 * edges[2 * e], b = 3 * edges[2 * e + 1];
      const dx = x[a] - x[b], dy = x[a + 1] - x[b + 1], dz = x[a + 2] - x[b + 2];
      const length = Math.sqrt(dx * dx + dy * dy + dz * dz);
      const r = length - restLengths[e];
      const scale = length > 0 ? r / length : 0;
      sum += r * r;
      gradient[a] += scale * dx;
      gradient[a + 1] += scale * dy;
      gradient[a + 2] += scale * dz;
      gradient[b] -= scale * dx;
      gradient[b + 1] -= scale * dy;
      gradient[b + 2] -= scale * dz;
    }
    return sum / 2;
  }

  /** ½ Σ r² alone. */
  cost(x) {
    const { edges, restLengths, places, square } = this;
    let [sum, pulls] = [0, 0];
    for (let e = 0; e < restLengths.length; e++) {
      const a = 3 * edges[2 * e], b = 3 * edges[2 * e + 1];
      const dx = x[a] - x[b], dy = x[a + 1] - x[b + 1], dz = x[a + 2] - x[b + 2];
      const r = Math.sqrt(dx * dx + dy * dy + dz * dz) - restLengths[e];
      sum += r * r;
    }
    for (let i = 0; i < places.length; i++) pulls += (x[i] - places[i]) ** 2;
    return (sum + square * pulls) / 2;
  }

  /** The cost; adds Jᵀr and the lower halves of the diagonal blocks of JᵀJ. */
  linearise(x, gradient, diagonal) {
    const { square, springs, ofSprings } = this;
    // For the diagonal, and for the directions that products need.
    springs.linearise(x, ofSprings, diagonal);
    const cost = this.costWithGradient(x);
    for (let i = 0; i < gradient.length; i++) gradient[i] += this.gradient[i];
    for (let at = 0; at < diagonal.length; at += 6) {
      diagonal[at] += square;
      diagonal[at + 2] += square;
      diagonal[at + 5] += square;
    }
    return cost;
  }

  /** Adds JᵀJp to `jtjp`; returns ‖Jp‖². */
  product(p, jtjp) {
    const { square } = this;
    let curvature = this.springs.product(p, jtjp);
    for (let i = 0; i < p.length; i++) {
      curvature += square * p[i] * p[i];
      jtjp[i] += square * p[i];
    }
    return curvature;
  }
}
