/**
 * Arrays in plain JavaScript: what tensors are compared with. An array is `{ shape, values }`, the values in C order as double precision numbers; integers and truth
 * values are numbers too.
 */

export const countOf = (shape) => shape.reduce((product, size) => product * size, 1);

/** Elements between neighbours along each axis. */
export function stridesOf(shape) {
  const strides = Array.from(shape, () => 1);
  for (let axis = shape.length - 2; axis >= 0; axis--) strides[axis] = strides[axis + 1] * shape[axis + 1];
  return strides;
}

/** All coordinates of a shape in C order. The array that is yielded is used again. */
export function* coordinates(shape) {
  const at = Array.from(shape, () => 0);
  const count = countOf(shape);
  for (let i = 0; i < count; i++) {
    yield at;
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
}

/** The array whose element at each place `value` gives. */
export function build(shape, value) {
  const values = [];
  for (const at of coordinates(shape)) values.push(value(at));
  return { shape: [...shape], values };
}

/** The element at a place. */
export function get({ shape, values }, at) {
  let position = 0;
  for (let axis = 0; axis < shape.length; axis++) position = position * shape[axis] + at[axis];
  return values[position];
}

/** Shapes broadcast as NumPy's do. */
export function broadcastShapes(...shapes) {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_, axis) => {
    const sizes = shapes.map((shape) => shape[axis - rank + shape.length] ?? 1);
    return sizes.find((size) => size !== 1) ?? 1;
  });
}

/** An array repeated to a shape that it broadcasts to. */
export function broadcastTo(array, shape) {
  const skipped = shape.length - array.shape.length;
  return build(shape, (at) => get(array, array.shape.map((size, axis) => (size === 1 ? 0 : at[axis + skipped]))));
}

/** A function of the elements of arrays that broadcast. */
export function map(f, ...arrays) {
  const shape = broadcastShapes(...arrays.map((array) => array.shape));
  const columns = arrays.map((array) => (array.shape.length === shape.length && array.shape.every((size, axis) => size === shape[axis]) ? array : broadcastTo(array, shape)).values);
  return { shape, values: columns[0].map((_, i) => f(...columns.map((column) => column[i]))) };
}

/** Axes from the first on, sorted; all where none are given. */
export function axesOf(shape, axes) {
  const all = axes === undefined ? shape.map((_, axis) => axis) : [axes].flat();
  return all.map((axis) => (axis < 0 ? axis + shape.length : axis)).sort((a, b) => a - b);
}

/** A function of the elements along some axes, as a list in C order. */
export function reduce(array, axes, f, keep = false) {
  const reduced = axesOf(array.shape, axes);
  const kept = array.shape.map((_, axis) => axis).filter((axis) => !reduced.includes(axis));
  const inner = reduced.map((axis) => array.shape[axis]);
  const result = build(kept.map((axis) => array.shape[axis]), (outer) => {
    const list = [];
    for (const at of coordinates(inner)) {
      const place = [];
      kept.forEach((axis, k) => (place[axis] = outer[k]));
      reduced.forEach((axis, k) => (place[axis] = at[k]));
      list.push(get(array, place));
    }
    return f(list);
  });
  return keep ? { ...result, shape: array.shape.map((size, axis) => (reduced.includes(axis) ? 1 : size)) } : result;
}

/** A function from lists to lists of the same length, along one axis. */
export function along(array, axis, f) {
  const strides = stridesOf(array.shape);
  const [line] = axesOf(array.shape, axis);
  const values = Array.from(array.values);
  for (const at of coordinates(array.shape.map((size, k) => (k === line ? Math.min(size, 1) : size)))) {
    const first = at.reduce((sum, place, k) => sum + place * strides[k], 0);
    const places = Array.from({ length: array.shape[line] }, (_, i) => first + i * strides[line]);
    f(places.map((place) => array.values[place])).forEach((value, i) => (values[places[i]] = value));
  }
  return { shape: array.shape, values };
}

/** The sum over the letters that the result lacks, of products of elements: the definition of `einsum`. */
export function einsum(formula, ...arrays) {
  const [left, right] = formula.split('->');
  const names = left.split(',');
  const sizes = {};
  names.forEach((name, k) => [...name].forEach((letter, axis) => (sizes[letter] = arrays[k].shape[axis])));
  const summed = Object.keys(sizes).filter((letter) => !right.includes(letter));
  return build([...right].map((letter) => sizes[letter]), (outer) => {
    let sum = 0;
    for (const inner of coordinates(summed.map((letter) => sizes[letter]))) {
      const place = (letter) => (right.includes(letter) ? outer[right.indexOf(letter)] : inner[summed.indexOf(letter)]);
      sum += names.reduce((product, name, k) => product * get(arrays[k], Array.from(name, place)), 1);
    }
    return sum;
  });
}
