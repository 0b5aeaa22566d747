/** Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2015) over stored weights. */
import { map, scalar } from 'residua/tensor';

export class Adam {
  /** Inputs of a program whose body calls `update`. */
  static inputs = { rate: scalar, correction1: scalar, correction2: scalar };
  #weights;
  #moments;
  #decays;

  /** Makes the moments of the weights, which are zeros. @param {readonly [number, number]} decays of the first moments and of the second ones */
  constructor(device, weights, decays = [0.9, 0.999]) {
    this.#weights = weights;
    this.#moments = weights.map(({ shape }) => [device.zeros(shape), device.zeros(shape)]);
    this.#decays = decays;
  }

  /** Numbers of the inputs for a step; steps are counted from 1. */
  numbers(step, rate) {
    const [first, second] = this.#decays;
    return { rate, correction1: 1 - first ** step, correction2: 1 - second ** step };
  }

  /** Records a step from the derivatives of the weights: one kernel for each weight, which has both moments and the weight in place. */
  update(derivatives, { rate, correction1, correction2 }) {
    const [decay1, decay2] = this.#decays;
    const next = (w, m, v, g, rate, c1, c2) => {
      const [m1, v1] = [m.mul(decay1).add(g.mul(1 - decay1)), v.mul(decay2).add(g.square().mul(1 - decay2))];
      return [m1, v1, w.sub(rate.mul(m1.div(c1)).div(v1.div(c2).sqrt().add(1e-8)))];
    };
    derivatives.forEach((derivative, k) => {
      const [weight, [first, second]] = [this.#weights[k], this.#moments[k]];
      const [m, v, w] = map(next, weight, first, second, derivative, rate, correction1, correction2);
      first.assign(m);
      second.assign(v);
      weight.assign(w);
    });
  }
}
